// Package armemulator emulates as much of Azure Resource Manager as a fleet that
// Azure Arc manages needs: clusters, their GitOps configurations
// (Microsoft.KubernetesConfiguration/fluxConfigurations) and the Resource Graph,
// with Azure's paths, bodies, errors and asynchronous operations. A program that
// talks to it can talk to Azure unchanged.
//
// It keeps nothing itself: a [Backend] has the clusters and the configurations.
// The sandbox's backend reads and writes its clusters, that of the tests is in
// memory.
//
// It differs from Azure in these: nothing can be written to a stopped cluster;
// the only kind of source is GitRepository; health checks are off unless asked
// for; and a cluster, which is shown as a connected one, takes configurations as
// a managed cluster, too.
package armemulator

import (
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/armapi"
)

// Backend has the clusters of an emulator, and their configurations. Its errors
// are [Error]s where ARM has one for them; others are answered as internal ones.
type Backend interface {
	// Clusters are those that Azure Arc manages, in a fixed order.
	Clusters() []armapi.Cluster
	// Tags are those of a cluster. Nothing is asked for them.
	Tags(c armapi.Cluster) map[string]string
	// Describe is a cluster as Azure Arc shows it, also one that is offline.
	Describe(ctx context.Context, c armapi.Cluster) armapi.ConnectedCluster
	// Configurations are those of a cluster, of both its types. Those of a
	// cluster that is offline are the last that were known; when none are
	// known it is an error.
	Configurations(ctx context.Context, c armapi.Cluster) ([]armapi.Configuration, error)
	// Write creates a configuration or replaces the one that exists. With keep,
	// protected settings that p does not have stay.
	Write(ctx context.Context, c armapi.Cluster, name string, p armapi.Properties, keep bool) error
	// Delete begins to delete a configuration; found is false when there is none.
	Delete(ctx context.Context, c armapi.Cluster, name string, force bool) (found bool, err error)
	// Progress is whether the last write or deletion of a configuration is
	// done, or why it has failed.
	Progress(ctx context.Context, c armapi.Cluster, name string, deletion bool) (done bool, failure *Error, err error)
}

// Options of New.
type Options struct {
	Subscriptions []armapi.Subscription
	Location      string // of all clusters, e.g. eastus
	// ResourceGroup exists in every subscription, also without clusters.
	ResourceGroup string
	Token         string // the bearer token of all callers; not empty
	Backend       Backend
	Log           *slog.Logger
}

const (
	// requestLimit is how long the backend may take for one request.
	requestLimit = 10 * time.Second
	maxBody      = 4 << 20
)

type server struct{ Options }

// New makes the emulator's handler. It must listen on loopback only: there is
// one token, and it may do everything.
func New(o Options) http.Handler { return &server{o} }

// ServeHTTP answers a request, or an error as ARM writes it.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), requestLimit)
	defer cancel()
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	answer, err := s.route(r.WithContext(ctx))
	if err != nil {
		var known *Error
		if !errors.As(err, &known) {
			s.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "reason", err)
			known = Errorf(http.StatusInternalServerError, "InternalServerError", "%s", err)
		}
		known.Write(w)
		return
	}
	answer.write(w)
}

// route checks what ARM checks of every request, and hands it on.
func (s *server) route(r *http.Request) (*answer, error) {
	if err := s.authorize(r); err != nil {
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
	if err := s.resolve(&p); err != nil {
		return nil, err
	}
	if p.configurations && p.configuration != "" && p.operation == "" {
		return s.configuration(r, p)
	}
	if r.Method != http.MethodGet {
		return nil, wrongMethod(r)
	}
	switch {
	case p.resources:
		return s.listResources(r, p)
	case p.provider == "":
		return s.showSubscription(p)
	case p.operation != "":
		return s.operation(r, p)
	case p.configurations:
		return s.listConfigurations(r, p)
	case p.cluster.Name != "":
		return ok(s.Backend.Describe(r.Context(), p.cluster)), nil
	}
	return s.listClusters(r, p)
}

func (s *server) authorize(r *http.Request) error {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token == "" || !strings.EqualFold(scheme, "Bearer") {
		return Errorf(http.StatusUnauthorized, "AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
	}
	if s.Token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) != 1 {
		return Errorf(http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid.")
	}
	return nil
}
