package watch

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
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
		if !signed(w.options.WebhookSecret, r.Header, body) {
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

// signed checks a webhook's signature: Gitea's header, or the one that GitHub
// and Gitea both send.
func signed(secret string, header http.Header, body []byte) bool {
	signature := header.Get("X-Gitea-Signature")
	if signature == "" {
		signature, _ = strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
	}
	got, err := hex.DecodeString(signature)
	if err != nil || secret == "" {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hmac.Equal(got, mac.Sum(nil))
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
