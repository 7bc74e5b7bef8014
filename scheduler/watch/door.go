package watch

import (
	"crypto/subtle"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
)

// Door is what the world sees of one or several Watchers.
type Door struct {
	watchers   []*Watcher
	secret     string
	metrics    *Metrics
	log        *slog.Logger
	deliveries deliveries
	client     http.Client // to the scheduler that leads
}

// DoorOptions say what is behind a Door, and who may come in.
type DoorOptions struct {
	Watchers      []*Watcher
	WebhookSecret string       // signs webhooks and opens the status; empty refuses both
	Metrics       *Metrics     // that the Watchers share; none are shown when nil
	Log           *slog.Logger // slog.Default() when nil
}

// NewDoor returns a Door.
func NewDoor(o DoorOptions) *Door {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Door{watchers: o.Watchers, secret: o.WebhookSecret, metrics: o.Metrics, log: o.Log}
}

// Handler serves
//
//	POST /webhook  for the forge
//	GET  /status   for those who have the secret
//	GET  /metrics  for Prometheus
//	GET  /healthz  says that the process lives
//	GET  /readyz   says that the first round is done, or another leads, and the forge answers
func (d *Door) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/webhook", d.Webhook())
	mux.Handle("GET /status", d.StatusHandler())
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", d.ready)
	if d.metrics != nil {
		mux.Handle("GET /metrics", d.metrics.Handler())
	}
	return mux
}

// Statuses are those of several control planes.
type Statuses struct {
	ControlPlanes []Status `json:"controlPlanes"`
}

// status is a Status where there is one control plane, and else Statuses.
func (d *Door) status() any {
	if len(d.watchers) == 1 {
		return d.watchers[0].Status()
	}
	all := Statuses{ControlPlanes: []Status{}}
	for _, w := range d.watchers {
		all.ControlPlanes = append(all.ControlPlanes, w.Status())
	}
	return all
}

// StatusHandler returns the handler that serves the status as JSON to those
// who have the secret.
func (d *Door) StatusHandler() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || d.secret == "" || subtle.ConstantTimeCompare([]byte(token), []byte(d.secret)) != 1 {
			rw.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(rw, "the secret is needed as a bearer token", http.StatusUnauthorized)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(rw)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(d.status()); err != nil {
			d.log.Debug("the status could not be sent", "error", err)
		}
	})
}
