package controller

import (
	"net/http"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Webhook returns the handler that a forge's webhooks go to. It checks the
// signature, gives the news to the environments that it concerns, of whichever
// control plane, and answers; the runs come after the answer. One that stands
// by passes it on to the one that leads.
func (s *Server) Webhook() http.Handler {
	refused := func(r *http.Request, status int, reason string) {
		s.log.Warn("refused a webhook", "from", r.RemoteAddr, "status", status, "reason", reason)
		s.metrics.webhook("refused")
	}
	signed := forge.Webhooks(s.secret, refused, func(rw http.ResponseWriter, r *http.Request, body []byte) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
			http.Error(rw, "set the webhook's content type to application/json", http.StatusUnsupportedMediaType)
			return
		}
		if s.passOn(rw, r, body) {
			return
		}
		s.take(rw, header(r, "Event"), header(r, "Delivery"), body)
	})
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			rw.Header().Set("Allow", http.MethodPost)
			http.Error(rw, "webhooks are posted", http.StatusMethodNotAllowed)
			return
		}
		signed.ServeHTTP(rw, r)
	})
}

// header is a webhook's header. Gitea sends those of GitHub, too.
func header(r *http.Request, name string) string {
	if value := r.Header.Get("X-Gitea-" + name); value != "" {
		return value
	}
	return r.Header.Get("X-GitHub-" + name)
}

// take takes in a webhook that is signed.
func (s *Server) take(rw http.ResponseWriter, kind, delivery string, body []byte) {
	ev, ok, err := parseEvent(kind, body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	woken, outcome := 0, "ignored"
	switch {
	case !s.deliveries.first(delivery):
		outcome = "repeated"
	case ok:
		for _, w := range s.controllers {
			woken += w.deliver(ev)
		}
		if woken > 0 {
			outcome = "taken"
		}
	}
	s.metrics.webhook(outcome)
	s.log.Debug("webhook", "event", kind, "repo", ev.repo, "branch", ev.branch, "delivery", delivery, "woken", woken, "outcome", outcome)
	rw.WriteHeader(http.StatusAccepted)
}
