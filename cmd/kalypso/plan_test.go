package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// worldRegistration registers the workshop's workload.
const worldRegistration = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: basic-inference}
spec:
  workload: {repo: FORGE/basic-inference-orchestration, branch: main, path: ./workload}
  workspace: edge-ai
`

// registered makes the workshop with its workload registered, not committed,
// and returns the folder of the control plane.
func registered(t *testing.T, root, forge string) string {
	t.Helper()
	worldHome(t)
	worldWorkshop(t, root, forge)
	cp := filepath.Join(root, "kalypso-control-plane")
	worldWrite(t, filepath.Join(cp, "registration.yaml"), []byte(strings.ReplaceAll(worldRegistration, "FORGE", forge)))
	return cp
}

func TestPlanAsJSON(t *testing.T) {
	root := t.TempDir()
	cp := registered(t, root, "file://"+root)
	code, out, talk := call(t, "plan", "-o", "json", "--control-plane", cp, "--exit-code")
	if code != exitChanges || talk != "" {
		t.Fatalf("exit code %d: %s", code, talk)
	}
	if strings.Contains(out, ": null") {
		t.Errorf("there is null in\n%s", out)
	}
	var document plansDocument
	decoder := json.NewDecoder(strings.NewReader(out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		t.Fatal(err)
	}
	if len(document.Environments) != 2 || document.Environments[0].Environment != "dev" || document.Environments[1].Environment != "qa" {
		t.Fatalf("environments %+v", document.Environments)
	}
	dev := document.Environments[0]
	if diff := cmp.Diff(planSummary{Add: 3, Assignments: 1}, dev.Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if got := dev.Changes[0]; got.Path != "dev/basic-inference-dev/namespace.yaml" || got.Action != plan.Add || got.ClusterType != "dev" || got.Target != "basic-inference-dev" ||
		got.Content == nil || !strings.HasPrefix(*got.Content, "apiVersion: v1\n") || !strings.HasPrefix(got.Diff, "diff --git a/dev/") {
		t.Errorf("change %+v", got)
	}
	if got := dev.Assignments; len(got) != 1 || got[0].Policies[0] != "default-policy" || got[0].Config[0].Sources[0].Position.File != "configs/dev-config.yaml" {
		t.Errorf("assignments %+v", got)
	}
	if len(dev.GitOps.Head) != 40 || dev.GitOps.Branch != "dev" || dev.GitOps.Repo != "file://"+root+"/kalypso-platform-gitops" {
		t.Errorf("GitOps %+v", dev.GitOps)
	}
	for _, s := range dev.Sources {
		if committed := len(s.Commit) == 40; committed == (s.Branch == "main" && strings.HasSuffix(s.Repo, "control-plane")) {
			t.Errorf("source %+v", s)
		}
	}

	t.Log("what is removed has no content, and what is new has no head")
	gitOps := filepath.Join(root, "gitops")
	worldWrite(t, filepath.Join(gitOps, "dev", "README.md"), []byte("This folder contains deployment targets scheduled on the cluster type"))
	worldWrite(t, filepath.Join(gitOps, "dev", "old", "namespace.yaml"), []byte("old"))
	_, out, _ = call(t, "plan", "-e", "dev", "-o", "json", "--control-plane", cp, "--gitops", gitOps)
	document = plansDocument{}
	if err := json.Unmarshal([]byte(out), &document); err != nil {
		t.Fatal(err)
	}
	dev = document.Environments[0]
	if got := dev.Changes[len(dev.Changes)-1]; got.Path != "dev/old/namespace.yaml" || got.Action != plan.Remove || got.Content != nil || !strings.Contains(got.Diff, "\n-old\n") {
		t.Errorf("change %+v", got)
	}
	if dev.GitOps.Head != "" {
		t.Errorf("GitOps %+v", dev.GitOps)
	}
	for _, field := range []string{"problems", "environments", "environment", "gitOps", "promoted", "incomplete", "sources", "targets", "assignments", "changes", "summary", "path", "action", "clusterType", "target", "content", "diff"} {
		if _, help, _ := call(t, "plan", "--help"); !strings.Contains(help, fmt.Sprintf("%q", field)) {
			t.Errorf("help does not name %q", field)
		}
	}
}

// TestPlanOverHTTP is a control plane on a server that wants a password.
func TestPlanOverHTTP(t *testing.T) {
	root := t.TempDir()
	server := worldServer(t, root, "hush")
	cp := registered(t, root, server)
	worldGit(t, cp, "add", "-A")
	worldGit(t, cp, "commit", "-qm", "register")
	url := server + "/kalypso-control-plane"

	code, out, talk := call(t, "plan", "-e", "dev", "--control-plane", url)
	if code != exitAuthentication || out != "" || !strings.Contains(talk, url+": it asks for credentials") || !strings.Contains(talk, "\n  KALYPSO_GIT_USER and KALYPSO_GIT_TOKEN are sent to") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	t.Setenv(githubTokenVariable, "hush")
	if code, _, _ := call(t, "plan", "-e", "dev", "--control-plane", url); code != exitAuthentication {
		t.Errorf("exit code %d: GitHub's token has been sent elsewhere", code)
	}
	t.Setenv(gitTokenVariable, "wrong")
	if code, _, talk := call(t, "plan", "-e", "dev", "--control-plane", url); code != exitAuthentication || !strings.Contains(talk, "it refuses the credentials") {
		t.Errorf("exit code %d, %q", code, talk)
	}
	t.Setenv(gitTokenVariable, "hush")
	code, out, talk = call(t, "plan", "-e", "dev", "--control-plane", url)
	if code != exitOK || talk != "" || !strings.HasSuffix(out, "\n3 files to add in 1 assignment.\n") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}

	t.Log("a clone's remote may have them too, and a workload that anybody could name may not")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("credentials for %s", r.URL)
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(other.Close)
	worldGit(t, cp, "remote", "add", "origin", url)
	worldWrite(t, filepath.Join(cp, "other.yaml"), []byte(strings.NewReplacer("FORGE", other.URL, "{name: basic-inference}", "{name: other}").Replace(worldRegistration)))
	code, out, talk = call(t, "plan", "-e", "dev", "--control-plane", cp)
	if code != exitOK || talk != "" || !strings.HasSuffix(out, "\n3 files to add in 1 assignment; 1 problem.\n") ||
		!strings.Contains(out, "kalypso-control-plane@main:other.yaml:5:14: error: repository "+other.URL+"/basic-inference-orchestration or its branch main is not there\n") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}

	t.Log("an error of a server stops the plan, whatever else could be planned")
	other.Close()
	code, out, talk = call(t, "plan", "-e", "dev", "--control-plane", cp)
	if code != exitFailure || out != "" || !strings.Contains(talk, "kalypso: loading environment dev: kalypso-control-plane@main:other.yaml:5: reading basic-inference-orchestration@main:workload: ") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
}

// TestPlanLeavesThingsAlone runs every output on folders that must not change.
func TestPlanLeavesThingsAlone(t *testing.T) {
	root := t.TempDir()
	cp := registered(t, root, "file://"+root)
	before := filesBelow(t, root)
	for _, output := range []string{"diff", "tree", "json"} {
		if code, _, talk := call(t, "plan", "-o", output, "--control-plane", cp, "--gitops", filepath.Join(root, "kalypso-platform-gitops"), "--base", cp); code != exitOK {
			t.Fatalf("exit code %d: %s", code, talk)
		}
	}
	if diff := cmp.Diff(before, filesBelow(t, root)); diff != "" {
		t.Errorf("files have changed:\n%s", diff)
	}
}

// TestPlanSaysThatItWillBeHeld is about a plan that removes most of what is
// there.
func TestPlanSaysThatItWillBeHeld(t *testing.T) {
	root := t.TempDir()
	cp := registered(t, root, "file://"+root)
	gitOps := filepath.Join(root, "was")
	worldWrite(t, filepath.Join(gitOps, "dev", "README.md"), []byte("# dev\nThis folder contains deployment targets scheduled on the cluster type\n"))
	for i := range 8 {
		worldWrite(t, filepath.Join(gitOps, "dev", fmt.Sprintf("gone-%d", i), "namespace.yaml"), []byte("kind: Namespace\n"))
	}
	const says = "This removes 8 of 8 assignments: the pull request will be a draft until a person takes the label mass-delete off."
	for output, want := range map[string]string{"diff": says, "tree": says, "json": `"held": true`} {
		code, out, talk := call(t, "plan", "-o", output, "--control-plane", cp, "-e", "dev", "--gitops", gitOps)
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("-o %s: exit code %d, %s, no %q in\n%s", output, code, talk, want, out)
		}
	}
}

// filesBelow lists the files below a folder with their size and time of change.
func filesBelow(t *testing.T, root string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(root, func(file string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprint(file, info.Size(), info.ModTime(), info.Mode()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestPatch(t *testing.T) {
	for name, c := range map[string]struct {
		change plan.Change
		before string
		want   string
	}{
		"added":    {plan.Change{Path: "a/b", Action: plan.Add, Content: []byte("x\n")}, "", "diff --git a/a/b b/a/b\nnew file mode 100644\n--- /dev/null\n+++ b/a/b\n@@ -0,0 +1,1 @@\n+x\n"},
		"removed":  {plan.Change{Path: "a", Action: plan.Remove}, "x\n", "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"},
		"changed":  {plan.Change{Path: "a", Action: plan.Modify, Content: []byte("1\ny\n3\n")}, "1\nx\n3\n", "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n-x\n+y\n 3\n"},
		"no end":   {plan.Change{Path: "a", Action: plan.Modify, Content: []byte("y")}, "x", "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n"},
		"empty":    {plan.Change{Path: "a", Action: plan.Add, Content: []byte{}}, "", "diff --git a/a b/a\nnew file mode 100644\n"},
		"a space":  {plan.Change{Path: "a b", Action: plan.Modify, Content: []byte("y\n")}, "x\n", "diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n@@ -1,1 +1,1 @@\n-x\n+y\n"},
		"a quote":  {plan.Change{Path: `a"b`, Action: plan.Modify, Content: []byte("y\n")}, "x\n", "diff --git \"a/a\\\"b\" \"b/a\\\"b\"\n--- \"a/a\\\"b\"\n+++ \"b/a\\\"b\"\n@@ -1,1 +1,1 @@\n-x\n+y\n"},
		"a hyphen": {plan.Change{Path: "a", Action: plan.Modify, Content: []byte("++ y\n")}, "-- x\n", "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n--- x\n+++ y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := patch(c.change, []byte(c.before))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatalf("patch (-want +got):\n%s", diff)
			}
			dir := t.TempDir()
			worldGit(t, dir, "init", "-q")
			file := filepath.Join(dir, c.change.Path)
			if c.change.Action != plan.Add {
				worldWrite(t, file, []byte(c.before))
			}
			worldWrite(t, filepath.Join(t.TempDir(), "patch"), []byte(got))
			patch := filepath.Join(t.TempDir(), "patch")
			worldWrite(t, patch, []byte("# a remark\n"+got+"\n# another\n"))
			worldGit(t, dir, "apply", patch)
			content, err := os.ReadFile(file)
			if removed := errors.Is(err, os.ErrNotExist); removed != (c.change.Action == plan.Remove) || !bytes.Equal(content, c.change.Content) {
				t.Errorf("git makes %q, %v", content, err)
			}
		})
	}
}

