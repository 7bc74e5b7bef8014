package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	tests := []struct {
		name   string
		script string
		reason string // "" passes
	}{
		{"unknown", "climb tree", `unknown command "climb"`},
		{"usage", "clone", "usage: clone REPO BRANCH [DIR]"},
		{"usage of two words", "pr wait x", "usage: pr wait REPO BASE DURATION [KEY=VALUE...] [FILE...] | pr files FILE... | pr show PATH | pr says TEXT... | pr label NAME | pr promotes REPO COMMIT | pr open | pr merged | pr merge"},
		{"no second word", "pr", "usage: pr wait"},
		{"negated action", "! write a b", "write cannot be negated: it does something"},
		{"repeated action", "eventually 1s push x y", "push cannot be tried again and again"},
		{"repeated unknown", "eventually 1s climb tree", `there is no word "climb"`},
		{"no duration", "eventually soon kubectl get ns", `"soon" is not a duration`},
		{"no pull request", "pr show x", "no pull request has been waited for yet"},
		{"missing repository", "clone nothing main", "not found"},
		{"missing branch", "clone kalypso-control-plane nothing", "Remote branch nothing not found"},
		{"testscript's own words", "exec echo hello\nstdout hello\ncp stdout x\ngrep hello x\n! grep bye x", ""},
		{"the person's settings of git stay out", "exec git config --list\n! stdout insteadof", ""},
		{"kubectl", "kubectl get ns\nstdout NAME", ""},
		{"kubectl fails", "kubectl get ns nothing", `namespaces "nothing" not found`},
		{"kubectl must fail", "! kubectl get ns nothing", ""},
		{"kubectl must fail and does not", "! kubectl get ns", "this holds, and should not: kubectl get ns"},
		{"kubectl cannot tell", "env KUBECONFIG=x\n! kubectl get --filename none", "kubectl: exit status 1"},
		{"same", "same-yaml a.yaml b.yaml", ""},
		{"not same", "same-yaml a.yaml c.yaml", "a.yaml is not as it should be:\n  A x: data.n is 1 instead of \"1\""},
		{"must not be same", "! same-yaml a.yaml c.yaml", ""},
		{"must not be same and is", "! same-yaml a.yaml b.yaml", "this holds, and should not"},
		{"cannot compare", "! same-yaml a.yaml broken.yaml", "broken.yaml: yaml: "},
		{"no file", "! same-yaml a.yaml nothing.yaml", "there is no file nothing.yaml"},
		{"same as output", "exec cat a.yaml\nsame-yaml stdout b.yaml", ""},
		{"address", "grep ${ORG_URL@R}/repo c.yaml\n! grep YOUR_ORG c.yaml", ""},
		{"eventually tells the last reason", "eventually 200ms kubectl get ns nothing", `not within 200ms: Error from server (NotFound): namespaces "nothing" not found`},
		{"eventually not", "eventually 200ms ! kubectl get ns", "not within 200ms: this holds, and should not"},
		{"eventually negated", "eventually 200ms ! kubectl get ns nothing", ""},
		{"nothing to measure", "measure x since merge", ""},
		{"wrong event", "measure x since yesterday", "usage: measure NAME since push|merge"},
		{"one file twice", "write a.yaml deep/er/a.yaml\nwrite a.yaml deep/er/b.yaml\ncmp deep/er/a.yaml deep/er/b.yaml", ""},
		{"nothing to push", "clone kalypso-control-plane main x\nexec git -C x rev-parse HEAD\ncp stdout head\npush x y\ngrep ^$COMMIT$ head", ""},
	}
	const head = "# A test\n#\n# Persona: nobody\n\nstep Try\n# A remark.\n"
	const files = `
-- a.yaml --
kind: A
metadata: {name: x}
data: {n: 1, list: [1, {a: b}]}
---
kind: B
metadata: {name: x}
-- b.yaml --
# in another order
kind: B
metadata: {name: x}
---
kind: A
data: {list: [1, {a: b}], n: 1}
metadata: {name: x}
-- c.yaml --
kind: A
metadata: {name: x}
data: {n: "1", list: [1, {a: b}]} # https://github.com/YOUR_ORG/repo
---
kind: B
metadata: {name: x}
-- broken.yaml --
a: [
`
	f := newFakeWorld(t)
	settings := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(settings, []byte("[url \"http://127.0.0.1:1/\"]\n\tinsteadOf = http\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", settings)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := runText(t, f.world(), head+test.script+"\n"+files)
			switch {
			case test.reason == "" && err != nil:
				t.Errorf("fails: %s\n%s", err.Reason, r.Steps[0].Output)
			case test.reason != "" && err == nil:
				t.Errorf("passes")
			case test.reason != "" && !strings.Contains(err.Reason, test.reason):
				t.Errorf("the reason is %q, want %q in it", err.Reason, test.reason)
			}
		})
	}
}

