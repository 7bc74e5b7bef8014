package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// existingClusters has the clusters that the person has given to a sandbox.
func (h Home) existingClusters(s *State, w workshop) *attached.Provider {
	return &attached.Provider{
		ID: s.ID, Dir: h.Path("clusters"), Sources: s.Existing,
		Requirements: func(name string) (attached.Requirements, error) {
			i := slices.IndexFunc(w.clusters, func(c clusterSpec) bool { return c.name == name })
			return s.requirements(w.clusters[i])
		},
	}
}

// requirements are what must be free on a cluster, or be this sandbox's.
func (s *State) requirements(c clusterSpec) (attached.Requirements, error) {
	if c.reconciler == argoCD {
		d := attached.Requirements{Reconciler: attached.ArgoCD, Namespace: gitops.ArgoCDNamespace}
		m, err := s.argoCDSubscription(c, "").Manifests()
		if err == nil {
			d.Subscription, err = cluster.Decode(m)
		}
		if err == nil {
			d.Settings, err = gitops.ArgoCDSettings{}.Settings()
		}
		return d, err
	}
	d := attached.Requirements{Reconciler: attached.Flux, Namespace: gitops.FluxNamespace}
	for _, sub := range s.fluxSubscriptions(c, "") {
		m, err := sub.Manifests()
		if err != nil {
			return d, err
		}
		objects, err := cluster.Decode(m)
		if err != nil {
			return d, err
		}
		d.Subscription = append(d.Subscription, objects...)
	}
	if c.secret != "" {
		secret := &unstructured.Unstructured{}
		secret.SetAPIVersion("v1")
		secret.SetKind("Secret")
		secret.SetNamespace(gitops.FluxNamespace)
		secret.SetName(c.secret)
		d.Subscription = append(d.Subscription, secret)
	}
	return d, nil
}

// theirs says where an existing cluster has a reconciler of its own, "" for
// nowhere.
func (w *world) theirs(name string) string {
	f, _ := w.clusters.attached.Facts(name)
	return f.Theirs
}

// mark is what remembers that a cluster has been subscribed. Another sandbox may
// have used an existing cluster, too.
func (w *world) mark(name string) string {
	if w.clusters.attached.Has(name) {
		return "subscribed-" + w.state.ID
	}
	return "subscribed"
}

// aboutTheirs tells what a cluster's own reconciler would need to follow the
// forge. Nobody here can mend that.
func (w *world) aboutTheirs(c clusterSpec, err error) error {
	in := w.theirs(c.name)
	if in == "" || err == nil {
		return err
	}
	return &supervisor.PermanentError{Err: fmt.Errorf("%w\nThe cluster has a reconciler of its own, in namespace %s, which the sandbox uses: it must be able to reach the forge at %s", err, in, w.state.ForgeURL())}
}

// reconcilerEnvironment is that of a reconciler that runs beside its cluster.
func (w *world) reconcilerEnvironment(name string) []string {
	env := childEnvironment(w.home)
	if w.clusters.attached.Has(name) {
		return w.clusters.attached.Environment(name, env)
	}
	return env
}

type poke = func(ctx context.Context, c *cluster.Client, repository, branch, commit string) error

// pokeOurs leaves alone who follows a repository of that name elsewhere.
func (s *State) pokeOurs(poke poke) poke {
	return func(ctx context.Context, c *cluster.Client, repository, branch, commit string) error {
		host := net.JoinHostPort("localhost", strconv.Itoa(s.Ports["gitea"]))
		return poke(ctx, c, host+"/"+repository, branch, commit)
	}
}

// giveBack takes off the clusters that the person has given what the sandbox
// has put there. With forget it gives up where nobody knows any more where the
// cluster is. The notes tell what stays on purpose; did is false where there was
// nothing to do.
func (h Home) giveBack(ctx context.Context, forget bool, say func(string)) (did bool, notes []string, err error) {
	files, err := filepath.Glob(attached.RecordFile(h.Path("clusters"), "*"))
	if err != nil {
		return false, nil, err
	}
	if pending, err := attached.Pending(files); err != nil || !pending {
		return false, nil, err
	}
	err = h.quietly(ctx, func(*State) error {
		var all []error
		for _, f := range files {
			told, err := attached.Remove(ctx, f, say)
			notes = append(notes, told...)
			var missing *attached.MissingError
			if forget && errors.As(err, &missing) {
				notes = append(notes, err.Error())
				err = os.Remove(f)
			}
			all = append(all, err)
		}
		return errors.Join(all...)
	})
	return true, notes, err
}

// ExistingCluster tells of a cluster that the person has given.
type ExistingCluster struct {
	Name    string   `json:"name"`
	Files   []string `json:"kubeconfig"`
	Context string   `json:"context"`
	Server  string   `json:"server,omitempty"`
	Version string   `json:"version,omitempty"` // of Kubernetes
	// Theirs is the namespace in which the cluster's own reconciler runs; "" when
	// the sandbox's runs on this machine.
	Theirs string `json:"theirs,omitempty"`
	// Pods says why the pods of the sample applications do not run there.
	Pods string `json:"pods"`
}

// existingStatus tells of the clusters that the person has given, as far as it
// is known.
func (w *world) existingStatus() (all []ExistingCluster) {
	for _, name := range w.workshop.clusterNames() {
		s, given := w.state.Existing[name]
		if !given {
			continue
		}
		f, _ := w.clusters.attached.Facts(name)
		all = append(all, ExistingCluster{
			Name: name, Files: s.Files, Context: s.Context, Server: f.Server, Version: f.Version, Theirs: f.Theirs,
			Pods: fmt.Sprintf("its nodes cannot pull the sample applications' images, which are in the forge's registry on this machine (localhost:%d)", w.state.Ports["gitea"]),
		})
	}
	return all
}
