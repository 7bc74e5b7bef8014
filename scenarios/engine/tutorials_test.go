package engine

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/rogpeppe/go-internal/txtar"
)

func TestEveryScenarioIsComplete(t *testing.T) {
	orders, err := fs.Glob(scenarios.Tutorials.Files, "*/order")
	if err != nil || len(orders) == 0 {
		t.Fatalf("no workshops: %v", err)
	}
	for _, o := range orders {
		workshop := path.Dir(o)
		infos, err := scenarios.Tutorials.List(workshop)
		if err != nil {
			t.Fatal(err)
		}
		var listed []string
		for i, info := range infos {
			for _, need := range info.Needs {
				if !slices.ContainsFunc(infos[:i], func(earlier scenarios.Info) bool { return earlier.Name == need }) {
					t.Errorf("%s/%s needs %q, which does not come before it", workshop, info.Name, need)
				}
			}
			listed = append(listed, path.Join(workshop, info.Name+".txtar"))
			t.Run(path.Join(workshop, info.Name), func(t *testing.T) { checkScenario(t, info) })
		}
		files, err := fs.Glob(scenarios.Tutorials.Files, workshop+"/*.txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !slices.Contains(listed, f) {
				t.Errorf("%s is missing in %s", f, o)
			}
		}
	}
}

var quoted = regexp.MustCompile(`'[^']*'`)

func checkScenario(t *testing.T, info scenarios.Info) {
	if info.Title == "" || info.Follows == "" || info.Explanation == "" {
		t.Errorf("the head is not complete: %+v", info)
	}
	if info.Persona != "platform team" && info.Persona != "application team" {
		t.Errorf("persona %q", info.Persona)
	}
	if len(info.Steps) == 0 {
		t.Error("no steps")
	}
	for _, s := range info.Steps {
		if s.Explanation == "" {
			t.Errorf("step %q has no explanation", s.Title)
		}
		checkStep(t, s)
	}
	text, err := scenarios.Tutorials.Source(info.Workshop, info.Name)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(text)
	for line := range strings.Lines(string(archive.Comment)) {
		if !strings.HasPrefix(line, "#") && strings.Count(line, "'")%2 != 0 {
			t.Errorf("%s: a quote is open", strings.TrimSpace(line))
		}
		fields := strings.Fields(quoted.ReplaceAllString(line, "x"))
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		for _, w := range commands() {
			if fields[0] == strings.Fields(w.name)[0] {
				if _, _, err := findCommand(fields); err != nil {
					t.Errorf("%s: %v", strings.TrimSpace(line), err)
				}
			}
		}
	}
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".yaml") {
			if _, err := parseObjects(f.Name, f.Data); err != nil {
				t.Error(err)
			}
		}
		if !strings.Contains(string(archive.Comment), f.Name) {
			t.Errorf("the script does not use %s", f.Name)
		}
	}
}

// checkers are the commands of testscript that change nothing but variables.
var checkers = []string{"stdout", "stderr", "grep", "cmp", "cmpenv", "exists", "env"}

// checkStep holds a step to its form: something to do and a check of it, or
// something to look at. A check does nothing.
func checkStep(t *testing.T, step scenarios.StepInfo) {
	if step.Has(scenarios.Solve) != step.Has(scenarios.Check) {
		t.Errorf("step %q: solve and check go together", step.Title)
	}
	if step.Has(scenarios.Look) == step.Has(scenarios.Solve) {
		t.Errorf("step %q has either something to look at or something to do", step.Title)
	}
	if step.Has(scenarios.Solve) && len(step.Hints) == 0 {
		t.Errorf("step %q has no hint", step.Title)
	}
	for _, l := range slices.Concat(step.Sections[scenarios.Check], step.Sections[scenarios.Look]) {
		args := splitLine(l.Text)
		if args[0] == "!" {
			args = args[1:]
		}
		if slices.Contains(checkers, args[0]) {
			continue
		}
		w, _, err := findCommand(args)
		if err != nil {
			t.Errorf("line %d: %v", l.Number, err)
		} else if !w.isReadOnly(args) {
			t.Errorf("line %d: a check does nothing: %s", l.Number, l.Text)
		}
	}
}

// A text is found anywhere in what a command prints, so that the name of a
// state that is a part of another one's is no text to look for.
func TestComplianceCheckIsSpecific(t *testing.T) {
	for _, workshop := range []string{"hello-world", "basic-inference"} {
		all, err := scenarios.Tutorials.List(workshop)
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range all {
			for _, step := range info.Steps {
				for _, l := range slices.Concat(step.Sections[scenarios.Check], step.Sections[scenarios.Look]) {
					args := splitLine(l.Text)
					i := slices.Index(args, "says")
					if i >= 0 && strings.Contains(l.Text, "complianceState") && strings.HasPrefix(args[i+1], "Compliant") {
						t.Errorf("%s/%s.txtar:%d: %q is found in Non-Compliant, too: have the name printed before the state",
							workshop, info.Name, l.Number, args[i+1])
					}
				}
			}
		}
	}
}

func TestMissingOfUnknownScenario(t *testing.T) {
	var unknown *scenarios.UnknownError
	if _, err := Missing(t.Context(), Options{Workshop: "basic-inference"}, []string{"onboard-app", "onbord-app"}); !errors.As(err, &unknown) || unknown.Kind != "scenario" {
		t.Errorf("error %v", err)
	}
}

// An excursion is not what the next chapter builds on.
func TestNeeds(t *testing.T) {
	for name, want := range map[string]string{
		"hello-world/onboard-app": "", "hello-world/deploy-app": "onboard-app schedule-dev promote-to-stage",
		"hello-world/drift": "onboard-app schedule-dev", "basic-inference/request-config": "onboard-app deploy-app schedule-qa add-cluster",
	} {
		workshop, name := path.Split(name)
		got, err := scenarios.Tutorials.Needs(path.Clean(workshop), name)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s needs %v, %v, want %s", name, got, err, want)
		}
	}
}
