package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/scenarios"
)

// A scenario with all kinds of steps; what it does is in the control plane.
const sections = `# The title
#
# Persona: platform team
# Follows: Here
#
# Why all this.

step Push a file
# Why it is done.
hint Look here.
hint Do that.
solve
clone kalypso-control-plane main
write wanted.yaml kalypso-control-plane/file.yaml
write wanted.yaml kalypso-control-plane/state.yaml
push kalypso-control-plane 'Push a file'
check
repo same-yaml kalypso-control-plane main file.yaml wanted.yaml

step See it
# It is there, for now.
transient
look
repo show kalypso-control-plane main state.yaml
stdout 'name: x'

step Run it
# On real pods.
needs real-pods drone
look (holds before)
http get --context drone ns svc/page 80 / Hello

step Change it
# Once more.
hint Write y.
solve
clone kalypso-control-plane main
write changed.yaml kalypso-control-plane/state.yaml
push kalypso-control-plane 'Change the file'
check
repo same-yaml kalypso-control-plane main state.yaml changed.yaml

-- wanted.yaml --
kind: A
metadata: {name: x}
-- changed.yaml --
kind: A
metadata: {name: y}
`

func sectionsIn(text string) fstest.MapFS {
	return fstest.MapFS{"test/order": {Data: []byte("script\n")}, "test/script.txtar": {Data: []byte(text)}}
}

func sectionOptions(f *fakeForge, text string) Options {
	return Options{Name: "script", Access: f.access(), Library: library(sectionsIn(text))}
}

func TestVerifyChecks(t *testing.T) {
	verify := func(f *fakeForge, text string) (scenarios.Result, string) {
		o := sectionOptions(f, text)
		o.VerifyChecks = true
		r, err := Run(t.Context(), o)
		var check *scenarios.CheckError
		if errors.As(err, &check) {
			return r, check.Reason
		}
		return r, ""
	}
	f := forgeWithoutScheduler(t)
	r, reason := verify(f, sections)
	if reason != "" || !strings.HasPrefix(r.Steps[0].Note, "before: kalypso-control-plane has no file file.yaml") {
		t.Errorf("%s; note %q", reason, r.Steps[0].Note)
	}
	if _, reason = verify(f, sections); !strings.HasPrefix(reason, "the check passes before the step is done") {
		t.Errorf("on a access where it is done: %q", reason)
	}
	always := strings.Replace(sections, "check\nrepo same-yaml kalypso-control-plane main file.yaml wanted.yaml", "check\nexists wanted.yaml", 1)
	if _, reason = verify(forgeWithoutScheduler(t), always); !strings.HasPrefix(reason, "the check passes before the step is done") {
		t.Errorf("a check that always passes: %q", reason)
	}
	broken := strings.Replace(sections, "check\nrepo same-yaml kalypso-control-plane main file.yaml wanted.yaml", "check\nsame-yaml nothing wanted.yaml", 1)
	if _, reason = verify(forgeWithoutScheduler(t), broken); !strings.Contains(reason, "cannot even be made") {
		t.Errorf("a check that cannot be made: %q", reason)
	}
}

