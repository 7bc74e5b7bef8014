package engine

import (
	"fmt"
	"strings"
	"testing"

	"code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
)

// repository is a clone in which a test makes a history.
type repository struct {
	t   *testing.T
	dir string
}

func cloned(f *fakeForge) *repository {
	r := &repository{t: f.t, dir: f.t.TempDir()}
	r.git("clone", "--quiet", f.control.Dir, ".")
	return r
}

func (r *repository) git(args ...string) string { return gitkit.Run(r.t, r.dir, args...) }

// commit adds a line to a file.
func (r *repository) commit(file, line string) string {
	r.t.Helper()
	writeFile(r.t, r.dir, file, line)
	r.git("add", "--all")
	r.git("commit", "--quiet", "--message", "change "+file)
	return r.git("rev-parse", "HEAD")
}

func (r *repository) push() { r.git("push", "--quiet", "origin", "HEAD:main") }

// byPullRequest makes two commits on a branch and merges it into main.
func (r *repository) byPullRequest(file, content string) (merge string) {
	r.t.Helper()
	r.git("checkout", "--quiet", "-b", "topic")
	r.commit(file, content)
	r.commit("README.md", "more")
	r.git("checkout", "--quiet", "main")
	r.git("merge", "--quiet", "--no-ff", "--message", "Merge it", "topic")
	return r.git("rev-parse", "HEAD")
}

const lookAtCommit = `# x

step Look
repo same-yaml kalypso-control-plane main file.yaml wanted.yaml
exec echo =$COMMIT=
exec false

-- wanted.yaml --
kind: A
metadata: {name: x}
`

const wantedFile = "kind: A\nmetadata: {name: x}\n"

// The commit that has brought a file is the one by which the branch has it.
func TestBroughtBy(t *testing.T) {
	t.Parallel()
	for name, bring := range map[string]func(r *repository) string{
		"a push":         func(r *repository) string { return r.commit("file.yaml", wantedFile) },
		"a pull request": func(r *repository) string { return r.byPullRequest("file.yaml", wantedFile) },
		"a branch's first": func(r *repository) string {
			r.commit("file.yaml", "kind: B\n")
			return r.commit("file.yaml", wantedFile)
		},
	} {
		f := forgeWithoutScheduler(t)
		r := cloned(f)
		want := bring(r)
		for range historyPage + 1 { // others go on, over more than a page
			r.git("commit", "--quiet", "--allow-empty", "--message", "later")
		}
		r.push()
		got, _ := runText(t, f.access(), lookAtCommit)
		if !strings.Contains(got.Steps[0].Output, "="+want+"=") {
			t.Errorf("%s: want %s in\n%s", name, want, got.Steps[0].Output)
		}
	}
}

// A promotion of a later commit takes what it contains along, and no other.
func TestPromotes(t *testing.T) {
	t.Parallel()
	f := forgeWithoutScheduler(t)
	r := cloned(f)
	first := r.git("rev-parse", "HEAD")
	merge := r.byPullRequest("file.yaml", wantedFile)
	last := r.commit("README.md", "and more")
	r.push()
	f.open(map[string]string{trackingPath: merge + "\n"}, promoted)
	f.control.Push("dev", map[string]string{basePath: "spec:\n  commit: " + merge + "\n"})
	for commit, want := range map[string]string{
		first: "", merge: "", merge + "^2": "",
		last: "does not contain " + short(last), noCommit: "does not contain 0000000", "": "not known yet which commit",
	} {
		if strings.HasSuffix(commit, "^2") {
			commit = r.git("rev-parse", commit)
		}
		for _, look := range []string{"pr promotes kalypso-control-plane '" + commit + "'", "repo promotes kalypso-control-plane dev '" + commit + "'"} {
			_, err := runText(t, f.access(), "# x\n\nstep Look\npr wait kalypso-platform-gitops dev 1s\n"+look+"\n")
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Reason, want)) {
				t.Errorf("%s: %v, want %q", look, err, want)
			}
		}
		// nothing is known of no commit, not even that it is not promoted
		_, err := runText(t, f.access(), "# x\n\nstep Look\n! repo promotes kalypso-control-plane dev '"+commit+"'\n")
		if passes := err == nil; passes != (commit == last || commit == noCommit) {
			t.Errorf("that dev does not promote %q: %v", commit, err)
		}
	}
}

