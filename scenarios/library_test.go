package scenarios

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

func TestEveryScenarioIsComplete(t *testing.T) {
	orders, err := fs.Glob(library, "*/order")
	if err != nil || len(orders) == 0 {
		t.Fatalf("no workshops: %v", err)
	}
	for _, o := range orders {
		workshop := path.Dir(o)
		infos, err := List(workshop)
		if err != nil {
			t.Fatal(err)
		}
		var listed []string
		for _, info := range infos {
			listed = append(listed, path.Join(workshop, info.Name+".txtar"))
			t.Run(path.Join(workshop, info.Name), func(t *testing.T) { checkScenario(t, info) })
		}
		files, err := fs.Glob(library, workshop+"/*.txtar")
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

func checkScenario(t *testing.T, info Info) {
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
	text, err := Source(info.Workshop, info.Name)
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
		for _, w := range words() {
			if fields[0] == strings.Fields(w.name)[0] {
				if _, _, err := findWord(fields); err != nil {
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

// checkers are the words of testscript that change nothing but variables.
var checkers = []string{"stdout", "stderr", "grep", "cmp", "cmpenv", "exists", "env"}

// checkStep holds a step to its form: something to do and a check of it, or
// something to look at. A check does nothing.
func checkStep(t *testing.T, step StepInfo) {
	if step.has(solve) != step.has(check) {
		t.Errorf("step %q: solve and check go together", step.Title)
	}
	if step.has(look) == step.has(solve) {
		t.Errorf("step %q has either something to look at or something to do", step.Title)
	}
	if step.has(solve) && len(step.Hints) == 0 {
		t.Errorf("step %q has no hint", step.Title)
	}
	for _, l := range slices.Concat(step.sections[check], step.sections[look]) {
		args := splitLine(l.text)
		if args[0] == "!" {
			args = args[1:]
		}
		if slices.Contains(checkers, args[0]) {
			continue
		}
		w, _, err := findWord(args)
		if err != nil {
			t.Errorf("line %d: %v", l.number, err)
		} else if !w.onlyLooks(args) {
			t.Errorf("line %d: a check does nothing: %s", l.number, l.text)
		}
	}
}

func TestDescribe(t *testing.T) {
	info := describe("w", "n", []byte(`# The title
#
# Persona: platform team
# Follows: One; Two
#
# First line,
# second line.
#
# Another: paragraph.

step One thing
# Why it
# is done.
exec true

# Of its own.
step 'Another''s'
-- file --
step no
`))
	if info.Title != "The title" || info.Persona != "platform team" || info.Follows != "One; Two" {
		t.Errorf("%+v", info)
	}
	if want := "First line, second line.\n\nAnother: paragraph."; info.Explanation != want {
		t.Errorf("explanation %q", info.Explanation)
	}
	if len(info.Steps) != 2 || info.Steps[0].Title != "One thing" || !strings.HasPrefix(info.Steps[0].Explanation, "Why it is done.") {
		t.Errorf("steps %+v", info.Steps)
	}
}

func TestUnknown(t *testing.T) {
	var unknown *UnknownError
	if _, err := List("nothing"); !errors.As(err, &unknown) || unknown.Kind != "workshop" || !slices.Contains(unknown.Choice, "basic-inference") {
		t.Errorf("error %v", err)
	}
	if _, err := Source("basic-inference", "../nothing"); !errors.As(err, &unknown) || unknown.Kind != "scenario" {
		t.Errorf("error %v", err)
	}
	if _, err := Source("../basic-inference", "onboard-app"); !errors.As(err, &unknown) {
		t.Errorf("error %v", err)
	}
	if _, err := Missing(t.Context(), Options{Workshop: "basic-inference"}, []string{"onboard-app", "onbord-app"}); !errors.As(err, &unknown) || unknown.Kind != "scenario" {
		t.Errorf("error %v", err)
	}
}
