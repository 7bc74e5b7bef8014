// Package fleet is about what runs where: which GitOps configurations follow a
// branch of a repository, which commit each of them has, and whether its
// cluster is as that commit wants it.
//
// Promotion depends on it. A pull request is merged on the branch that an
// environment's clusters follow; the gate asks an [Observer] for all that
// follow it, and [Judge] decides whether the commit has arrived:
//
//	all, err := observer.Observe(ctx, fleet.Source{Repo: url, Branch: "dev"})
//	if err != nil {
//		return err // an error is never a verdict
//	}
//	switch v := fleet.Judge(all, mergeCommit); v.Decision {
//	case fleet.Arrived: // promote to the next environment
//	case fleet.Failed: // stop; v.Reasons says where and why
//	case fleet.Waiting: // observe again, until the deadline
//	}
//
// The trap is in health flags: a cluster that is still on the commit before is
// healthy too. So every decision is about the commit that was seen, and a
// state counts only together with it.
//
// Observers are [github.com/kalypso-dev/kalypso/scheduler/fleet/arc] for fleets
// that Azure manages, fleet/kubernetes for clusters whose API can be reached, with
// fleet/flux and fleet/argocd for what they run, fleet/ansible for hosts, and
// fleet/endpoint for others.
package fleet

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

// Observer reads the state of a fleet, or of a part of one.
type Observer interface {
	// Observe returns all configurations that follow the branch, in an order
	// that stays the same. A cluster that cannot be asked makes it an error,
	// or a configuration in state Unknown where it is known to have one: what
	// is left out would count as not there.
	Observe(ctx context.Context, s Source) ([]Configuration, error)
}

// Source is a branch of a repository that clusters follow.
type Source struct {
	Repo   string // URL
	Branch string
}

// Configuration is one subscription of one cluster to a branch.
type Configuration struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"` // unique on the cluster
	// Commit is the one that the cluster has fetched last, "" before the first.
	Commit string `json:"commit,omitempty"`
	State  State  `json:"state"`
	// Reason explains to the user a state that is not Compliant.
	Reason string `json:"reason,omitempty"`
}

// ID names the configuration in the fleet.
func (c Configuration) ID() string { return c.Cluster + "/" + c.Name }

// State is whether a cluster is as its source wants it. The words are Azure's,
// since users know them from its portal.
type State string

const (
	Compliant    State = "Compliant"     // all of the commit is applied and healthy
	NonCompliant State = "Non-Compliant" // something of the commit failed
	Pending      State = "Pending"       // the commit is not applied yet
	Suspended    State = "Suspended"     // set to not follow the branch
	Unknown      State = "Unknown"       // the cluster cannot be asked
)

// Observers is a fleet put together of several.
type Observers []Observer

// Observe asks all of them. An error of one fails it, since the gate must not
// pass on a part of the fleet.
func (all Observers) Observe(ctx context.Context, s Source) ([]Configuration, error) {
	var found []Configuration
	var failed []error
	for _, o := range all {
		c, err := o.Observe(ctx, s)
		found = append(found, c...)
		failed = append(failed, err)
	}
	return found, errors.Join(failed...)
}

// SameRepository is whether two URLs name one repository: the ending .git, a
// slash at the end and the case of scheme and host make no difference.
func SameRepository(a, b string) bool { return canonical(a) == canonical(b) }

func canonical(url string) string {
	url = strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	host, path, _ := strings.Cut(rest, "/")
	return strings.ToLower(scheme+"://"+host) + "/" + path
}

// EventSecret is what the events of a cluster's reconcilers are sent with, made of the secret of
// the forge's webhooks: a cluster that knows its own knows no other's. It is
//
//	printf 'kalypso-events:CLUSTER' | openssl dgst -sha256 -hmac SECRET
func EventSecret(secret, cluster string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("kalypso-events:" + cluster))
	return hex.EncodeToString(mac.Sum(nil))
}
