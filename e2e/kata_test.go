//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKata makes a workshop, a sandbox of it, and runs its scenario. A reset goes
// back to what the sandbox was made of, whatever has become of the folder.
func TestKata(t *testing.T) {
	m := newMachine(t)
	kata := filepath.Join(m.dir, "kata")
	m.run("workshop", "new", kata)
	m.tutorial = kata
	m.up()
	m.run("scenario", "run", "--all")
	if out := m.run("workshop", "list"); !strings.Contains(out.stdout, kata) {
		t.Errorf("the list has no %s:\n%s", kata, out.stdout)
	}

	scenario := filepath.Join(kata, "scenarios", "first-deployment.txtar")
	text, err := os.ReadFile(scenario)
	if err != nil {
		t.Fatal(err)
	}
	more := filepath.Join(kata, "scenarios", "more.txtar")
	if err := os.WriteFile(more, text, 0o644); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(kata, "workshop.yaml")
	before, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	after := strings.Replace(string(before), "order: [first-deployment]", "order: [first-deployment]\n  apart: [more]", 1)
	if err := os.WriteFile(settings, []byte(after), 0o644); err != nil || after == string(before) {
		t.Fatalf("no other scenarios, %v", err)
	}
	if out, err := m.try("up", "--workshop", kata); out.code != 2 || !strings.Contains(out.stderr, "kalypso reset --workshop") {
		t.Errorf("up of a folder that has changed: %v\n%s", err, out.all())
	}
	m.run("reset", "--yes", "--workshop", kata)
	m.run("up", "--workshop", kata)
	m.run("scenario", "run", "more")
	if err := os.RemoveAll(kata); err != nil {
		t.Fatal(err)
	}
	m.run("reset", "--yes")
	m.run("scenario", "run", "first-deployment")
	m.run("down", "--delete")
}