// What there is to look at after a action must not be so before it, unless the
// scenario says so.
func TestVerifyChecksLooks(t *testing.T) {
	const negative = `step See nothing of it
# It is not there yet.
look
repo show kalypso-control-plane main file.yaml
! stdout $COMMIT
`
	seed := map[string]string{"file.yaml": "kind: B\nmetadata: {name: b}\n", "state.yaml": "name: x\n"}
	marked := strings.Replace(negative, "look\n", "look (holds before)\n", 1)
	after := func(text string) string {
		return strings.Replace(sections, "step Run it", text+"\nstep Run it", 1)
	}
	next := "# Next\n\n" + strings.Replace(negative, "file.yaml\n! stdout $COMMIT", "state.yaml\nstdout 'name: y'", 1)
	for name, test := range map[string]struct {
		text, next string
		seed       map[string]string
		reason     string // "" passes
	}{
		"holds after":      {text: sections},
		"holds before":     {text: sections, seed: map[string]string{"state.yaml": "name: x\n"}, reason: `what is to be seen in "See it" of script is so before`},
		"unset variable":   {text: after(negative), seed: map[string]string{"file.yaml": seed["file.yaml"]}, reason: `"See nothing of it" of script is so before`},
		"marked":           {text: after(marked), seed: map[string]string{"file.yaml": seed["file.yaml"]}},
		"broken":           {text: after("step Look\n# It.\nlook\nsame-yaml nothing wanted.yaml\n"), reason: "cannot even be looked for: there is no file nothing"},
		"of the next":      {text: sections, next: next},
		"of the next, too": {text: sections, next: strings.Replace(next, "stdout 'name: y'", "! stdout 'name: z'", 1), reason: `"See nothing of it" of next is so before`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := forgeWithoutScheduler(t)
			if test.seed != nil {
				f.control.Push("main", test.seed)
			}
			o := sectionOptions(f, test.text)
			o.VerifyChecks = true
			if test.next != "" {
				o.Library = library(fstest.MapFS{"test/order": {Data: []byte("script\nnext\n")},
					"test/script.txtar": {Data: []byte(test.text)}, "test/next.txtar": {Data: []byte(test.next)}})
			}
			_, err := Run(t.Context(), o)
			if (err == nil) != (test.reason == "") || err != nil && !strings.Contains(err.Error(), test.reason) {
				t.Errorf("error %v, want %q", err, test.reason)
			}
		})
	}
}

func TestRunAgain(t *testing.T) {
	f := forgeWithoutScheduler(t)
	if _, err := Run(t.Context(), sectionOptions(f, sections)); err != nil {
		t.Fatal(err)
	}
	head := f.control.Git("rev-parse", "main")
	r, err := Run(t.Context(), sectionOptions(f, sections))
	if err != nil {
		t.Fatal(err)
	}
	if f.control.Git("rev-parse", "main") != head {
		t.Error("something was pushed again")
	}
	if !strings.Contains(r.Steps[0].Note, "done already") || r.Steps[1].Note != "has passed by" || r.Steps[3].Note != "done already" {
		t.Errorf("notes %q, %q, %q", r.Steps[0].Note, r.Steps[1].Note, r.Steps[3].Note)
	}
}

// A failure is no step that has passed by.
func TestTransientFails(t *testing.T) {
	f := forgeWithoutScheduler(t)
	r, err := Run(t.Context(), sectionOptions(f, strings.Replace(sections, "'name: x'", "'name: z'", 1)))
	if err == nil || r.Steps[1].State != scenarios.Failed {
		t.Errorf("error %v, %s", err, r.Steps[1].State)
	}
}

func TestSimulated(t *testing.T) {
	f := forgeWithoutScheduler(t)
	o := sectionOptions(f, sections)
	o.Access.Simulated = map[string]string{"drone": "no root"}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.State != scenarios.Simulated || r.Steps[2].State != scenarios.Simulated || r.Steps[2].Note != "pods on drone do not really run: no root" {
		t.Errorf("%s, step %+v", r.State, r.Steps[2])
	}
	if r.Steps[3].State != scenarios.Passed {
		t.Errorf("the step after is %s", r.Steps[3].State)
	}
	done, err := Check(t.Context(), o, []string{"script"})
	if err != nil || !done[0].Done || done[0].Steps[2].Done || !done[0].Steps[2].Simulated {
		t.Errorf("%v, %+v", err, done)
	}
}

func TestCheck(t *testing.T) {
	f := forgeWithoutScheduler(t)
	boxes := func() string {
		t.Helper()
		all, err := Check(t.Context(), sectionOptions(f, sections), []string{"script"})
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, box := range all[0].Steps {
			if box.Done {
				out += "x"
			} else {
				out += "-"
			}
		}
		return out
	}
	head := f.control.Git("show-ref")
	if got := boxes(); got != "----" {
		t.Errorf("at the beginning: %s", got)
	}
	if f.control.Git("show-ref") != head {
		t.Error("a check has changed something")
	}
	f.control.Push("main", map[string]string{
		"file.yaml": "# by hand\nmetadata: {name: x}\nkind: A\n", "state.yaml": "metadata: {name: x}\n",
	})
	if got := boxes(); got != "xxx-" {
		t.Errorf("after the first step: %s", got)
	}
	f.control.Push("main", map[string]string{"state.yaml": "kind: A\nmetadata: {name: z}\n"})
	all, err := Check(t.Context(), sectionOptions(f, sections), []string{"script"})
	if want := "state.yaml on main of kalypso-control-plane is not as it should be: A y: missing"; err != nil || all[0].Steps[3].Reason != want {
		t.Errorf("%v, the reason is %q, want %q", err, all[0].Steps[3].Reason, want)
	}
}

