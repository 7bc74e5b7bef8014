package publish

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// decision is what is to be done about the pull request.
type decision struct {
	action   Action
	pr       forge.PullRequest  // as it shall be; Number 0 when it is to be opened
	save     bool               // an open pull request is not as it shall be
	held     bool               // it waits for a person
	conflict *forge.PullRequest // a person's, in the way
}

// decide compares a plan with the pull requests from its branch to its base,
// newest first. base are the files that the plan was made against. A draft
// that no hold explains was made one by a person, and stays one.
func decide(p *plan.Plan, base map[string][]byte, list []forge.PullRequest) decision {
	open, last := own(list)
	if len(p.Changes) == 0 {
		if open == nil {
			return decision{action: Nothing}
		}
		closed := *open
		closed.State = forge.Closed
		closed.Body = marker{kind: planMarker, environment: p.Environment}.replaceIn(closed.Body)
		return decision{action: Withdrawn, pr: closed}
	}
	digest := Digest(p.Changes)
	if open == nil {
		if last != nil && last.State == forge.Closed && findMarker(last.Body, planMarker).sha256 == digest {
			return decision{action: LeftClosed, pr: *last}
		}
		if i := slices.IndexFunc(list, func(pr forge.PullRequest) bool { return pr.State == forge.Open }); i >= 0 {
			return decision{conflict: &list[i]}
		}
	}
	want := forge.PullRequest{Head: Branch(p.Environment), Base: p.GitOps.Branch, State: forge.Open}
	if open != nil {
		want.Number, want.URL, want.Author, want.Own = open.Number, open.URL, open.Author, open.Own
	}
	hold := holdOf(p, base, digest, open)
	s := summarize(p, base)
	want.Title = title(p.Environment, s)
	want.Draft = hold == holdOn || open != nil && open.Draft && findMarker(open.Body, planMarker).hold != holdOn
	if hold == holdOn {
		want.Labels = append(want.Labels, forge.LabelMassDelete)
	}
	if s.promotion {
		want.Labels = append(want.Labels, forge.LabelPromoted)
	}
	want.Body = body(p, s, hold) + marker{kind: planMarker, sha256: digest, environment: p.Environment, hold: hold}.String()
	d := decision{action: Opened, pr: want, held: hold == holdOn}
	if open != nil {
		d.save = differs(*open, want)
		d.action = Unchanged
		if d.save {
			d.action = Updated
		}
	}
	return d
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

// differs tells whether a pull request has to be saved to be as wanted.
// Labels that are people's do not count.
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

// Digest identifies a set of changes: two plans with the same digest do the
// same to the files.
func Digest(changes []plan.Change) string {
	sorted := slices.SortedFunc(slices.Values(changes), func(a, b plan.Change) int { return strings.Compare(a.Path, b.Path) })
	h := sha256.New()
	for _, c := range sorted {
		fmt.Fprintf(h, "%s %q %d\n", c.Action, c.Path, len(c.Content))
		h.Write(c.Content)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// applied returns files with changes made.
func applied(files map[string][]byte, changes []plan.Change) map[string][]byte {
	after := maps.Clone(files)
	if after == nil {
		after = map[string][]byte{}
	}
	for _, c := range changes {
		if c.Action == plan.Remove {
			delete(after, c.Path)
		} else {
			after[c.Path] = c.Content
		}
	}
	return after
}

// fileContent is a change's content as a commit wants it: nil only for a
// removal, so that an empty file stays one.
func fileContent(c plan.Change) []byte {
	switch {
	case c.Action == plan.Remove:
		return nil
	case c.Content == nil:
		return []byte{}
	}
	return c.Content
}

func sameFiles(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, bytes.Equal)
}
