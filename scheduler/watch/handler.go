package watch

import (
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// maxWebhook bounds what is read of a webhook. A push of very many commits can
// be larger; the poll finds it.
const maxWebhook = 8 << 20

// Webhook returns the handler that a forge's webhooks go to. It checks the
// signature, gives the news to the environments that it concerns and answers;
// the runs come after the answer.
func (w *Watcher) Webhook() http.Handler {
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
		if !forge.Signed(w.options.WebhookSecret, r.Header, body) {
			w.log.Warn("refused a webhook whose signature is missing or wrong", "from", r.RemoteAddr)
			http.Error(rw, "the signature is missing or wrong", http.StatusUnauthorized)
			return
		}
		kind := r.Header.Get("X-Gitea-Event")
		if kind == "" {
			kind = r.Header.Get("X-GitHub-Event")
		}
		ev, ok, err := parseEvent(kind, body)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		woken := 0
		if ok {
			woken = w.deliver(ev)
		}
		w.log.Debug("webhook", "event", kind, "repo", ev.repo, "branch", ev.branch, "woken", woken)
		rw.WriteHeader(http.StatusAccepted)
	})
}

// StatusHandler returns the handler that serves Status as JSON to those who
// have the secret.
func (w *Watcher) StatusHandler() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		secret := w.options.WebhookSecret
		if !ok || secret == "" || subtle.ConstantTimeCompare([]byte(token), []byte(secret)) != 1 {
			rw.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(rw, "the secret is needed as a bearer token", http.StatusUnauthorized)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(rw)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(w.Status()); err != nil {
			w.log.Debug("the status could not be sent", "error", err)
		}
	})
}
