package forge

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxWebhook bounds the body of a webhook, in bytes. GitHub sends up to 25 MB
	// (docs.github.com/webhooks/webhook-events-and-payloads, "Payload cap"); a push
	// of so many commits is found by polling.
	MaxWebhook = 8 << 20

	webhooksAtOnce = 4
	// GitHub ends a delivery that is not answered within ten seconds
	// (docs.github.com/webhooks/using-webhooks/best-practices-for-using-webhooks).
	webhookBodyTime = 10 * time.Second
	webhookTurnTime = 5 * time.Second
)

// A Webhook handles the body of a webhook that is signed.
type Webhook func(w http.ResponseWriter, r *http.Request, body []byte)

// Webhooks returns a handler that passes on what is signed with the secret: in
// Gitea's header, or in the one that GitHub and Gitea both send
// (docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries). An
// empty secret signs nothing.
//
// Anybody may send anything here, so that what it takes is bounded: nothing is
// read of a body without a signature, and only a few bodies are in memory at a
// time. What has no signature, or a wrong one, is 403: there is no header by which to sign in.
// refused is called for what is not passed on, and may be nil.
func Webhooks(secret string, refused func(r *http.Request, status int, reason string), take Webhook) http.Handler {
	return &webhooks{secret: []byte(secret), slots: make(chan struct{}, webhooksAtOnce), refused: refused, take: take}
}

type webhooks struct {
	secret  []byte
	slots   chan struct{} // of the bodies in memory
	refused func(*http.Request, int, string)
	take    Webhook
}

// ServeHTTP implements http.Handler.
func (h *webhooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	signature, ok := signature(r.Header)
	switch {
	case !ok || len(h.secret) == 0:
		h.refuse(w, r, http.StatusForbidden, "the signature is missing or malformed")
		return
	case r.ContentLength > MaxWebhook:
		h.refuse(w, r, http.StatusRequestEntityTooLarge, "the body is larger than "+strconv.Itoa(MaxWebhook)+" bytes")
		return
	}
	turn := time.NewTimer(webhookTurnTime)
	defer turn.Stop()
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-turn.C:
		w.Header().Set("Retry-After", strconv.Itoa(int(webhookBodyTime/time.Second)))
		h.refuse(w, r, http.StatusServiceUnavailable, "too many webhooks at once")
		return
	case <-r.Context().Done():
		return
	}
	mac := hmac.New(sha256.New, h.secret)
	body, err := readWebhook(w, r, mac)
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		h.refuse(w, r, http.StatusRequestEntityTooLarge, "the body is larger than "+strconv.Itoa(MaxWebhook)+" bytes")
	case err != nil:
		h.refuse(w, r, http.StatusBadRequest, "the body cannot be read: "+err.Error())
	case !hmac.Equal(signature, mac.Sum(nil)):
		h.refuse(w, r, http.StatusForbidden, "the signature is wrong")
	default:
		h.take(w, r, body)
	}
}

func (h *webhooks) refuse(w http.ResponseWriter, r *http.Request, status int, reason string) {
	// the server reads on for a little, so that the answer is seen by who still
	// sends; that is not to take long
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second))
	if h.refused != nil {
		h.refused(r, status, reason)
	}
	http.Error(w, reason, status)
}

// signature is what a webhook's header holds, and whether it can be one.
func signature(header http.Header) (s []byte, ok bool) {
	text := header.Get("X-Gitea-Signature")
	if text == "" {
		text, _ = strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
	}
	s, err := hex.DecodeString(text)
	return s, err == nil && len(s) == sha256.Size
}

// readWebhook reads a body within its time, and has mac hash it.
func readWebhook(w http.ResponseWriter, r *http.Request, mac hash.Hash) ([]byte, error) {
	// a ResponseWriter that knows no deadlines is a test's
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(webhookBodyTime))
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := body.ReadFrom(io.TeeReader(http.MaxBytesReader(w, r.Body, MaxWebhook), mac))
	if err == nil {
		// at a deadline that passes the server would end the request
		_ = connection.SetReadDeadline(time.Time{})
	}
	return body.Bytes(), err
}
