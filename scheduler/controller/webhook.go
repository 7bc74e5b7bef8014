package controller

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// Webhook returns the handler that a forge's webhooks go to. It checks the
// signature, wakes the environments that the event concerns, of whichever control
// plane, and answers; the runs come after the answer. A scheduler that stands by
// refuses it: a Service sends webhooks only to the one that leads, which polls
// for what went to another.
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
		for _, c := range s.controllers {
			if _, ok := c.standsBy(); ok {
				s.metrics.webhook("lost")
				http.Error(rw, "this scheduler stands by: the one that leads finds the event by polling", http.StatusServiceUnavailable)
				return
			}
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
	return cmp.Or(r.Header.Get("X-Gitea-"+name), r.Header.Get("X-GitHub-"+name))
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
	case delivery != "" && s.repeated(delivery):
		outcome = "repeated"
	case ok:
		for _, c := range s.controllers {
			woken += c.deliver(ev)
		}
		if woken > 0 {
			outcome = "taken"
		}
	}
	s.metrics.webhook(outcome)
	s.log.Debug("webhook", "event", kind, "repo", ev.repo, "branch", ev.branch, "delivery", delivery, "woken", woken, "outcome", outcome)
	rw.WriteHeader(http.StatusAccepted)
}

// repeated reports whether a delivery has come before.
func (s *Server) repeated(delivery string) bool {
	known, _ := s.deliveries.ContainsOrAdd(delivery, struct{}{})
	return known
}

// event is the part of a webhook that matters here.
type event struct {
	repo   string // clone URL
	branch string // that was pushed, made or removed; of a pull request, its base
	kind   eventKind
}

type eventKind string

const (
	branchEvent eventKind = "branch"
	pullEvent   eventKind = "pull request"
	issueEvent  eventKind = "issue"
)

// parseEvent reads a webhook's body. It returns false for kinds of events that
// concern nobody. Gitea's and GitHub's payloads agree in what is read here.
func parseEvent(kind string, body []byte) (event, bool, error) {
	var payload struct {
		Ref        string `json:"ref"`
		RefType    string `json:"ref_type"`
		Repository struct {
			CloneURL string `json:"clone_url"`
		} `json:"repository"`
		PullRequest struct {
			Base struct {
				Ref string `json:"ref"`
			} `json:"base"`
		} `json:"pull_request"`
	}
	if err := json.Unmarshal(body, &payload); err != nil {
		return event{}, false, fmt.Errorf("%s event: %w", kind, err)
	}
	e := event{repo: payload.Repository.CloneURL}
	switch {
	case kind == "push":
		branch, ok := strings.CutPrefix(payload.Ref, "refs/heads/")
		e.kind, e.branch = branchEvent, branch
		return e, ok, nil
	case kind == "create", kind == "delete":
		e.kind, e.branch = branchEvent, strings.TrimPrefix(payload.Ref, "refs/heads/")
		return e, payload.RefType == "branch", nil
	case strings.HasPrefix(kind, "pull_request"):
		e.kind, e.branch = pullEvent, payload.PullRequest.Base.Ref
		return e, true, nil
	case kind == "issues":
		e.kind = issueEvent
		return e, true, nil
	}
	return event{}, false, nil
}

// concerns reports whether an environment has to be run because of an event. same
// compares clone URLs.
func (e *environment) concerns(ev event, same func(a, b string) bool) bool {
	switch ev.kind {
	case pullEvent:
		return same(e.gitOps.Repo, ev.repo) && e.gitOps.Branch == ev.branch
	case issueEvent:
		return same(e.gitOps.Repo, ev.repo)
	}
	if ev.branch == publish.Branch(e.name) && same(e.gitOps.Repo, ev.repo) {
		return false // the scheduler's own push
	}
	if concerns(e.ref, ev, same) {
		return true
	}
	read := []readSet{e.seen}
	if e.reader != nil {
		read = append(read, e.reader.read())
	}
	for _, seen := range read {
		for ref := range seen {
			if concerns(ref, ev, same) {
				return true
			}
		}
	}
	return false
}

// concerns reports whether a push can change what a reference reads. A commit by
// its ID was not there when it was looked for; any push may bring it.
func concerns(ref model.Reference, ev event, same func(a, b string) bool) bool {
	return (ref.Branch == ev.branch || ref.Branch == "" || ref.Commit != "") && same(ref.Repo, ev.repo)
}

// deliver wakes what an event concerns, and returns how much that is.
func (c *Controller) deliver(ev event) int {
	n := 0
	if ev.kind == branchEvent && concerns(c.options.ControlPlane, ev, c.sameRepo) {
		c.wake(discovery)
		n++
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := range c.all() {
		switch {
		case e.rollsOut(ev, c.sameRepo):
			c.wake(rolloutTask(e.name))
			n++
		case e.concerns(ev, c.sameRepo):
			c.wake(task(e.name))
			n++
		}
	}
	return n
}

// sameRepo reports whether two clone URLs name one repository.
func (c *Controller) sameRepo(a, b string) bool {
	x, okX := c.options.Forge.Repo(a)
	y, okY := c.options.Forge.Repo(b)
	if okX && okY {
		return strings.EqualFold(x, y)
	}
	trim := func(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "/"), ".git") }
	return okX == okY && a != "" && trim(a) == trim(b)
}
