//go:build e2e

package e2e

import (
	"os"
	"testing"
)

// TestSmoke is the part of the end-to-end tests that is quick enough for every
// change: both workshops come up, their first chapter passes, and down --delete
// leaves nothing.
func TestSmoke(t *testing.T) {
	for _, workshop := range []struct{ name, chapter string }{
		{"hello-world", "onboard-app"},
		{"basic-inference", "onboard-app"},
	} {
		t.Run(workshop.name, func(t *testing.T) {
			m := newMachine(t)
			m.tutorial = workshop.name
			t.Logf("up: %.2f s", m.up().took.Seconds())
			if s := m.status(); !s.Ready {
				t.Errorf("not ready: %+v", s)
			}
			out, err := m.try("scenario", "run", workshop.chapter)
			if err != nil {
				t.Fatalf("%v\n%s", err, out.all())
			}
			m.run("down", "--delete")
			if _, err := os.Stat(m.home); err == nil {
				t.Errorf("%s is left", m.home)
			}
			if left := m.processes(); len(left) > 0 {
				t.Errorf("left running: %s", describe(left))
			}
		})
	}
}
