// Package arc emulates as much of Azure Resource Manager as a fleet that Azure
// Arc manages needs: clusters, their GitOps configurations
// (Microsoft.KubernetesConfiguration/fluxConfigurations) and the Resource Graph,
// with Azure's paths, bodies, errors and asynchronous operations. What talks to
// it can talk to Azure unchanged.
//
// It has no database. A configuration is the GitRepository, the Kustomizations
// and the secret that Azure's agent would make of it, on the cluster itself
// (see manifests.go), and each answer is computed from them and from what the
// real Flux says in their status (see read.go). So it may be killed at any
// moment, and a GitRepository that came by other ways is a configuration, too,
// if it looks like one.
//
// The one thing it remembers is what each cluster looked like last, for the
// time when that cluster is away; see memory.
//
// Against Azure it differs in these: nothing can be written to a cluster that
// is away; the only kind of source is GitRepository; a configuration in scope
// namespace gets no service account of its own; health checks are off unless
// asked for; and one cluster, which is shown as a connected one, takes
// configurations as a managed cluster, too, with ones of its own in each role.
package arc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

// ErrAway is that a cluster is stopped, so that it cannot be asked.
var ErrAway = errors.New("the cluster is away")

// Clusters are those that the emulation manages.
type Clusters interface {
	// Names are all of them, also those that are away, in a fixed order.
	Names() []string
	// Client connects to one. The error is ErrAway for one that is stopped.
	Client(name string) (*cluster.Client, error)
}

// Options of New.
type Options struct {
	Subscription  string // the only one there is
	Tenant        string
	ResourceGroup string // that all clusters are in
	Location      string // that all clusters are at, e.g. eastus
	Token         string // what callers must bear; not empty
	Clusters      Clusters
	// Dir keeps what was last seen of each cluster; "" keeps it in memory.
	Dir string
	Log *slog.Logger
}

// clusterLimit is how long a cluster may take for all that one request asks.
const clusterLimit = 10 * time.Second

// server serves ARM's requests. It has no state but the memory.
type server struct {
	Options
	memory *memory
	now    func() time.Time
}

// New makes the endpoint. It must listen on loopback only: there is one token,
// and it may do everything.
func New(o Options) http.Handler {
	s := &server{Options: o, memory: newMemory(o.Dir), now: func() time.Time { return time.Now().UTC().Truncate(time.Second) }}
	return http.HandlerFunc(s.serve)
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), clusterLimit)
	defer cancel()
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	answer, err := s.answer(r.WithContext(ctx))
	if err != nil {
		var known *armError
		if !errors.As(err, &known) {
			s.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "reason", err)
		}
		writeError(w, err)
		return
	}
	answer.write(w)
}

// answer checks what ARM's front door checks, and passes the request on.
func (s *server) answer(r *http.Request) (*answer, error) {
	if err := s.authorized(r); err != nil {
		return nil, err
	}
	if err := checkVersion(r.URL.Query()); err != nil {
		return nil, err
	}
	p, err := parsePath(r.URL.EscapedPath())
	if err != nil {
		return nil, err
	}
	if p.graph {
		return s.graph(r)
	}
	if err := s.known(p); err != nil {
		return nil, err
	}
	switch {
	case p.resources:
		return s.listResources(r)
	case p.provider == "":
		return s.showSubscription(r)
	case p.configurations && p.operation != "":
		return s.operation(r, p)
	case p.configurations && p.configuration != "":
		return s.configuration(r, p)
	case p.configurations:
		return s.listConfigurations(r, p)
	case p.cluster.Name != "":
		return s.showCluster(r, p)
	}
	return s.listClusters(r)
}