// A pull request is marked as a promotion if it is one.
func TestPromotionIsMarked(t *testing.T) {
	t.Parallel()
	f := forgeWithoutScheduler(t)
	commit := f.control.Git("rev-parse", "main")
	look := func() string {
		_, err := runText(t, f.access(), "# x\n\nstep Look\npr wait kalypso-platform-gitops dev 1s\npr promotes kalypso-control-plane "+commit+"\n")
		if err == nil {
			return ""
		}
		return err.Reason
	}
	own := f.open(map[string]string{trackingPath: commit + "\n"})
	if why := look(); !strings.Contains(why, "does not have the label promoted") {
		t.Errorf("its own, unmarked: %s", why)
	}
	own.Labels = []*gitea.Label{promoted}
	if why := look(); why != "" {
		t.Errorf("its own: %s", why)
	}
	own.State = gitea.StateClosed
	f.gitops.Push("dev", map[string]string{trackingPath: commit + "\n"})
	later := f.open(map[string]string{"x": "y"})
	if why := look(); why != "" {
		t.Errorf("an earlier one's: %s", why)
	}
	later.Labels = own.Labels
	if why := look(); !strings.Contains(why, "does not change "+trackingPath) {
		t.Errorf("an earlier one's, marked: %s", why)
	}
}

// What is reported of a later commit is true of what it contains, and what is reported of
// an earlier one is not.
func TestReportsALaterCommit(t *testing.T) {
	t.Parallel()
	f := forgeWithoutScheduler(t)
	r := cloned(f)
	before := r.git("rev-parse", "HEAD")
	commit := r.commit("file.yaml", wantedFile)
	last := r.commit("README.md", "more")
	r.push()
	look := func() (status, workflow string) {
		for i, line := range []string{"status kalypso-control-plane " + commit + " 'dev environment' success Deployed", "workflow wait kalypso-control-plane ci.yaml " + commit + " 0s"} {
			_, err := runText(t, f.access(), "# x\n\nstep Look\n"+line+"\n")
			why := ""
			if err != nil {
				why = err.Reason
			}
			if i == 0 {
				status = why
			} else {
				workflow = why
			}
		}
		return status, workflow
	}
	expectState := func(commit, state, ends string) {
		f.Lock()
		defer f.Unlock()
		f.control.Statuses = map[string][]*gitea.Status{commit: {{ID: 1, Context: "dev environment", State: gitea.StatusState(state), Description: "Deployed"}}}
		f.control.Runs = nil
		f.control.AddRun("ci.yaml", commit, "completed", ends)
	}
	expectState(before, "success", "success")
	if status, workflow := look(); !strings.Contains(status, "commit "+short(commit)+" has no status yet") || !strings.Contains(workflow, "has not run for commit "+short(commit)) {
		t.Errorf("of an earlier one: %s; %s", status, workflow)
	}
	expectState(last, "failure", "failure")
	if status, workflow := look(); !strings.Contains(status, "dev environment of commit "+short(last)+" is failure") || !strings.Contains(workflow, "has ended with failure") {
		t.Errorf("otherwise: %s; %s", status, workflow)
	}
	for _, c := range []string{commit, last} {
		expectState(c, "success", "success")
		if status, workflow := look(); status+workflow != "" {
			t.Errorf("%s; %s", status, workflow)
		}
	}
}

// What a commit has achieved stays so while a newer run is under way for it.
func TestNewerRunIsUnderWay(t *testing.T) {
	t.Parallel()
	f := forgeWithoutScheduler(t)
	commit := f.control.Git("rev-parse", "main")
	for name, test := range map[string]struct {
		ends, state string // of the run before the one under way
		passes      bool
	}{
		"after a success": {"success", "success", true},
		"after a failure": {"failure", "failure", false},
	} {
		f.Lock()
		f.control.Statuses = map[string][]*gitea.Status{commit: {
			{ID: 2, Context: "dev environment", State: gitea.StatusPending, Description: "Deploying"},
			{ID: 1, Context: "dev environment", State: gitea.StatusState(test.state), Description: "Deployed"},
		}}
		f.control.Runs = nil
		f.control.AddRun("ci.yaml", commit, "completed", test.ends)
		f.control.AddRun("ci.yaml", commit, "in_progress", "")
		f.Unlock()
		for _, line := range []string{"status kalypso-control-plane " + commit + " 'dev environment' success Deployed", "workflow wait kalypso-control-plane ci.yaml " + commit + " 0s"} {
			all, err := Check(t.Context(), sectionOptions(f, "# x\n\nstep Look\n"+line+"\n"), []string{"script"})
			if err != nil || all[0].Done != test.passes {
				t.Errorf("%s: %s: %+v, %v", name, line, all, err)
			}
		}
	}
}

