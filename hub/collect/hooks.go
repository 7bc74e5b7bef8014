package collect

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// HooksPath is below what reconcilers post their events to.
const HooksPath = "/hooks/"

const (
	// maxEvent bounds the body of an event, in bytes: Flux's messages have 39,000 characters.
	maxEvent = 1 << 20
	// eventTime bounds how long a body may take, eventsAtOnce how many are in memory, and
	// eventTurnTime how long another one waits for its turn.
	eventTime     = 10 * time.Second
	eventsAtOnce  = 16
	eventTurnTime = 5 * time.Second
	// rememberedEvents is how many are known again when they are delivered once more.
	rememberedEvents = 4096
)

// hooks takes the events of reconcilers. They are hints: each has one cluster looked at.
type hooks struct {
	collector *Collector
	turns     chan struct{}
	seen      *lru.Cache[[sha256.Size]byte, struct{}]
}

// Events takes what Flux and Argo CD say of the clusters that they work on, each at an address
// of its own:
//
//	/hooks/flux/CLUSTER/SECRET    the controllers' own events
//	/hooks/flux/CLUSTER           signed by notification-controller's Provider generic-hmac
//	/hooks/argocd/CLUSTER/SECRET  Argo CD's notifications; or without the secret, and with it as
//	                              bearer token
//
// The secret is fleet.EventSecret. One that is wrong is 403, a cluster that is not known 404, more
// events at once than are read 503, and what has been delivered before is accepted and does nothing.
func (c *Collector) Events() http.Handler { return c.events }

func newHooks(c *Collector) http.Handler {
	seen, _ := lru.New[[sha256.Size]byte, struct{}](rememberedEvents) // fails for a size below 1
	h := &hooks{collector: c, turns: make(chan struct{}, eventsAtOnce), seen: seen}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+HooksPath+"flux/{cluster}", h.flux)
	mux.HandleFunc("POST "+HooksPath+"flux/{cluster}/{secret}", h.flux)
	mux.HandleFunc("POST "+HooksPath+"argocd/{cluster}", h.argoCD)
	mux.HandleFunc("POST "+HooksPath+"argocd/{cluster}/{secret}", h.argoCD)
	return mux
}

func (h *hooks) flux(w http.ResponseWriter, r *http.Request) {
	signature, err := hex.DecodeString(strings.TrimPrefix(r.Header.Get("X-Signature"), "sha256="))
	body, ok := h.accept(w, r, func(string) bool { return err == nil && len(signature) == sha256.Size }, func(secret string, body []byte) bool {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		return hmac.Equal(signature, mac.Sum(nil))
	})
	if !ok {
		return
	}
	var event flux.Event
	if err := json.Unmarshal(body, &event); err != nil || event.InvolvedObject.Name == "" {
		h.refuse(w, r, http.StatusBadRequest, "an event of Flux is JSON and has involvedObject.name")
		return
	}
	h.take(w, r, body, func(cluster string) {
		if made, ok := event.Correction(); ok {
			h.collector.corrections.add(cluster, made, time.Now())
		}
	})
}

func (h *hooks) argoCD(w http.ResponseWriter, r *http.Request) {
	body, ok := h.accept(w, r, func(secret string) bool {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		return ok && hmac.Equal([]byte(token), []byte(secret))
	}, func(string, []byte) bool { return true })
	if ok {
		// what it says is up to the template of who has set it up
		h.take(w, r, body, func(string) {})
	}
}

// accept reads a body that comes with the cluster's secret, in the address or else as the headers
// and then signed find it, and answers any other. Anybody may send anything here: nothing is read of
// what cannot be accepted.
func (h *hooks) accept(w http.ResponseWriter, r *http.Request, headers func(secret string) bool, signed func(secret string, body []byte) bool) ([]byte, bool) {
	const wrong = "the secret or the signature is missing or wrong"
	secret := fleet.EventSecret(h.collector.secret, r.PathValue("cluster"))
	given := r.PathValue("secret")
	if h.collector.secret == "" || given != "" && !hmac.Equal([]byte(given), []byte(secret)) || given == "" && !headers(secret) {
		h.refuse(w, r, http.StatusForbidden, wrong)
		return nil, false
	}
	turn := time.NewTimer(eventTurnTime)
	defer turn.Stop()
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-turn.C:
		w.Header().Set("Retry-After", strconv.Itoa(int(eventTime/time.Second)))
		h.refuse(w, r, http.StatusServiceUnavailable, "too many events at once")
		return nil, false
	case <-r.Context().Done():
		return nil, false
	}
	// a ResponseWriter that knows no deadlines is a test's
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(eventTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		h.refuse(w, r, http.StatusRequestEntityTooLarge, "the body is too large")
	case err != nil:
		h.refuse(w, r, http.StatusBadRequest, "the body cannot be read: "+err.Error())
	case given == "" && !signed(secret, body):
		h.refuse(w, r, http.StatusForbidden, wrong)
	default:
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		return body, true
	}
	return nil, false
}

// take has the cluster looked at, once for each event.
func (h *hooks) take(w http.ResponseWriter, r *http.Request, body []byte, note func(cluster string)) {
	cluster := r.PathValue("cluster")
	key := sha256.Sum256(append([]byte(r.URL.Path+"\n"), body...))
	if !h.seen.Contains(key) {
		note(cluster) // before the look, which decides about it
		if !h.collector.wake(cluster) {
			h.collector.corrections.forget(cluster)
			h.refuse(w, r, http.StatusNotFound, "no cluster has the name "+cluster)
			return
		}
		h.seen.Add(key, struct{}{})
	}
	w.WriteHeader(http.StatusAccepted)
}

func (h *hooks) refuse(w http.ResponseWriter, r *http.Request, status int, reason string) {
	h.collector.log.Warn("refused an event", "from", r.RemoteAddr, "cluster", fmt.Sprintf("%.253s", r.PathValue("cluster")), "status", status, "reason", reason)
	http.Error(w, reason, status)
}

// Webhook takes the forge's webhooks, which are signed with the scheduler's secret. It
// wakes the sources that read the repository, and answers.
func (c *Collector) Webhook() http.Handler {
	refused := func(r *http.Request, status int, reason string) {
		c.log.Warn("refused a webhook", "from", r.RemoteAddr, "status", status, "reason", reason)
	}
	return forge.Webhooks(c.secret, refused, func(w http.ResponseWriter, r *http.Request, body []byte) {
		var event struct {
			Repository struct {
				CloneURL string `json:"clone_url"`
			} `json:"repository"`
		}
		if err := json.Unmarshal(body, &event); err != nil || event.Repository.CloneURL == "" {
			http.Error(w, "a webhook is JSON and has repository.clone_url", http.StatusBadRequest)
			return
		}
		kind := cmp.Or(r.Header.Get("X-Gitea-Event"), r.Header.Get("X-GitHub-Event"))
		switch {
		case kind == "push", kind == "create", kind == "delete":
			for _, p := range c.planes {
				p.hint(event.Repository.CloneURL)
				notify(p.source.wake)
			}
		case strings.HasPrefix(kind, "pull_request"), kind == "status":
			c.pulls.hint(event.Repository.CloneURL)
			notify(c.pulls.source.wake)
			if c.scheduler != nil {
				notify(c.scheduler.source.wake)
			}
		}
		w.WriteHeader(http.StatusAccepted)
	})
}
