package engine

import (
	"testing"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// Nothing passes by before anybody can have done what comes after it: a machine
// that does a user's part is found out.
func TestNothingHasPassedByYet(t *testing.T) {
	f := forgeWithoutScheduler(t)
	f.OnPush = func(string) {
		f.control.Push("main", map[string]string{"state.yaml": "kind: A\nmetadata: {name: y}\n"})
	}
	r, err := Run(t.Context(), sectionOptions(f, sections))
	if err == nil || r.Steps[1].State != scenarios.Failed {
		t.Errorf("error %v, the step is %s", err, r.Steps[1].State)
	}
	if r, err = Run(t.Context(), sectionOptions(f, sections)); err != nil || r.Steps[1].Note != "has passed by" {
		t.Errorf("error %v, the note is %q where the run has done nothing", err, r.Steps[1].Note)
	}
}
