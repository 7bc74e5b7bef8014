package engine

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// user types an answer when the lesson has said something.
type fakeUser struct {
	in      *io.PipeWriter
	mu      sync.Mutex
	said    strings.Builder
	answers []answer
}

type answer struct {
	after string // text of the lesson
	line  string
	do    func() // instead
}

func (p *fakeUser) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said.Write(b)
	if len(p.answers) > 0 && strings.Contains(string(b), p.answers[0].after) {
		a := p.answers[0]
		p.answers = p.answers[1:]
		go func() {
			if a.do != nil {
				a.do()
				return
			}
			_, _ = io.WriteString(p.in, a.line+"\n")
		}()
	}
	return len(b), nil
}

// soon ends a lesson that waits for what never comes.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// learn holds a lesson with answers, and returns what it said.
func learn(t *testing.T, f *fakeForge, file string, answers ...answer) (done bool, said string) {
	t.Helper()
	progress, err := scenarios.LoadProgress(file)
	if err != nil {
		t.Fatal(err)
	}
	in, out := io.Pipe()
	p := &fakeUser{in: out, answers: answers}
	done, err = Learn(soon(t), Lesson{Options: sectionOptions(f, sections), Progress: progress, In: in, Out: p})
	if err != nil {
		t.Fatalf("%v\n%s", err, p.said.String())
	}
	if len(p.answers) > 0 {
		t.Errorf("it never said %q:\n%s", p.answers[0].after, p.said.String())
	}
	return done, p.said.String()
}

func TestLearn(t *testing.T) {
	t.Parallel()
	f := forgeWithoutScheduler(t)
	file := filepath.Join(f.home, "scenarios", "progress.json")

	// a user looks for help, does the first step elsewhere, reads, and leaves
	done, said := learn(t, f, file,
		answer{after: "not yet: kalypso-control-plane has no file file.yaml", line: "hint"},
		answer{after: "Hint 1 of 2: Look here.", line: "what"},
		answer{after: `There is no "what"`, do: func() {
			f.control.Push("main", map[string]string{"file.yaml": "kind: A\nmetadata: {name: x}\n", "state.yaml": "name: x\n"})
		}},
		answer{after: "It is so.", line: ""},
		answer{after: "Step 3 of 4", line: "quit"},
	)
	if done || !strings.Contains(said, "[x] 2/4 See it") || !strings.Contains(said, "kalypso scenario learn script") {
		t.Errorf("done %v:\n%s", done, said)
	}

	// another day it goes on there; the last step is done for the user
	done, said = learn(t, f, file,
		answer{after: "Step 3 of 4", line: "skip"},
		answer{after: "[enter checks now · hint (1 left)", line: "solve"},
	)
	if !done || !strings.Contains(said, "script is done.") || strings.Contains(said, "Step 1 of 4") {
		t.Errorf("done %v:\n%s", done, said)
	}
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "[") && len([]rune(line)) > 81 {
			t.Errorf("wider than a terminal: %q", line)
		}
	}
	progress, err := scenarios.LoadProgress(file)
	if err != nil || progress.Of(scenarios.Parse("test", "script", []byte(sections))) != 3 {
		t.Errorf("%v, %+v", err, progress)
	}

	// on a new sandbox the steps that were done are to be done again
	_, said = learn(t, forgeWithoutScheduler(t), file, answer{after: "Step 1 of 4", line: "quit"})
	if !strings.Contains(said, "Step 1, Push a file, was done and is not any more") {
		t.Errorf("%s", said)
	}

	if err := scenarios.ForgetProgress(file); err != nil {
		t.Fatal(err)
	}
	if err := scenarios.ForgetProgress(file); err != nil {
		t.Errorf("once more: %v", err)
	}
}

// What there is to do is shown when it is asked for: at once, or after the hints.
// A wrong attempt is reported as a whole.
func TestLearnFindsOut(t *testing.T) {
	t.Parallel()
	f := forgeWithoutScheduler(t)
	wrong := func() {
		f.control.Push("main", map[string]string{"file.yaml": "kind: A\nmetadata: {name: z, more: 1}\n"})
	}
	_, said := learn(t, f, "",
		answer{after: "[enter checks now · hint (2 left)", do: wrong},
		answer{after: "not yet: file.yaml on main of kalypso-control-plane is not as it should be:\n", line: "hint"},
		answer{after: "hint (1 left)", line: "hint"},
		answer{after: "[enter checks now · show what to do", line: "hint"},
		answer{after: "There are no more hints.", line: "show"},
		answer{after: "Write kalypso-control-plane/state.yaml:", line: "quit"},
	)
	task, rest, _ := strings.Cut(said, "hint (2 left)")
	for _, want := range []string{"Why it is done.", "To reach:", "/kalypso-control-plane/src/branch/main/file.yaml", "kalypso credentials"} {
		if !strings.Contains(task, want) {
			t.Errorf("the step does not say %q:\n%s", want, task)
		}
	}
	if strings.Contains(task, "To do") || strings.Contains(task, "metadata: {name: x}") {
		t.Errorf("the step says at once what to do:\n%s", task)
	}
	for _, want := range []string{"A z: not wanted", "A x: missing", "To do:", "metadata: {name: x}", "git -C kalypso-control-plane push"} {
		if !strings.Contains(rest, want) {
			t.Errorf("it never says %q:\n%s", want, rest)
		}
	}
}