func TestColours(t *testing.T) {
	change := plan.Change{Path: "a", Action: plan.Modify, Content: []byte("1\ny\n")}
	var plain, coloured bytes.Buffer
	writePatch(&plain, style{}, change, []byte("1\nx\n"))
	writePatch(&coloured, style{colour: true}, change, []byte("1\nx\n"))
	if plain.String() != patch(change, []byte("1\nx\n")) {
		t.Errorf("without colours it is %q", plain.String())
	}
	for _, want := range []string{"\x1b[1m--- a/a\x1b[0m\n", "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n", "\n 1\n", "\x1b[31m-x\x1b[0m\n", "\x1b[32m+y\x1b[0m\n"} {
		if !strings.Contains(coloured.String(), want) {
			t.Errorf("%q is not in %q", want, coloured.String())
		}
	}
}

func TestSummaries(t *testing.T) {
	for want, s := range map[string]planSummary{
		"no changes":             {},
		"no changes; 2 problems": {Problems: 2},
		"3 files to add, 1 to change in 2 assignments; 1 problem": {Add: 3, Modify: 1, Assignments: 2, Problems: 1},
		"1 file to change, 2 to remove in 1 assignment":           {Modify: 1, Remove: 2, Assignments: 1},
		"1 file to remove": {Remove: 1},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestVerdict(t *testing.T) {
	change, mistake, doubt := plan.Change{Path: "a"}, plan.Problem{Severity: model.Error}, plan.Problem{Severity: model.Warning}
	for name, c := range map[string]struct {
		plans plans
		want  int
	}{
		"nothing":                  {plans{environments: []planned{{Plan: &plan.Plan{}}}}, exitOK},
		"a warning":                {plans{environments: []planned{{Plan: &plan.Plan{Problems: []plan.Problem{doubt}}}}}, exitOK},
		"changes":                  {plans{environments: []planned{{Plan: &plan.Plan{}}, {Plan: &plan.Plan{Changes: []plan.Change{change}}}}}, exitChanges},
		"changes and a warning":    {plans{environments: []planned{{Plan: &plan.Plan{Changes: []plan.Change{change}, Problems: []plan.Problem{doubt}}}}}, exitChanges},
		"an error":                 {plans{environments: []planned{{Plan: &plan.Plan{Problems: []plan.Problem{mistake}}}}}, exitFailure},
		"changes and an error":     {plans{environments: []planned{{Plan: &plan.Plan{Changes: []plan.Change{change}}}, {Plan: &plan.Plan{Problems: []plan.Problem{mistake}}}}}, exitFailure},
		"an environment's mistake": {plans{problems: []model.Diagnostic{{Severity: model.Error}}}, exitFailure},
	} {
		got := exitOK
		if err := c.plans.verdict(); err != nil {
			got = exitCode(err)
		}
		if got != c.want {
			t.Errorf("%s: exit code %d, want %d", name, got, c.want)
		}
	}
	if got := exitCode(fmt.Errorf("loading: %w", source.ErrCredentials)); got != exitAuthentication {
		t.Errorf("exit code %d for credentials", got)
	}
}

// TestGroups is about whose files are whose below a folder of the branch.
func TestGroups(t *testing.T) {
	p := planned{
		env: &model.Environment{ClusterTypes: []model.ClusterType{{}}},
		Plan: &plan.Plan{
			GitOps:      model.Reference{Path: "./clusters/"},
			Targets:     []plan.Target{{Name: "kept"}, {Name: "unassigned"}},
			Assignments: []plan.Assignment{{ClusterType: "small", Target: "kept", Policies: []string{"a", "b"}}},
			Changes: []plan.Change{
				{Path: "clusters/.github/tracking/Promoted_Commit_Id"}, {Path: "clusters/gone/README.md"}, {Path: "clusters/gone/x/namespace.yaml"},
				{Path: "clusters/small/README.md"}, {Path: "clusters/small/kept/namespace.yaml"}, {Path: "clusters/small/kept/reconciler.yaml"},
				{Path: "clusters/small/removed/namespace.yaml"}, {Path: "clusters/small/unassigned/namespace.yaml"},
			},
		},
	}
	p.env.ClusterTypes[0].Name = "small"
	var got []string
	for _, g := range p.groups() {
		got = append(got, fmt.Sprintf("%s: %s (%d)", g.name(), g.why, len(g.changes)))
	}
	want := []string{
		"clusters/.github/tracking/Promoted_Commit_Id: the commit of the base repository that is promoted to the environment (1)",
		"gone: there is no such cluster type any more (1)",
		"gone/x: there is no such cluster type any more (1)",
		"small: the folder of a cluster type (1)",
		"small/kept: assigned by policies a, b (2)",
		"small/removed: there is no such deployment target any more (1)",
		"small/unassigned: no policy assigns it any more (1)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if s := p.summary(); s.Assignments != 4 {
		t.Errorf("summary %+v", s)
	}
}
