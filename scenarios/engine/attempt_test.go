package engine

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scenarios"
)

func newAttempt(t *testing.T, f *fakeForge, file, text string) *Attempt {
	t.Helper()
	progress, err := scenarios.LoadProgress(file)
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewAttempt(t.Context(), sectionOptions(f, text), progress)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func (a *Attempt) probeOf(t *testing.T, step int) Probe {
	t.Helper()
	g, err := a.Probe(t.Context(), step)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestAttemptBesideALesson: a page and a terminal go through a scenario by turns, and each
// has what the other has done.
func TestAttemptBesideALesson(t *testing.T) {
	t.Parallel()
	f := forgeWithoutScheduler(t)
	file := filepath.Join(f.home, "scenarios", "progress.json")
	page := newAttempt(t, f, file, sections)
	if g := page.probeOf(t, 0); g.State != NotYet || !strings.Contains(g.Reason, "has no file file.yaml") || g.Unmet != lineOf(sections, "repo same-yaml kalypso-control-plane main file.yaml") {
		t.Errorf("before anything is done: %+v", g)
	}
	solve := func(step int) func() {
		return func() {
			var said strings.Builder
			if err := page.Solve(t.Context(), step, func(e scenarios.Event) { said.WriteString(e.Command + "\n" + e.Output) }); err != nil {
				t.Errorf("step %d: %v", step, err)
			}
			if !strings.Contains(said.String(), "push kalypso-control-plane") {
				t.Errorf("what is done is not shown:\n%s", said.String())
			}
		}
	}
	done, said := learn(t, f, file,
		answer{after: "not yet: kalypso-control-plane has no file file.yaml", do: solve(0)},
		// what is only looked at is gone on from by the page
		answer{after: "It is so.", do: func() {
			if err := page.Acknowledge(1); err != nil {
				t.Error(err)
			}
		}},
		answer{after: "Step 3 of 4", line: ""},
		answer{after: "Step 4 of 4", do: solve(3)},
	)
	for _, want := range []string{"[x] 1/4 Push a file", "[x] 2/4 See it", "[x] 4/4 Change it"} {
		if !done || !strings.Contains(said, want) {
			t.Errorf("done %v, without %q:\n%s", done, want, said)
		}
	}
	for step, want := range []ProbeState{Holds, PassedBy, Holds, Holds} {
		if g := page.probeOf(t, step); g.State != want {
			t.Errorf("step %d: %+v", step, g)
		}
	}
	if n := page.progress.Of(page.Info); n != 4 {
		t.Errorf("%d steps are done: %v", n, page.progress.Done)
	}

	// somebody takes the file away: only what the check finds is not done any more
	f.control.Push("main", map[string]string{"file.yaml": ""})
	if g := page.probeOf(t, 0); g.State != NotYet {
		t.Errorf("%+v", g)
	}
	if page.has(0) || !page.has(3) {
		t.Errorf("%v", page.progress.Done)
	}
}

// TestAttemptThatCannotCheck: where the forge does not answer, nothing is known of a step,
// and one that was done stays done.
func TestAttemptThatCannotCheck(t *testing.T) {
	t.Parallel()
	f := forgeWithoutScheduler(t)
	file := filepath.Join(f.home, "scenarios", "progress.json")
	f.control.Push("main", map[string]string{"file.yaml": "kind: A\nmetadata: {name: x}\n"})
	if a := newAttempt(t, f, file, sections); !a.probeOf(t, 0).Done() || !a.has(0) {
		t.Fatal("the first step is not done")
	}
	f.URL = "http://127.0.0.1:1" // where nothing listens
	later := newAttempt(t, f, file, sections)
	if g := later.probeOf(t, 0); g.State != CannotCheck || g.Reason == "" || !later.has(0) {
		t.Errorf("%+v, %v", g, later.progress.Done)
	}
	_, said := learn(t, f, file, answer{after: "cannot be checked now", line: "quit"})
	if strings.Contains(said, "is not any more") {
		t.Errorf("%s", said)
	}
}

// TestStepViews are data for any renderer.
func TestStepViews(t *testing.T) {
	t.Parallel()
	f := forgeWithoutScheduler(t)
	a := newAttempt(t, f, "", sections)
	steps := a.Steps()
	if len(steps) != 4 || steps[0].Title != "Push a file" || steps[0].Hints != 2 || !steps[0].Solvable || steps[0].Reading || !steps[1].Reading || steps[1].Solvable {
		t.Fatalf("%+v", steps)
	}
	goal, link := false, false
	for _, b := range steps[0].Blocks {
		goal = goal || b.Kind == ItemBlock && b.Line == lineOf(sections, "repo same-yaml kalypso-control-plane main file.yaml")
		for _, s := range b.Spans {
			link = link || s.Code && strings.HasPrefix(s.URL, f.URL)
		}
	}
	if !goal || !link {
		t.Errorf("a goal with its line: %v, with a link: %v: %+v", goal, link, steps[0].Blocks)
	}
	var file, command string
	for _, b := range a.ToDo(0) {
		if b.File != "" && file == "" {
			file = b.File + " " + b.Path
		}
		if b.Kind == CommandBlock {
			command += b.Code + "\n"
		}
	}
	if file != "wanted.yaml kalypso-control-plane/file.yaml" || !strings.Contains(command, "git clone --branch main "+f.URL) || len(a.ToDo(1)) != 0 {
		t.Errorf("file %q, commands:\n%s", file, command)
	}
	if content, ok := a.File("wanted.yaml"); !ok || !strings.Contains(content, "name: x") {
		t.Errorf("%q", content)
	}
	if _, ok := a.File("nowhere.yaml"); ok {
		t.Error("there is a file that no step writes")
	}
	got := spans("Press *Run Workflow* on `http://x/y`, **now**: `a*b`.")
	want := []Span{{Text: "Press "}, {Text: "Run Workflow", Strong: true}, {Text: " on "}, {Text: "http://x/y", Code: true, URL: "http://x/y"},
		{Text: ", "}, {Text: "now", Strong: true}, {Text: ": "}, {Text: "a*b", Code: true}, {Text: "."}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, not %+v", got[i], want[i])
		}
	}
}

// lineOf is the number of the line that begins with a text.
func lineOf(text, begin string) int {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if strings.HasPrefix(line, begin) {
			return number
		}
	}
	return 0
}