// What editions of a tutorial write differently counts either way, and nothing
// else does.
func TestSpellings(t *testing.T) {
	t.Parallel()
	const file = "kind: ConfigMap\nmetadata: {name: x}\ndata: {url: mysql://west-%s:8806}\n"
	script := "# x\n#\n# Spellings: west-stage123=west-stage\n\nstep Look\n%s\n\n-- wanted.yaml --\n" + fmt.Sprintf(file, "stage")
	for _, check := range []string{"has-objects", "same-yaml", "has-text"} {
		for database, done := range map[string]bool{"stage": true, "stage123": true, "stage4": false} {
			f := forgeWithoutScheduler(t)
			f.control.Push("main", map[string]string{"a.yaml": fmt.Sprintf(file, database)})
			all, err := Check(t.Context(), sectionOptions(f, fmt.Sprintf(script, "repo "+check+" kalypso-control-plane main a.yaml wanted.yaml")), []string{"script"})
			if err != nil || all[0].Done != done {
				t.Errorf("%s of %s: %+v, %v", check, database, all, err)
			}
		}
	}
	if faults := Examine("w", "x", []byte("# x\n#\n# Spellings: west-stage123\n\nstep Look\nlook\npr open\n")); len(faults) != 1 {
		t.Errorf("a spelling without a text: %v", faults)
	}
}

// An object counts wherever its file lies.
func TestObjectsInAnyFile(t *testing.T) {
	t.Parallel()
	const script = "# x\n\nstep Look\nrepo has-objects kalypso-control-plane main here/a.yaml wanted.yaml\nexec echo =$COMMIT=\n\n-- wanted.yaml --\n" + wantedFile
	for name, test := range map[string]struct {
		files  map[string]string
		other  string // the file on another branch
		reason string // "" passes
	}{
		"where the tutorial has it": {files: map[string]string{"here/a.yaml": wantedFile}},
		"elsewhere":                 {files: map[string]string{"there/b.yml": wantedFile, "t.yaml": "{{ no YAML"}},
		"beside another":            {files: map[string]string{"here/a.yaml": "kind: B\nmetadata: {name: y}\n---\n" + wantedFile}},
		"another there":             {files: map[string]string{"here/a.yaml": "kind: B\nmetadata: {name: y}\n", "b.yaml": wantedFile}},
		"on another branch":         {files: map[string]string{"there/b.yaml": "kind: B\nmetadata: {name: x}\n"}, other: wantedFile, reason: "is on dev of kalypso-control-plane"},
		"the same, but other":       {files: map[string]string{"there/b.yaml": "kind: B\nmetadata: {name: x}\n"}, other: wantedFile + "more: 1\n", reason: "has no file here/a.yaml"},
		"nowhere":                   {files: map[string]string{"there/b.yaml": "kind: B\nmetadata: {name: x}\n"}, reason: "has no file here/a.yaml"},
		"elsewhere and not right":   {files: map[string]string{"there/b.yaml": wantedFile + "more: 1\n"}, reason: "there/b.yaml, where the tutorial has here/a.yaml, on main"},
		"not right":                 {files: map[string]string{"here/a.yaml": wantedFile + "more: 1\n"}, reason: "here/a.yaml on main"},
	} {
		f := forgeWithoutScheduler(t)
		if test.other != "" {
			f.control.Push("dev", map[string]string{"here/c.yaml": test.other})
		}
		commit := f.control.Push("main", test.files)
		all, err := Check(t.Context(), sectionOptions(f, strings.Replace(script, "echo =$COMMIT=", "test $COMMIT = "+commit, 1)), []string{"script"})
		if err != nil || all[0].Done != (test.reason == "") || !strings.Contains(all[0].Steps[0].Reason, test.reason) {
			t.Errorf("%s: %+v, %v", name, all, err)
		}
	}
}
