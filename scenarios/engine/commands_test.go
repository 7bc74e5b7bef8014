package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scenarios"
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
		{"negated action", "! write a b", "write cannot be negated: it changes something"},
		{"repeated action", "eventually 1s push x y", "push cannot be tried again and again"},
		{"repeated unknown", "eventually 1s climb tree", `there is no command "climb"`},
		{"no duration", "eventually soon kubectl get ns", `"soon" is not a duration`},
		{"no pull request", "pr show x", "no pull request has been waited for yet"},
		{"missing repository", "clone nothing main", "not found"},
		{"missing branch", "clone kalypso-control-plane nothing", "Remote branch nothing not found"},
		{"testscript's own words", "exec echo hello\nstdout hello\ncp stdout x\ngrep hello x\n! grep bye x", ""},
		{"the user's settings of git stay out", "exec git config --list\n! stdout insteadof", ""},
		{"kubectl", "kubectl get ns\nstdout NAME", ""},
		{"kubectl fails", "kubectl get ns nothing", `namespaces "nothing" not found`},
		{"kubectl must fail", "! kubectl get ns nothing", ""},
		{"kubectl must fail and does not", "! kubectl get ns", "this holds, and should not: kubectl get ns"},
		{"kubectl cannot find out", "env KUBECONFIG=x\n! kubectl get --filename none", "kubectl: exit status 1"},
		{"same", "same-yaml a.yaml b.yaml", ""},
		{"not same", "same-yaml a.yaml c.yaml", "a.yaml is not as it should be:\n  A x: data.n is 1 instead of \"1\""},
		{"must not be same", "! same-yaml a.yaml c.yaml", ""},
		{"must not be same and is", "! same-yaml a.yaml b.yaml", "this holds, and should not"},
		{"cannot compare", "! same-yaml a.yaml broken.yaml", "broken.yaml: yaml: "},
		{"no file", "! same-yaml a.yaml nothing.yaml", "there is no file nothing.yaml"},
		{"same as output", "exec cat a.yaml\nsame-yaml stdout b.yaml", ""},
		{"address", "grep ${ORG_URL@R}/repo c.yaml\n! grep YOUR_ORG c.yaml", ""},
		{"eventually reports the last reason", "eventually 200ms kubectl get ns nothing", `not within 200ms: Error from server (NotFound): namespaces "nothing" not found`},
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
	f := newFakeForge(t)
	settings := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(settings, []byte("[url \"http://127.0.0.1:1/\"]\n\tinsteadOf = http\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", settings)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := runText(t, f.access(), head+test.script+"\n"+files)
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
	f := onboardForge(t)
	r, err := Run(t.Context(), Options{Library: tutorial("basic-inference"), Name: "onboard-app", Access: f.access(), Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(r.WorkDir) })
	err = filepath.WalkDir(r.WorkDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), giteafake.Token) {
			t.Errorf("the token is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	bad, check := runText(t, f.access(), "# x\n\nstep Leak\nexec echo "+giteafake.Token+"\nexec false\n")
	if check == nil || strings.Contains(bad.Steps[0].Output, giteafake.Token) || !strings.Contains(bad.Steps[0].Output, "***") {
		t.Errorf("output %q", bad.Steps[0].Output)
	}
}

func TestOutputOfAFailedStep(t *testing.T) {
	f := newFakeForge(t)
	r, err := runText(t, f.access(), `# x

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
	if r.Steps[0].Output != "" || r.Steps[2].State != scenarios.Skipped {
		t.Errorf("steps %+v", r.Steps)
	}
	if got := err.Error(); got != "scenario script: Second: unexpected command failure" {
		t.Errorf("error %q", got)
	}
}

// A text that is missed is missed in what was shown, with or without an end of
// line there.
func TestReasonNamesTheFile(t *testing.T) {
	f := forgeWithoutScheduler(t)
	f.control.Push("main", map[string]string{"lines.yaml": "name: x\n", "line.yaml": "abc"})
	for _, file := range []string{"lines.yaml", "line.yaml"} {
		_, err := runText(t, f.access(), "# x\n\nstep Look\nlook\nrepo show kalypso-control-plane main "+file+"\nstdout ^zzz$\n")
		want := "no match for `^zzz$` found in " + file + " on main of kalypso-control-plane"
		if err == nil || !strings.HasPrefix(err.Reason, want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// what another program has printed is not that file
	_, err := runText(t, f.access(), "# x\n\nstep Look\nrepo show kalypso-control-plane main lines.yaml\nexec echo hello\nstdout ^zzz$\n")
	if err == nil || strings.Contains(err.Reason, "lines.yaml") {
		t.Errorf("%v", err)
	}
}

func TestWaitReportsWhatItFound(t *testing.T) {
	f := newFakeForge(t)
	f.open(map[string]string{"x": "y"}).State = gitea.StateClosed
	began := time.Now()
	_, err := runText(t, f.access(), "# x\n\nstep Wait\npr wait kalypso-platform-gitops dev 300ms\n")
	if err == nil || !strings.Contains(err.Reason, "none is open; the latest, #1, is closed") {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("gave up after %s", took)
	}
}

// The words about issues, statuses, workflows, repositories and pages, each
// when things are so and when they are not.
func TestMoreWords(t *testing.T) {
	f := newFakeForge(t)
	commit := f.control.Push("main", map[string]string{
		"a.yaml": "kind: A\nmetadata: {name: x}\n",
		"b.txt":  "one\ntwo\nthree\n",
	})
	f.control.Issues = []*gitea.Issue{
		{Index: 1, Title: "Broken", Body: "- inference_url is required", State: gitea.StateOpen},
		{Index: 2, Title: "Mended", State: gitea.StateClosed},
		{Index: 3, Title: "Twice", State: gitea.StateOpen}, {Index: 4, Title: "Twice", State: gitea.StateOpen},
	}
	f.control.Statuses[commit] = []*gitea.Status{
		{ID: 3, Context: "stage environment", State: gitea.StatusSuccess, Description: "Deployed"},
		{ID: 2, Context: "dev environment", State: gitea.StatusPending, Description: "Deployed"},
		{ID: 1, Context: "dev environment", State: gitea.StatusPending, Description: "Promoted"},
	}
	f.control.AddRun("good.yaml", commit, "completed", "success")
	f.control.AddRun("slow.yaml", commit, "in_progress", "")
	f.control.AddRun("again.yaml", commit, "completed", "failure")
	f.control.AddRun("bad.yaml", commit, "completed", "failure").Log = "step one\nno space left\n"
	tests := []struct {
		name, script string
		reason       string // "" passes
	}{
		{"same file", "repo same-yaml kalypso-control-plane main a.yaml a\nexec test $COMMIT = " + commit, ""},
		{"another file", "repo same-yaml kalypso-control-plane main a.yaml b", "A y: missing"},
		{"no such file", "repo same-yaml kalypso-control-plane main c.yaml a", "kalypso-control-plane has no file c.yaml at main"},
		{"lines", "repo has-text kalypso-control-plane main b.txt lines\nexec test $COMMIT = " + commit, ""},
		{"no such lines", "repo has-text kalypso-control-plane main b.txt a", "b.txt on main of kalypso-control-plane does not have the lines:"},
		{"show", "repo show kalypso-control-plane main b.txt\nstdout two", ""},
		{"gone", "repo gone nothing", ""},
		{"not gone", "repo gone kalypso-control-plane", "kalypso-control-plane is still there"},
		{"edit", "cp lines x\nedit x lines a\ncmp x a\nedit x lines a\ncmp x a", ""},
		{"edit what is not there", "edit a lines b", "a does not have the lines of lines"},
		{"issue", "issue open kalypso-control-plane Broken 'inference_url is required'", ""},
		{"issue says something else", "issue open kalypso-control-plane Broken other", `issue #1 of kalypso-control-plane does not say "other"`},
		{"no issue", "issue open kalypso-control-plane Mended", `no issue "Mended" is open in kalypso-control-plane, only "Broken"`},
		{"two issues", "issue open kalypso-control-plane Twice", `2 issues "Twice" are open`},
		{"closed issue", "issue closed kalypso-control-plane Mended", ""},
		{"issue is open", "issue closed kalypso-control-plane Broken", "issue #1 of kalypso-control-plane is open"},
		{"issues", "issue count kalypso-control-plane 3", ""},
		{"more issues", "issue count kalypso-control-plane 1", `kalypso-control-plane has 3 open issues instead of 1: "Broken", "Twice", "Twice"`},
		{"never an issue", "issue closed kalypso-control-plane Other", `has never had an issue "Other"`},
		{"latest status", "status kalypso-control-plane " + commit + " 'dev environment' pending Deployed", ""},
		{"other status", "status kalypso-control-plane " + commit + " 'dev environment' success", "dev environment of commit " + short(commit) + " is pending (Deployed)"},
		{"status that was pending", "status kalypso-control-plane " + commit + " 'stage environment' pending Deployed", ""},
		{"status that was never so", "status kalypso-control-plane " + commit + " 'stage environment' pending Promoted", "stage environment of commit " + short(commit) + " is success (Deployed)"},
		{"no such context", "status kalypso-control-plane " + commit + " qa success", `has no status "qa", only "stage environment", "dev environment"`},
		{"no commit", "status kalypso-control-plane '' qa success", "not known yet which commit"},
		{"workflow", "workflow wait kalypso-control-plane good.yaml main 1s", ""},
		{"workflow by commit", "workflow wait kalypso-control-plane good.yaml " + commit + " 1s", ""},
		{"workflow goes on", "workflow wait kalypso-control-plane slow.yaml main 200ms", "not within 200ms: slow.yaml of kalypso-control-plane is in_progress"},
		{"no workflow", "workflow wait kalypso-control-plane other.yaml main 200ms", "has not run for commit"},
		{"workflow is to fail", "workflow wait kalypso-control-plane bad.yaml main 1s failure", ""},
		{"a failed workflow is waited for no longer", "workflow wait kalypso-control-plane bad.yaml main 60s", "no space left"},
		{"start", "workflow run kalypso-control-plane new.yaml main x=y\nworkflow wait kalypso-control-plane new.yaml $COMMIT 1s", ""},
		{"start once", "workflow run kalypso-control-plane good.yaml main\nworkflow run kalypso-control-plane slow.yaml main", ""},
		{"start what has failed", "workflow run kalypso-control-plane again.yaml main\nworkflow wait kalypso-control-plane again.yaml main 1s", ""},
		{"says", "says NAME kubectl get ns", ""},
		{"says something else", "says other kubectl get ns", `kubectl does not say "other", but "NAME`},
		{"eventually says", "eventually 200ms ! says other kubectl get ns", ""},
		{"page", "http get ns svc/page 80 / 'Hello from page'\nstdout Hello", ""},
		{"page of a cluster", "http get --context drone ns svc/page 80 / drone", ""},
		{"page says more", "http get ns svc/page 80 / 'from page'", `does not say "from page"`},
		{"page says something else", "http get ns svc/page 80 / Bye", `/ of svc/page in ns does not say "Bye"`},
		{"no page", "http get ns svc/page 80 /missing", "the answer is 404"},
		{"no service", "http get ns svc/nothing 80 /", `no way to the pods: Error from server (NotFound)`},
		{"az knows the token, the log does not", "az show '$TOKEN'\nstdout 'token: " + giteafake.Token[:6] + "'", ""},
		{"az acts", "eventually 1s az x delete", "az cannot be tried again and again"},
		{"variables last", "env X=y\nexec true", ""},
	}
	const files = "\n-- a --\nkind: A\nmetadata: {name: x}\n-- b --\nkind: A\nmetadata: {name: y}\n-- lines --\ntwo\nthree\n"
	runs := len(f.control.Runs)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := runText(t, f.access(), "# A test\n\nstep Try\n"+test.script+"\n"+files)
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
	if started := len(f.control.Runs) - runs; started != 2 {
		t.Errorf("%d workflows were started, not 2", started)
	}
}

// A pull request that was there before a push has not come of it.
func TestPullRequestOfAPush(t *testing.T) {
	f := forgeWithoutScheduler(t)
	head := f.gitops.Push("kalypso/dev", map[string]string{"x": "1"})
	old := exec.Command("git", "-C", f.gitops.Dir, "commit-tree", head+"^{tree}", "-p", head+"~1", "-m", "old")
	old.Env = append(gitkit.Environment(), "GIT_COMMITTER_DATE=2020-01-01T00:00:00Z")
	out, err := old.Output()
	if err != nil {
		t.Fatal(err)
	}
	f.gitops.Merge(f.gitops.Open("Kalypso: dev: change", "dev", "kalypso/dev", strings.TrimSpace(string(out))))
	const script = `# x

step Push and wait
clone kalypso-control-plane main z
write a z/new
push z New
pr wait kalypso-platform-gitops dev 300ms merged=too x

-- a --
kind: A
`
	_, check := runText(t, f.access(), script)
	if check == nil || !strings.Contains(check.Reason, "#1 (Kalypso: dev: change) is merged, but is older than the last push") {
		t.Errorf("error %v", check)
	}
	f.gitops.Merge(f.open(map[string]string{"x": "2"}))
	if _, check := runText(t, f.access(), script); check != nil {
		t.Errorf("one that has come since: %s", check.Reason)
	}
}

// What was pushed once is not pushed again, though somebody has changed it.
func TestPushOnce(t *testing.T) {
	f := forgeWithoutScheduler(t)
	const script = `# x

step Push
clone kalypso-control-plane main z
write a z/new
push z 'Bring something new'
exec test -n $COMMIT

-- a --
kind: A
`
	if _, err := runText(t, f.access(), script); err != nil {
		t.Fatal(err)
	}
	head := f.control.Push("main", map[string]string{"new": "kind: B\n"})
	r, err := runText(t, f.access(), script)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.control.Git("rev-parse", "main"); got != head {
		t.Error("it was pushed again")
	}
	if !strings.HasPrefix(r.Steps[0].Note, "done already: commit ") {
		t.Errorf("note %q", r.Steps[0].Note)
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	for _, c := range commands() {
		if c.help == "" || c.run == nil {
			t.Errorf("%s: help %q", c.name, c.help)
		}
	}
}

func TestReadOnly(t *testing.T) {
	for line, want := range map[string]bool{
		"kubectl --context drone get pods":             true,
		"kubectl -n x rollout status deployment y":     true,
		"kubectl -n x rollout restart deployment y":    false,
		"kubectl --context get delete pods":            false, // get is a cluster here
		"kubectl":                                      false,
		"az k8s-configuration flux show --name create": true,
		"az k8s-configuration flux create --name show": false,
		"kalypso plan -e dev":                          true,
		"kalypso down --delete":                        false,
		"says x kubectl get pods":                      true,
		"says x kubectl delete pods":                   false,
		"pr wait r b 1s":                               true,
		"pr merge":                                     false,
		"workflow run r f main":                        false,
		"http get ns svc/x 80 /":                       true,
	} {
		args := strings.Fields(line)
		w, _, err := findCommand(args)
		if err != nil {
			if want {
				t.Errorf("%s: %v", line, err)
			}
			continue
		}
		if got := w.isReadOnly(args); got != want {
			t.Errorf("%s: read-only is %v", line, got)
		}
	}
}
