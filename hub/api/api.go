// Package api is the hub over HTTP: the REST API with its OpenAPI document, live events,
// sign-in, and what stands around the pages.
//
// Handlers are plain functions from an input to a document; huma makes the OpenAPI
// document of their types, and openapi.json is the committed contract. Who asks, and what of
// it is theirs to see, is settled before a handler runs; the scope is passed to every query
// of the store. Errors are problem documents of RFC 9457.
package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-dev/kalypso/hub/auth"
	"github.com/kalypso-dev/kalypso/hub/history"
	"github.com/kalypso-dev/kalypso/hub/propose"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
)

// prefix is of every path of the OpenAPI document.
const prefix = "/api/v1"

const (
	// readTimeout is for requests that read and are not streams, changeTimeout for those that
	// change something: a cluster takes its time to stop.
	readTimeout   = 30 * time.Second
	changeTimeout = 2 * time.Minute
	// bodyTimeout is for a request's body to come.
	bodyTimeout = 5 * time.Second
	// maxBody is how much a request may send, in bytes.
	maxBody = 1 << 20
	// maxAnswer is how large a list may be, in bytes; more is for a smaller limit.
	maxAnswer = 2 << 20
)

// Model answers what is in git, not in the store. Unknown names are an
// [explain.InputError], or an error that wraps store.ErrNotFound.
type Model interface {
	// Explain says why a deployment target is where it is; "" asks about all cluster types.
	Explain(ctx context.Context, environment, target, clusterType string) (*explain.Explanation, error)
	// Objects are the documents of package view, of one kind of an environment.
	Objects(ctx context.Context, environment, kind string) ([]any, error)
	// Configuration is the platform configuration of an environment: as it is planned now, or
	// with a commit of its GitOps branch as that has it.
	Configuration(ctx context.Context, environment, commit string) (history.Configuration, error)
}

// Options configure the API.
type Options struct {
	Store   *store.Store
	Model   Model
	Sandbox Sandbox // nil where there is none: its routes are not there
	// Workshop is the scenarios of the sandbox; nil where there are none, as for Sandbox.
	Workshop Workshop
	// Share makes this the hub of those who have its link, and of nobody else; nil for all
	// who have a ticket, a session or a token.
	Share *Share
	// Proposals is how pull requests are opened; nil where they are not: their routes are not there.
	Proposals *Proposals
	// Hosts are the Host headers that are answered, with a port or for every port. Others are
	// refused: a page of elsewhere may have pointed its own name to this machine.
	Hosts []string
	// Secure says that users reach the hub by TLS, its own or a proxy's.
	Secure bool
	// BehindProxy says that a proxy which this machine's users cannot go around sends the requests:
	// the last address of X-Forwarded-For is who has sent them.
	BehindProxy bool
	// SignIn is how users sign in besides tickets; nil for no way.
	SignIn *auth.SignIn
	// ClusterTokens are those of a file, besides those of the store; nil for none. Reported is
	// called when an agent has reported something new; nil where no agents are observed, and there
	// is no route then.
	ClusterTokens *auth.ClusterTokens
	Reported      func()
	// Web serves the pages; nil for one that names the API.
	Web http.Handler
	// Redact are the keys of platform configuration whose values nobody is shown, as in
	// *PASSWORD*, in any case; nil for the usual ones.
	Redact   []string
	Links    map[string]string // where the forge and Argo CD are, by name
	Log      *slog.Logger      // slog.Default() when nil
	Registry *prometheus.Registry
}

type api struct {
	Options
	mux         *http.ServeMux
	huma        huma.API
	handler     http.Handler // the mux, with compression
	crossOrigin *http.CrossOriginProtection
	redaction   redaction
	failures    *auth.Limiter
	feed        *feed
	metrics     *metrics
	started     string // tells the entity tags of one run of the hub from those of another

	planner  *propose.Planner // nil without Proposals
	proposer propose.Proposer
	keys     propose.KeyLock // of requests that make something
}

// New returns the handler of everything that the hub serves to users. It needs no end: what
// runs in it ends with the requests.
func New(o Options) (http.Handler, error) {
	return newAPI(o)
}

func newAPI(o Options) (*api, error) {
	if len(o.Hosts) == 0 {
		return nil, errors.New("the hub answers no Host header: name at least one, such as 127.0.0.1")
	}
	if o.Redact == nil {
		o.Redact = defaultRedact()
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	compress, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false))
	if err != nil {
		return nil, fmt.Errorf("compression: %w", err)
	}
	a := &api{
		Options: o, mux: http.NewServeMux(), crossOrigin: http.NewCrossOriginProtection(),
		redaction: newRedaction(o.Redact), failures: auth.NewLimiter(), started: newID(),
	}
	a.metrics = newMetrics(o.Registry)
	a.feed = &feed{store: o.Store, log: o.Log, streams: map[*stream]bool{}, clients: a.metrics.clients}
	a.handler = compress(a.mux)
	a.routes()
	return a, nil
}

func (a *api) routes() {
	a.huma = newHuma(a.mux)
	a.huma.UseMiddleware(a.admit)
	a.identityRoutes()
	a.placementRoutes()
	a.historyRoutes()
	a.fleetRoutes()
	a.changeRoutes()
	a.deploymentRoutes()
	a.problemRoutes()
	a.modelRoutes()
	a.compareRoutes()
	a.eventRoutes()
	a.operatorRoutes()
	a.reportRoutes()
	if a.Proposals != nil {
		a.proposalRoutes()
	}
	if a.Sandbox != nil {
		a.sandboxRoutes()
	}
	if a.Workshop != nil {
		a.workshopRoutes()
	}
	allowMore(a.huma.OpenAPI())
	a.mux.HandleFunc("GET "+prefix+"/openapi.json", a.openAPI)
	a.mux.HandleFunc("/api/", a.noRoute)
	a.mux.HandleFunc("POST /enter", a.enter)
	a.mux.HandleFunc("GET /problems/{slug}", problemPage)
	a.mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("ok\n")) })
	a.mux.HandleFunc("GET /readyz", a.ready)
	if a.Web != nil {
		a.mux.Handle("/", a.Web)
		return
	}
	a.mux.HandleFunc("GET /{$}", func(rw http.ResponseWriter, _ *http.Request) {
		secureHeaders(rw.Header())
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(rw, "This is kalypso's hub. It has no pages here; its API is at %s, described by %s/openapi.json.\n", prefix, prefix)
	})
}

// ready is for readiness probes: 503 with the reason while nothing can be stored.
func (a *api) ready(rw http.ResponseWriter, r *http.Request) {
	if err := a.Store.Ready(r.Context()); err != nil {
		http.Error(rw, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = rw.Write([]byte("ok\n"))
}

// noRoute answers what no route of the API matches.
func (a *api) noRoute(rw http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := a.mux.Handler(other); pattern != "/api/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		p := newProblem(http.StatusMethodNotAllowed, r.URL.Path+" has no "+r.Method)
		p.header = http.Header{"Allow": allowed}
		a.refuse(rw, r, p)
		return
	}
	p := newProblem(http.StatusNotFound, "there is no "+r.URL.Path)
	p.Hint = prefix + "/openapi.json lists what there is"
	a.refuse(rw, r, p)
}

// streams is whether an answer goes on for as long as its reader wants: it is neither
// compressed nor cut off.
func streams(r *http.Request) bool {
	return r.URL.Path == prefix+"/events" || strings.HasPrefix(r.URL.Path, prefix+"/sandbox/logs/")
}
