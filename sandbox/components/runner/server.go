package main

import (
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"
)

const serveLimit = 10 * time.Second

// serve runs the runner until ctx ends, with its server beside it.
func (r *runner) serve(ctx context.Context) error {
	listener, err := net.Listen("tcp", r.config.Listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: r.handler(), ReadTimeout: serveLimit, WriteTimeout: 3 * serveLimit, MaxHeaderBytes: 64 << 10}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	err = errors.Join(r.run(ctx), server.Close())
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// handler serves /healthz for all, and with the secret as bearer token /status,
// and /wake for a forge that has, or is about to have, work.
func (r *runner) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if r.ready() != nil { // why is in the status, which is not for all
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	private := func(pattern string, handle http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, q *http.Request) {
			if !hmac.Equal([]byte(q.Header.Get("Authorization")), []byte("Bearer "+r.config.Secret)) {
				http.Error(w, "the runner's secret is needed as bearer token", http.StatusUnauthorized)
				return
			}
			handle(w, q)
		})
	}
	private("POST /wake", func(http.ResponseWriter, *http.Request) { r.poke() })
	private("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(r.status())
	})
	return mux
}

// status is what a runner does now.
type status struct {
	Ready   bool      `json:"ready"`
	Trouble string    `json:"trouble,omitempty"`
	Contact time.Time `json:"contact"` // last answer of the forge
	Running []process `json:"running"`
}

func (r *runner) status() status {
	err := r.ready()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := status{Ready: err == nil, Contact: r.contact, Running: slices.AppendSeq([]process{}, maps.Values(r.running))}
	if err != nil {
		s.Trouble = err.Error()
	}
	slices.SortFunc(s.Running, func(a, b process) int { return cmp.Compare(a.ID, b.ID) })
	return s
}
