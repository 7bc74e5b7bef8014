package controller

import (
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// silence is how long the forge may not have answered beyond three polls.
const silence = 30 * time.Second

// rememberedDeliveries is how many of the last webhooks are recognised when
// they are delivered again.
const rememberedDeliveries = 4096

// Server answers HTTP requests for one or several Controllers.
type Server struct {
	controllers []*Controller
	secret      string
	metrics     *Metrics
	log         *slog.Logger
	// deliveries are the IDs of the last webhooks, so that one that a forge, or a
	// proxy on the way, delivers twice makes one run. It saves work and protects
	// nothing: forges do not sign the ID. A replay does no harm, since an event only
	// wakes environments, which read everything from the forge.
	deliveries *lru.Cache[string, struct{}]
}

// ServerOptions configure a Server.
type ServerOptions struct {
	Controllers   []*Controller
	WebhookSecret string       // signs webhooks and opens the status; empty refuses both
	Metrics       *Metrics     // that the Controllers share; none are shown when nil
	Log           *slog.Logger // slog.Default() when nil
}

// NewServer returns a Server.
func NewServer(o ServerOptions) *Server {
	deliveries, _ := lru.New[string, struct{}](rememberedDeliveries) // fails for a size below 1
	return &Server{controllers: o.Controllers, secret: o.WebhookSecret, metrics: o.Metrics, log: cmp.Or(o.Log, slog.Default()), deliveries: deliveries}
}

// Handler serves
//
//	POST /webhook  for the forge
//	GET  /status   for those who have the secret
//	GET  /metrics  for Prometheus
//	GET  /healthz  for liveness probes: the process answers
//	GET  /readyz   for readiness probes: see unready
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/webhook", s.Webhook())
	mux.Handle("GET /status", s.StatusHandler())
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", s.ready)
	if s.metrics != nil {
		mux.Handle("GET /metrics", s.metrics.Handler())
	}
	return mux
}

// Statuses are those of several control planes.
type Statuses struct {
	ControlPlanes []Status `json:"controlPlanes"`
}

// status is a Status where there is one control plane, and else Statuses.
func (s *Server) status() any {
	if len(s.controllers) == 1 {
		return s.controllers[0].Status()
	}
	all := Statuses{ControlPlanes: []Status{}}
	for _, c := range s.controllers {
		all.ControlPlanes = append(all.ControlPlanes, c.Status())
	}
	return all
}

// ParseStatus reads what StatusHandler serves: the status of each control plane.
func ParseStatus(body []byte) ([]Status, error) {
	var all struct {
		Statuses
		Status
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, fmt.Errorf("the scheduler's status: %w", err)
	}
	if all.ControlPlanes != nil {
		return all.ControlPlanes, nil
	}
	return []Status{all.Status}, nil
}

// StatusHandler returns the handler that serves the status as JSON to those
// who have the secret.
func (s *Server) StatusHandler() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || s.secret == "" || subtle.ConstantTimeCompare([]byte(token), []byte(s.secret)) != 1 {
			rw.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(rw, "the secret is needed as a bearer token", http.StatusUnauthorized)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(rw)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(s.status()); err != nil {
			s.log.Debug("the status could not be sent", "error", err)
		}
	})
}

// answered notes that the forge has answered.
func (c *Controller) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = time.Now()
}

// unready says why a Controller is not to be relied on, "" when it is: each
// environment has had a run, well or not, and the forge has answered lately.
// One that stands by is ready when it could take over.
// What is wrong with a single environment is no reason: a restart would not
// help it, and the others would suffer.
func (c *Controller) unready() string {
	if lease, ok := c.standsBy(); ok {
		if lease.Error != "" {
			return c.name + ": the lease cannot be read"
		}
		return ""
	}
	limit := 3*c.options.Poll + silence
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.control.Commit == "":
		return c.name + ": the control plane has not been read yet"
	case time.Since(c.reached) > limit:
		return fmt.Sprintf("%s: the forge has not answered for more than %s", c.name, limit)
	case c.settled:
		return ""
	}
	if waiting := c.unplanned(); len(waiting) > 0 {
		return fmt.Sprintf("%s: not planned yet: %s", c.name, strings.Join(waiting, ", "))
	}
	c.settled = true
	return ""
}

// unplanned lists the environments that have had no run yet, sorted. The lock must
// be held.
func (c *Controller) unplanned() []string {
	var names []string
	for e := range c.all() {
		if e.status.Runs == 0 {
			names = append(names, e.name)
		}
	}
	slices.Sort(names)
	return names
}

// ready answers probes. It reports names and no errors: anybody may ask.
func (s *Server) ready(rw http.ResponseWriter, _ *http.Request) {
	var reasons []string
	for _, c := range s.controllers {
		if why := c.unready(); why != "" {
			reasons = append(reasons, why)
		}
	}
	if len(reasons) == 0 {
		_, _ = rw.Write([]byte("ok\n"))
		return
	}
	http.Error(rw, strings.Join(reasons, "\n"), http.StatusServiceUnavailable)
}
