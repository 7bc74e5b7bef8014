package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// hold says whether a plan that deletes most of what is there waits for a
// person.
type hold string

const (
	holdNone     hold = ""         // no mass deletion
	holdOpening  hold = "opening"  // as on, but the label may not be there yet
	holdOn       hold = "on"       // a draft, until a person takes the label off
	holdReleased hold = "released" // a person took the label off
)

// drafts tells whether the scheduler made the pull request a draft.
func (h hold) drafts() bool { return h == holdOpening || h == holdOn }

// fewRemovals is how many assignments a plan may remove without being held,
// whatever share of all they are.
const fewRemovals = 5

// holdOf decides about a plan by the open pull request, nil when there is
// none, and identifies what a hold is about. A release counts for the removals
// that the person saw: another plan that removes the very same assignments is
// not held again, and one that removes others is.
//
// Only a marker that says on makes a missing label a release. It is written
// when the label is known to be there, and says something else before the
// label is taken off, so that an interruption between the two releases
// nothing.
func holdOf(s summary, open *forge.PullRequest) (h hold, removals string) {
	if !s.massDelete() {
		return holdNone, ""
	}
	removals = pairsDigest(s.removed)
	if open == nil {
		return holdOn, removals
	}
	m := findMarker(open.Body, planMarker)
	if m.removals != removals {
		return holdOn, removals
	}
	if m.hold == holdReleased || m.hold == holdOn && !slices.Contains(open.Labels, forge.LabelMassDelete) {
		return holdReleased, removals
	}
	return holdOn, removals
}

// massDelete tells whether a plan removes more than half of all assignments
// that are there, and more than a few.
func (s summary) massDelete() bool {
	return len(s.removed) > fewRemovals && 2*len(s.removed) > s.existing
}

// Removals tells how many of the assignments that are there a plan removes, and
// whether its pull request will be held for a person because these are most of
// them. Files are those that the plan was made against.
func Removals(p *plan.Plan, files map[string][]byte) (removed, of int, held bool) {
	s := summarize(p, files, applied(files, p.Changes))
	return len(s.removed), s.existing, s.massDelete()
}

// pairsDigest identifies a sorted list of assignments.
func pairsDigest(list []pair) string {
	h := sha256.New()
	for _, p := range list {
		fmt.Fprintf(h, "%q %q\n", p.clusterType, p.target)
	}
	return hex.EncodeToString(h.Sum(nil))
}