// What passes by counts as done when what comes after it in the tutorial is,
// whatever is asked for, and in whatever order.
func TestCheckInAnyOrder(t *testing.T) {
	f := forgeWithoutScheduler(t)
	files := sectionsIn(sections)
	files["test/order"].Data = []byte("script\nnext\n")
	files["test/next.txtar"] = &fstest.MapFile{Data: []byte(`# N
#
# Needs: script

step Z
solve
kubectl version
check
repo same-yaml kalypso-control-plane main state.yaml later.yaml

step M
transient
look
repo show kalypso-control-plane main state.yaml
stdout zzz

-- later.yaml --
kind: B
metadata: {name: y}
`)}
	o := Options{Access: f.access(), Library: library(files)}
	f.control.Push("main", map[string]string{"file.yaml": "metadata: {name: x}\nkind: A\n", "state.yaml": "metadata: {name: x}\n"})
	all, err := Check(t.Context(), o, []string{"next", "script"})
	if err != nil {
		t.Fatal(err)
	}
	if all[0].Name != "next" || all[0].Steps[1].Done {
		t.Errorf("what an earlier scenario has done lets a later one's pass by: %+v", all)
	}
	f.control.Push("main", map[string]string{"state.yaml": "metadata: {name: y}\nkind: B\n"})
	files["test/script.txtar"] = &fstest.MapFile{Data: []byte("# S\n\nstep M\ntransient\nlook\nrepo show kalypso-control-plane main state.yaml\nstdout 'name: x'\n")}
	if all, err = Check(t.Context(), o, []string{"script"}); err != nil {
		t.Fatal(err)
	}
	if box := all[0].Steps[0]; !box.Done || box.Reason != "has passed by" {
		t.Errorf("what comes after is done, and was not asked for: %+v", all)
	}
	// what stands apart says nothing about the others
	files["test/order"].Data = []byte("script\n")
	files["test/apart"] = &fstest.MapFile{Data: []byte("next\n")}
	o.Library = library(files)
	if all, err = Check(t.Context(), o, []string{"next", "script"}); err != nil {
		t.Fatal(err)
	}
	if !all[0].Steps[0].Done || all[1].Steps[0].Done {
		t.Errorf("what is done apart lets pass by: %+v", all)
	}
}

// What passes by has done so when an action that builds on it is done: neither
// what there is to look at says so, nor a scenario that does not build on it.
func TestWhatHasNotPassedBy(t *testing.T) {
	f := forgeWithoutScheduler(t)
	const transient = "step M\ntransient\nlook\nrepo show kalypso-control-plane main state.yaml\nstdout nothing\n"
	const action = "step A\nsolve\nkubectl version\ncheck\nrepo same-yaml kalypso-control-plane main %s wanted.yaml\n"
	const wanted = "\n-- wanted.yaml --\nkind: A\nmetadata: {name: x}\n"
	f.control.Push("main", map[string]string{"state.yaml": "kind: A\nmetadata: {name: x}\n"})
	done, undone := strings.ReplaceAll(action, "%s", "state.yaml"), strings.ReplaceAll(action, "%s", "none.yaml")
	for name, test := range map[string]struct {
		first, next string
		passed      bool
	}{
		"an action that builds on it":    {transient, "# N\n#\n# Needs: first\n\n" + done, true},
		"a look that builds on it":       {transient, "# N\n#\n# Needs: first\n\nstep L\nlook\nrepo show kalypso-control-plane main state.yaml\n", false},
		"an action that does not":        {transient, "# N\n\n" + done, false},
		"after an action that is undone": {undone + "\n" + transient, "# N\n#\n# Needs: first\n\n" + done, false},
		"a look after it":                {transient + "\nstep L\nlook\nrepo show kalypso-control-plane main state.yaml\n", "# N\n", false},
		"after a passing action":         {strings.Replace(undone, "solve", "transient\nsolve", 1) + "\nstep M\nlook\nrepo show kalypso-control-plane main state.yaml\n", "# N\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Access: f.access(), Library: library(fstest.MapFS{
				"test/order":       {Data: []byte("first\nnext\n")},
				"test/first.txtar": {Data: []byte("# F\n\n" + test.first + wanted)}, "test/next.txtar": {Data: []byte(test.next + wanted)},
			})}
			for _, names := range [][]string{{"first"}, {"first", "next"}} {
				all, err := Check(t.Context(), o, names)
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(all[0].Steps, func(box DoneStep) bool { return box.Title == "M" })
				if box := all[0].Steps[i]; box.Done != test.passed {
					t.Errorf("%v: %+v", names, all[0].Steps)
				}
			}
		})
	}
}

