package publish

import (
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// decision is what to do about the pull request.
type decision struct {
	action Action
	have   *forge.PullRequest // the open one, nil when there is none
	pr     forge.PullRequest  // as it shall be; with conflicting, the one in the way
	lost   *model.Tree        // a commit of others on its branch, to be kept
	first  forge.PullRequest  // as it shall be before all is done, see propose
	held   bool               // it waits for a user
	// removals identifies what is held.
	removals string
	stale    bool // its branch is not known to be made on the plan's base
	bared    bool // it was held, and is no draft any more
	// of action Nothing:
	forget   bool // pr, which a user has closed, is to lose its digest
	leftover bool // the branch is that of a pull request that speaks of no plan
}

// conflicting is a decision's action where a user's pull request is in the
// way.
const conflicting Action = "conflicting"

// others is a decision's action where another control plane's pull request is.
const others Action = "others"

// decide compares a plan with the pull requests from its branch to its base,
// newest first. base are the files that the plan was made against, and after
// those with the plan's changes. kept is the branch for a commit of others that is
// on the branch, "" for none; source is what was planned.
func decide(p *plan.Plan, base, after map[string][]byte, list []forge.PullRequest, owner, kept, source string, words words) decision {
	open, last := own(list)
	digest := Digest(p.Changes)
	switch {
	case open != nil && isOthers(*open, owner):
		return decision{action: others, pr: *open}
	case len(p.Changes) == 0 && open != nil:
		closed := withdrawn(*open, p.Environment, owner)
		closed.State = forge.Closed
		return decision{action: Withdrawn, pr: closed}
	case len(p.Changes) == 0:
		return decideNothing(p, list, last, owner)
	case open == nil && last != nil && last.State == forge.Closed && !isOthers(*last, owner) && findMarker(last.Body, planMarker).sha256 == digest:
		return decision{action: LeftClosed, pr: *last}
	case open == nil && anyOpen(list) >= 0:
		return decision{action: conflicting, pr: list[anyOpen(list)]}
	}
	m := marker{kind: planMarker, sha256: digest, base: p.GitOpsHead, environment: p.Environment, owner: owner, kept: kept, source: source}
	return decidePull(p, summarize(p, base, after), m, open, words)
}

// decideNothing decides where nothing differs and the scheduler has no pull
// request open. One that a user has closed has been answered by what made
// the plan come to nothing, and keeps closed no plan that comes later; unless
// the plan is in doubt.
func decideNothing(p *plan.Plan, list []forge.PullRequest, last *forge.PullRequest, owner string) decision {
	d := decision{action: Nothing}
	if last == nil || last.State != forge.Closed || isOthers(*last, owner) || anyOpen(list) >= 0 || doubtful(p) {
		return d
	}
	if findMarker(last.Body, planMarker).sha256 != "" {
		d.forget, d.pr = true, withdrawn(*last, p.Environment, owner)
	}
	d.leftover = true
	return d
}

// decidePull makes the pull request of a plan that changes something. m is its
// marker, but for the hold. open is
// the scheduler's, nil when there is none. A draft that no hold explains was
// made one by a user, and stays one.
func decidePull(p *plan.Plan, s summary, m marker, open *forge.PullRequest, words words) decision {
	want := forge.PullRequest{Head: Branch(p.Environment), Base: p.GitOps.Branch, State: forge.Open}
	had := marker{}
	if open != nil {
		want.Number, want.URL, want.Author, want.Own = open.Number, open.URL, open.Author, open.Own
		had = findMarker(open.Body, planMarker)
	}
	m.hold, m.removals = holdOf(s, open)
	m.kept = addKept(had.kept, m.kept)
	if open != nil && had.sha256 == m.sha256 && had.base == m.base {
		m.source = had.source // a later commit that plans the same made nothing of it
	}
	held := m.hold == holdOn
	want.Title = title(p.Environment, s)
	want.Draft = held || open != nil && open.Draft && !had.hold.drafts()
	if held {
		want.Labels = append(want.Labels, forge.LabelMassDelete)
	}
	if s.promotion {
		want.Labels = append(want.Labels, forge.LabelPromoted)
	}
	text := words.body(p, s, m.hold, m.kept)
	want.Body = text + m.String()
	d := decision{action: Opened, have: open, pr: want, first: want, held: held, removals: m.removals, stale: had.base != m.base}
	if open == nil {
		if held {
			m.hold = holdOpening
			d.first.Body = text + m.String()
		}
		return d
	}
	d.action = Unchanged
	if differs(*open, want) {
		d.action = Updated
	}
	d.bared = had.hold.drafts() && !open.Draft
	m.base, m.source = had.base, had.source
	d.first.Body = text + m.String()
	return d
}

// withdrawn is a pull request whose marker speaks of no plan.
func withdrawn(pr forge.PullRequest, environment, owner string) forge.PullRequest {
	pr.Body = marker{kind: planMarker, environment: environment, owner: owner}.replaceIn(pr.Body)
	return pr
}

// isOthers reports whether a pull request is known to be another control plane's.
func isOthers(pr forge.PullRequest, owner string) bool {
	has := findMarker(pr.Body, planMarker).owner
	return owner != "" && has != "" && has != owner
}

// own returns the scheduler's open pull request and its newest, which may be
// the same.
func own(list []forge.PullRequest) (open, last *forge.PullRequest) {
	for i := range list {
		if !list[i].Own {
			continue
		}
		if last == nil {
			last = &list[i]
		}
		if open == nil && list[i].State == forge.Open {
			open = &list[i]
		}
	}
	return open, last
}

// anyOpen returns the index of an open pull request, whosever it is, or -1.
func anyOpen(list []forge.PullRequest) int {
	return slices.IndexFunc(list, func(pr forge.PullRequest) bool { return pr.State == forge.Open })
}

// differs reports whether a pull request has to be saved to be as wanted.
// Labels that are users' do not count.
func differs(have, want forge.PullRequest) bool {
	managed := func(labels []string) []string {
		var m []string
		for _, l := range forge.ManagedLabels() {
			if slices.Contains(labels, l) {
				m = append(m, l)
			}
		}
		return m
	}
	return have.Title != want.Title || !sameText(have.Body, want.Body) || have.Draft != want.Draft ||
		have.State != want.State || !slices.Equal(managed(have.Labels), managed(want.Labels))
}

// sameText compares texts as a browser's form may have returned them.
func sameText(a, b string) bool {
	norm := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return norm(a) == norm(b)
}
