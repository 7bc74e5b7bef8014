package controller

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// event is what a webhook tells, as far as it matters here.
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

// concerns tells whether an environment has to look because of an event. same
// compares clone URLs.
func (e *environment) concerns(ev event, same func(a, b string) bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
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
	read := []sightings{e.seen}
	if e.reader != nil {
		read = append(read, e.reader.sightings())
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

// concerns tells whether a push can change what a reference reads. A commit by
// its ID was not there when it was looked for; any push may bring it.
func concerns(ref model.Reference, ev event, same func(a, b string) bool) bool {
	return (ref.Branch == ev.branch || ref.Branch == "" || ref.Commit != "") && same(ref.Repo, ev.repo)
}

// deliver gives an event's news to those it concerns and returns how many
// these are.
func (c *Controller) deliver(ev event) int {
	n := 0
	if ev.kind == branchEvent && concerns(c.options.ControlPlane, ev, c.same) {
		c.wake.set()
		n++
	}
	for _, e := range c.followed() {
		if e.concerns(ev, c.same) {
			e.wake.set()
			n++
		}
	}
	return n
}

// same tells whether two clone URLs name one repository.
func (c *Controller) same(a, b string) bool {
	x, okX := c.options.Forge.Repo(a)
	y, okY := c.options.Forge.Repo(b)
	if okX && okY {
		return strings.EqualFold(x, y)
	}
	trim := func(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "/"), ".git") }
	return okX == okY && a != "" && trim(a) == trim(b)
}
