package scenarios

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The words about issues, statuses, workflows, repositories and pages, each
// when things are so and when they are not.
func TestMoreWords(t *testing.T) {
	f := newFakeWorld(t)
	commit := f.seed(controlPlane, "main", map[string]string{
		"a.yaml": "kind: A\nmetadata: {name: x}\n",
		"b.txt":  "one\ntwo\nthree\n",
	})
	f.issues = []*fakeIssue{
		{number: 1, title: "Broken", body: "- inference_url is required"},
		{number: 2, title: "Mended", closed: true},
		{number: 3, title: "Twice"}, {number: 4, title: "Twice"},
	}
	f.status = map[string][]map[string]any{commit: {
		{"id": 2, "context": "dev environment", "status": "pending", "description": "Deployed"},
		{"id": 1, "context": "dev environment", "status": "pending", "description": "Promoted"},
	}}
	f.runs = []*fakeRun{
		{id: 1, file: "good.yaml", commit: commit, status: "completed", ends: "success"},
		{id: 2, file: "slow.yaml", commit: commit, status: "in_progress"},
		{id: 3, file: "again.yaml", commit: commit, status: "completed", ends: "failure"},
		{id: 4, file: "bad.yaml", commit: commit, status: "completed", ends: "failure", log: "step one\nno space left\n"},
	}
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
		{"no such context", "status kalypso-control-plane " + commit + " qa success", `has no status "qa", only "dev environment"`},
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
		{"az knows the token, the log does not", "az show '$TOKEN'\nstdout 'token: " + testToken[:6] + "'", ""},
		{"az acts", "eventually 1s az x delete", "az cannot be tried again and again"},
		{"variables last", "env X=y\nexec true", ""},
	}
	const files = "\n-- a --\nkind: A\nmetadata: {name: x}\n-- b --\nkind: A\nmetadata: {name: y}\n-- lines --\ntwo\nthree\n"
	runs := len(f.runs)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := runText(t, f.world(), "# A test\n\nstep Try\n"+test.script+"\n"+files)
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
	if started := len(f.runs) - runs; started != 2 {
		t.Errorf("%d workflows were started, not 2", started)
	}
}

// A pull request that was there before a push has not come of it.
func TestPullRequestOfAPush(t *testing.T) {
	f := newFakeWorld(t)
	f.onPush = func(*fakeWorld, string) {}
	head := f.seed(gitopsRepo, "kalypso/dev", map[string]string{"x": "1"})
	old := exec.Command("git", "-C", f.dir(gitopsRepo), "commit-tree", head+"^{tree}", "-p", head+"~1", "-m", "old")
	old.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2020-01-01T00:00:00Z", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t")
	out, err := old.Output()
	if err != nil {
		t.Fatal(err)
	}
	f.open(strings.TrimSpace(string(out))).merged = true
	const script = `# x

step Push and wait
clone kalypso-control-plane main z
write a z/new
push z New
pr wait kalypso-platform-gitops dev 300ms merged=too x

-- a --
kind: A
`
	_, check := runText(t, f.world(), script)
	if check == nil || !strings.Contains(check.Reason, "#1 (Kalypso: dev: change) is merged, but is older than the last push") {
		t.Errorf("error %v", check)
	}
	f.open(f.seed(gitopsRepo, "kalypso/dev", map[string]string{"x": "2"})).merged = true
	if _, check := runText(t, f.world(), script); check != nil {
		t.Errorf("one that has come since: %s", check.Reason)
	}
}

// What was pushed once is not pushed again, though somebody has changed it.
func TestPushOnce(t *testing.T) {
	f := newFakeWorld(t)
	f.onPush = func(*fakeWorld, string) {}
	const script = `# x

step Push
clone kalypso-control-plane main z
write a z/new
push z 'Bring something new'
exec test -n $COMMIT

-- a --
kind: A
`
	if _, err := runText(t, f.world(), script); err != nil {
		t.Fatal(err)
	}
	head := f.seed(controlPlane, "main", map[string]string{"new": "kind: B\n"})
	r, err := runText(t, f.world(), script)
	if err != nil {
		t.Fatal(err)
	}
	if got := testGit(t, f.dir(controlPlane), "rev-parse", "main"); got != head {
		t.Error("it was pushed again")
	}
	if !strings.HasPrefix(r.Steps[0].Note, "done already: commit ") {
		t.Errorf("note %q", r.Steps[0].Note)
	}
}
