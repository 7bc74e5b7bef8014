package publish

import (
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// hold says whether a plan that deletes most of what is there waits for a
// person.
type hold string

const (
	holdNone     hold = ""         // no mass deletion
	holdOn       hold = "on"       // a draft, until a person takes the label off
	holdReleased hold = "released" // a person took the label off
)

// fewRemovals is how many assignments a plan may remove without being held,
// whatever share of all they are.
const fewRemovals = 5

// holdOf decides about a plan by the open pull request, nil when there is
// none. A release counts for the plan that the person saw, not for the next.
func holdOf(p *plan.Plan, base map[string][]byte, digest string, open *forge.PullRequest) hold {
	if !massDelete(p, base) {
		return holdNone
	}
	if open == nil {
		return holdOn
	}
	m := findMarker(open.Body, planMarker)
	if m.sha256 != digest {
		return holdOn
	}
	if m.hold == holdReleased || m.hold == holdOn && !slices.Contains(open.Labels, forge.LabelMassDelete) {
		return holdReleased
	}
	return holdOn
}

// massDelete tells whether a plan removes more than half of all assignments
// that are there, and more than a few.
func massDelete(p *plan.Plan, base map[string][]byte) bool {
	before := pairs(p.GitOps.Path, base)
	after := pairs(p.GitOps.Path, applied(base, p.Changes))
	removed := 0
	for pair := range before {
		if !after[pair] {
			removed++
		}
	}
	return removed > fewRemovals && 2*removed > len(before)
}