// The token is in no file that is left behind and in nothing that is printed.
func TestTokenStaysSecret(t *testing.T) {
	f := onboardWorld(t)
	r, err := Run(t.Context(), Options{Workshop: "basic-inference", Name: "onboard-app", World: f.world(), Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(r.WorkDir) })
	err = filepath.WalkDir(r.WorkDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), testToken) {
			t.Errorf("the token is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	bad, check := runText(t, f.world(), "# x\n\nstep Leak\nexec echo "+testToken+"\nexec false\n")
	if check == nil || strings.Contains(bad.Steps[0].Output, testToken) || !strings.Contains(bad.Steps[0].Output, "***") {
		t.Errorf("output %q", bad.Steps[0].Output)
	}
}

func TestOutputOfAFailedStep(t *testing.T) {
	f := newFakeWorld(t)
	r, err := runText(t, f.world(), `# x

step First
# Nothing to see.
exec echo before

step Second
# This one fails.
exec echo hello
# After this.
exec false
exec echo never

step Third
`)
	if err == nil {
		t.Fatal("passes")
	}
	want := `> exec echo hello
[stdout]
hello
> exec false
[exit status 1]
FAIL: script.txtar:11: unexpected command failure`
	if r.Steps[1].Output != want {
		t.Errorf("output:\n%s\nwant:\n%s", r.Steps[1].Output, want)
	}
	if r.Steps[0].Output != "" || r.Steps[2].State != Skipped {
		t.Errorf("steps %+v", r.Steps)
	}
	if got := err.Error(); got != "scenario script: Second: unexpected command failure" {
		t.Errorf("error %q", got)
	}
}

// A text that is missed is missed in what was shown, with or without an end of
// line there.
func TestReasonNamesTheFile(t *testing.T) {
	f := quietWorld(t)
	f.seed(controlPlane, "main", map[string]string{"lines.yaml": "name: x\n", "line.yaml": "abc"})
	for _, file := range []string{"lines.yaml", "line.yaml"} {
		_, err := runText(t, f.world(), "# x\n\nstep Look\nlook\nrepo show kalypso-control-plane main "+file+"\nstdout ^zzz$\n")
		want := "no match for `^zzz$` found in " + file + " on main of kalypso-control-plane"
		if err == nil || !strings.HasPrefix(err.Reason, want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// what another program has printed is not that file
	_, err := runText(t, f.world(), "# x\n\nstep Look\nrepo show kalypso-control-plane main lines.yaml\nexec echo hello\nstdout ^zzz$\n")
	if err == nil || strings.Contains(err.Reason, "lines.yaml") {
		t.Errorf("%v", err)
	}
}

func TestWaitTellsWhatItSees(t *testing.T) {
	f := newFakeWorld(t)
	f.open(f.seed(gitopsRepo, "kalypso/dev", map[string]string{"x": "y"})).closed = true
	began := time.Now()
	_, err := runText(t, f.world(), "# x\n\nstep Wait\npr wait kalypso-platform-gitops dev 300ms\n")
	if err == nil || !strings.Contains(err.Reason, "none is open; the latest, #1, is closed") {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("gave up after %s", took)
	}
}