// What is so before the user has done anything is no goal.
func TestLearnShowsWhatIsSo(t *testing.T) {
	t.Parallel()
	f := forgeWithoutScheduler(t)
	f.control.Push("main", map[string]string{"before.yaml": "kind: B\n"})
	const text = `# Two

step Do it
solve
clone kalypso-control-plane main
write after.yaml kalypso-control-plane/after.yaml
push kalypso-control-plane 'Do it'
check
repo same-yaml kalypso-control-plane main before.yaml before.yaml
repo same-yaml kalypso-control-plane main after.yaml after.yaml

-- before.yaml --
kind: B
-- after.yaml --
kind: A
`
	task := func() string {
		in, out := io.Pipe()
		p := &fakeUser{in: out, answers: []answer{{after: "enter checks now", line: "quit"}}}
		if _, err := Learn(soon(t), Lesson{
			Options: sectionOptions(f, text), Progress: &scenarios.Progress{Done: map[string][]string{}}, In: in, Out: p,
		}); err != nil {
			t.Fatal(err)
		}
		return p.said.String()
	}
	so, goals, found := strings.Cut(task(), "To reach:")
	if _, listed, _ := strings.Cut(so, "So already:"); !found || !strings.Contains(listed, "main/before.yaml") || strings.Contains(listed, "after.yaml") {
		t.Errorf("so already:\n%s", so)
	}
	if !strings.Contains(goals, "main/after.yaml") || strings.Contains(goals, "before.yaml") {
		t.Errorf("to reach:\n%s", goals)
	}
	f.control.Push("main", map[string]string{"after.yaml": "kind: A\n"})
	if said := task(); strings.Contains(said, "To reach:") || !strings.Contains(said, "main/after.yaml") || !strings.Contains(said, "[x] 1/1") {
		t.Errorf("all is so:\n%s", said)
	}
}

// The end of the input is like leaving.
func TestLearnWithoutAnybody(t *testing.T) {
	t.Parallel()
	f := forgeWithoutScheduler(t)
	done, err := Learn(t.Context(), Lesson{
		Options: sectionOptions(f, sections), Progress: &scenarios.Progress{Done: map[string][]string{}}, In: strings.NewReader(""), Out: io.Discard,
	})
	if done || err != nil {
		t.Errorf("done %v, %v", done, err)
	}
}

// What has passed by keeps nobody waiting.
func TestLearnReportsWhatHasPassedBy(t *testing.T) {
	t.Parallel()
	f := forgeWithoutScheduler(t)
	f.control.Push("main", map[string]string{
		"file.yaml": "metadata: {name: x}\nkind: A\n", "state.yaml": "kind: A\nmetadata: {name: y}\n",
	})
	done, said := learn(t, f, "",
		answer{after: "It has passed by", line: ""},
		answer{after: "Step 3 of 4", line: "skip"},
	)
	if !done || !strings.Contains(said, "[x] 2/4 See it") {
		t.Errorf("done %v:\n%s", done, said)
	}
}

// A step that waits for a pull request can be skipped before that is there.
func TestLearnSkipsAWait(t *testing.T) {
	t.Parallel()
	f := forgeWithoutScheduler(t)
	const text = `# Skip

step Wait
look
pr wait kalypso-platform-gitops dev 30s x

step Read
look
pr show x
stdout ^1$

step Merge
solve
pr merge
check
pr merged
`
	in, out := io.Pipe()
	p := &fakeUser{in: out, answers: []answer{
		{after: "there is none", line: "skip"},
		{after: "not yet: pull request to dev of kalypso-platform-gitops: there is none", do: func() {
			f.open(map[string]string{"x": "1\n"})
		}},
		{after: "It is so.", line: ""},
		{after: "Step 3 of 3", line: "solve"},
	}}
	done, err := Learn(soon(t), Lesson{
		Options: sectionOptions(f, text), Progress: &scenarios.Progress{Done: map[string][]string{}}, In: in, Out: p,
	})
	if !done || err != nil || len(p.answers) > 0 {
		t.Errorf("done %v, %v:\n%s", done, err, p.said.String())
	}
}
