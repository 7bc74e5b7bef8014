package controller

import (
	"crypto/subtle"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
)

// Server is what clients see of one or several Controllers.
type Server struct {
	controllers []*Controller
	secret      string
	metrics     *Metrics
	log         *slog.Logger
	deliveries  deliveries
	client      http.Client // to the scheduler that leads
}

// ServerOptions say what is behind a Server, and who may come in.
type ServerOptions struct {
	Controllers   []*Controller
	WebhookSecret string       // signs webhooks and opens the status; empty refuses both
	Metrics       *Metrics     // that the Controllers share; none are shown when nil
	Log           *slog.Logger // slog.Default() when nil
}

// NewServer returns a Server.
func NewServer(o ServerOptions) *Server {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Server{controllers: o.Controllers, secret: o.WebhookSecret, metrics: o.Metrics, log: o.Log}
}

// Handler serves
//
//	POST /webhook  for the forge
//	GET  /status   for those who have the secret
//	GET  /metrics  for Prometheus
//	GET  /healthz  says that the process lives
//	GET  /readyz   says that the first round is done, or another leads, and the forge answers
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
	for _, w := range s.controllers {
		all.ControlPlanes = append(all.ControlPlanes, w.Status())
	}
	return all
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
