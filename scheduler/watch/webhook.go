package watch

import (
	"io"
	"net/http"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// maxWebhook bounds what is read of a webhook. A push of very many commits can
// be larger; the poll finds it.
const maxWebhook = 8 << 20

// Webhook returns the handler that a forge's webhooks go to. It checks the
// signature, gives the news to the environments that it concerns, of whichever
// control plane, and answers; the runs come after the answer. One that stands
// by passes it on to the one that leads.
func (d *Door) Webhook() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			rw.Header().Set("Allow", http.MethodPost)
			http.Error(rw, "webhooks are posted", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxWebhook))
		if err != nil {
			http.Error(rw, "the body cannot be read", http.StatusRequestEntityTooLarge)
			return
		}
		if !forge.Signed(d.secret, r.Header, body) {
			d.log.Warn("refused a webhook whose signature is missing or wrong", "from", r.RemoteAddr)
			d.metrics.webhook("refused")
			http.Error(rw, "the signature is missing or wrong", http.StatusUnauthorized)
			return
		}
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
			http.Error(rw, "set the webhook's content type to application/json", http.StatusUnsupportedMediaType)
			return
		}
		if d.passOn(rw, r, body) {
			return
		}
		d.take(rw, header(r, "Event"), header(r, "Delivery"), body)
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
func (d *Door) take(rw http.ResponseWriter, kind, delivery string, body []byte) {
	ev, ok, err := parseEvent(kind, body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	woken, outcome := 0, "ignored"
	switch {
	case !d.deliveries.first(delivery):
		outcome = "repeated"
	case ok:
		for _, w := range d.watchers {
			woken += w.deliver(ev)
		}
		if woken > 0 {
			outcome = "taken"
		}
	}
	d.metrics.webhook(outcome)
	d.log.Debug("webhook", "event", kind, "repo", ev.repo, "branch", ev.branch, "delivery", delivery, "woken", woken, "outcome", outcome)
	rw.WriteHeader(http.StatusAccepted)
}