// What a scenario builds on is done, or is run before it: that counts for each of
// those that are named.
func TestMissing(t *testing.T) {
	f := forgeWithoutScheduler(t)
	o := Options{Access: f.access(), Library: library(fstest.MapFS{
		"test/order": {Data: []byte("script\nnext\nthird\n")}, "test/script.txtar": {Data: []byte(sections)},
		"test/next.txtar":  {Data: []byte("# N\n#\n# Needs: script\n\nstep Wait\nlook\nrepo show kalypso-control-plane main other.yaml\n")},
		"test/third.txtar": {Data: []byte("# T\n#\n# Needs: next\n")},
		"test/apart":       {Data: []byte("alone\n")},
		"test/alone.txtar": {Data: []byte("# A\n")},
	})}
	try := func(names []string, of, scenario, step string) {
		t.Helper()
		got, err := Missing(t.Context(), o, names)
		switch {
		case err != nil:
			t.Fatal(err)
		case of == "" && got == nil:
		case got == nil || got.Of != of || got.Scenario != scenario || !strings.HasPrefix(got.Step, step):
			t.Errorf("%v: %+v, want %s of %s for %s", names, got, step, scenario, of)
		}
	}
	try([]string{"script"}, "", "", "")
	try([]string{"next"}, "next", "script", "Push a file: ")
	try([]string{"script", "next", "third"}, "", "", "")
	try([]string{"next", "script"}, "next", "script", "Push a file: ")
	try([]string{"script", "third"}, "third", "next", "Wait: ")
	f.control.Push("main", map[string]string{"file.yaml": "metadata: {name: x}\nkind: A\n", "state.yaml": "name: x\n"})
	try([]string{"next"}, "next", "script", "Change it: ")
	f.control.Push("main", map[string]string{"state.yaml": "metadata: {name: y}\nkind: A\n"})
	try([]string{"next"}, "", "", "")
	try([]string{"alone"}, "", "", "")
	try([]string{"third"}, "third", "next", "Wait: ")
}

func TestDump(t *testing.T) {
	f := forgeWithoutScheduler(t)
	logs := filepath.Join(f.home, "logs")
	if err := os.Mkdir(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(logs, "scheduler.log"), []byte("planned\npassword: hunter22\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.home, "status"), []byte("all is well"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := sectionOptions(f, strings.Replace(sections, "'name: x'", "'name: z'", 1))
	o.Dumps = filepath.Join(f.home, "dumps")
	o.Access.Secrets = []string{"hunter22"}
	r, err := Run(t.Context(), o)
	if err == nil || r.DumpError != nil {
		t.Fatalf("%v, %v", err, r.DumpError)
	}
	for file, wants := range map[string][]string{
		"step.txt":           {"Step 2 of 4: See it", "stdout 'name: z'", "no match for `name: z`", "Push a file: passed"},
		"status.txt":         {"all is well"},
		"logs/scheduler.log": {"planned", "password: ***"},
		"forge.txt":          {"kalypso-control-plane", "Push a file"},
		"cluster-fake.txt":   {"$ kubectl --context fake"},
	} {
		b, err := os.ReadFile(filepath.Join(r.Dump, file))
		if err != nil {
			t.Error(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s lacks %q:\n%s", file, want, b)
			}
		}
		if strings.Contains(string(b), giteafake.Token) || strings.Contains(string(b), "hunter22") {
			t.Errorf("%s has a secret", file)
		}
	}
}

func TestInterruptedIsNotDumped(t *testing.T) {
	f := forgeWithoutScheduler(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := sectionOptions(f, sections)
	o.Dumps = filepath.Join(f.home, "dumps")
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(o.Dumps); err == nil {
		t.Error("there is a dump")
	}
}
