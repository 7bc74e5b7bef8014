package actions

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sort"
	"time"

	gitforge "github.com/kalypso-dev/kalypso/scheduler/forge"
)

const serveLimit = 10 * time.Second

// Serve runs a runner and answers for it until ctx ends: it takes the forge's
// webhooks, so that work begins at once, and says how it goes.
func Serve(ctx context.Context, r *Runner) error {
	if r.Config.Listen == "" {
		return r.Run(ctx)
	}
	listener, err := net.Listen("tcp", r.Config.Listen)
	if err != nil {
		return err
	}
	// a webhook may have to wait for its turn, and has its own time to be read
	server := &http.Server{Handler: r.Handler(), ReadTimeout: serveLimit, WriteTimeout: 3 * serveLimit, MaxHeaderBytes: 64 << 10}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	err = r.Run(ctx)
	err = errors.Join(err, server.Close())
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// Handler serves /webhook for the forge (events workflow_job and push),
// /healthz for all, and /status with the webhook's secret as bearer token.
func (r *Runner) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if r.Ready() != nil { // why is in the status, which is not for all
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.Handle("POST /webhook", gitforge.Webhooks(r.Config.WebhookSecret, nil, func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		r.Poke()
		w.WriteHeader(http.StatusNoContent)
	}))
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, q *http.Request) {
		if !hmac.Equal([]byte(q.Header.Get("Authorization")), []byte("Bearer "+r.Config.WebhookSecret)) {
			http.Error(w, "the webhook's secret is needed as bearer token", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(r.Status())
	})
	return mux
}

// Status is what a runner does now.
type Status struct {
	Ready   bool          `json:"ready"`
	Trouble string        `json:"trouble,omitempty"`
	Contact time.Time     `json:"contact"` // last answer of the forge
	Running []RunningTask `json:"running"`
}

// RunningTask is one job that runs.
type RunningTask struct {
	ID    int64     `json:"id"`
	Job   string    `json:"job"`
	Began time.Time `json:"began"`
}

// Status tells what the runner does now.
func (r *Runner) Status() Status {
	err := r.Ready()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{Ready: err == nil, Contact: r.contact, Running: []RunningTask{}}
	if err != nil {
		s.Trouble = err.Error()
	}
	for id, job := range r.running {
		s.Running = append(s.Running, RunningTask{id, job.label, job.began})
	}
	sort.Slice(s.Running, func(i, j int) bool { return s.Running[i].ID < s.Running[j].ID })
	return s
}
