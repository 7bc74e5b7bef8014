package engine

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/workshop"
)

func TestEveryScenarioIsComplete(t *testing.T) {
	for _, workshop := range workshop.Builtin() {
		infos, err := tutorial(workshop).List()
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
			listed = append(listed, info.Name+".txtar")
			t.Run(path.Join(workshop, info.Name), func(t *testing.T) { checkScenario(t, info) })
		}
		files, err := fs.Glob(tutorial(workshop).Files, "*.txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !slices.Contains(listed, f) {
				t.Errorf("%s is missing in %s/workshop.yaml", f, workshop)
			}
		}
	}
}

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
		if s.Has(scenarios.Solve) && len(s.Hints) == 0 {
			t.Errorf("step %q has no hint", s.Title)
		}
	}
	text, err := tutorial(info.Workshop).Source(info.Name)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Examine(info.Workshop, info.Name, text) {
		t.Errorf("line %d: %s", f.Line, f.Message)
	}
}

// A text is found anywhere in what a command prints, so that the name of a
// state that is a part of another one's is no text to look for.
func TestComplianceCheckIsSpecific(t *testing.T) {
	for _, workshop := range []string{"hello-world", "basic-inference"} {
		all, err := tutorial(workshop).List()
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
	if _, err := Missing(t.Context(), Options{Library: tutorial("basic-inference")}, []string{"onboard-app", "onbord-app"}); !errors.As(err, &unknown) || unknown.Name != "onbord-app" {
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
		got, err := tutorial(path.Clean(workshop)).Needs(name)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s needs %v, %v, want %s", name, got, err, want)
		}
	}
}
