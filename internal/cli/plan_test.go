package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

// registration registers the workshop's workload.
const registration = `apiVersion: scheduler.kalypso.io/v1alpha1
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
	withoutSandbox(t)
	writeWorkshop(t, root, forge)
	cp := filepath.Join(root, "kalypso-control-plane")
	writeFile(t, filepath.Join(cp, "registration.yaml"), []byte(strings.ReplaceAll(registration, "FORGE", forge)))
	return cp
}

func TestPlanAsJSON(t *testing.T) {
	root := t.TempDir()
	cp := registered(t, root, "file://"+root)
	code, out, talk := call(t, "plan", "-o", "json", "--control-plane", cp, "--exit-code")
	if code != cmdutil.ExitChanges || talk != "" {
		t.Fatalf("exit code %d: %s", code, talk)
	}
	if strings.Contains(out, ": null") {
		t.Errorf("there is null in\n%s", out)
	}
	var document view.PlansDocument
	decoder := json.NewDecoder(strings.NewReader(out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		t.Fatal(err)
	}
	if len(document.Environments) != 2 || document.Environments[0].Environment != "dev" || document.Environments[1].Environment != "qa" {
		t.Fatalf("environments %+v", document.Environments)
	}
	dev := document.Environments[0]
	if diff := cmp.Diff(view.Summary{Add: 3, Assignments: 1}, dev.Summary); diff != "" {
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
	writeFile(t, filepath.Join(gitOps, "dev", "README.md"), []byte("This folder contains deployment targets scheduled on the cluster type"))
	writeFile(t, filepath.Join(gitOps, "dev", "old", "namespace.yaml"), []byte("old"))
	_, out, _ = call(t, "plan", "-e", "dev", "-o", "json", "--control-plane", cp, "--gitops", gitOps)
	document = view.PlansDocument{}
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
	server := serveGit(t, root, "hush")
	cp := registered(t, root, server)
	gitkit.Run(t, cp, "add", "-A")
	gitkit.Run(t, cp, "commit", "-qm", "register")
	url := server + "/kalypso-control-plane"

	code, out, talk := call(t, "plan", "-e", "dev", "--control-plane", url)
	if code != cmdutil.ExitAuthentication || out != "" || !strings.Contains(talk, url+": it asks for credentials") || !strings.Contains(talk, "\n  KALYPSO_GIT_USER and KALYPSO_GIT_TOKEN are sent to") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	t.Setenv("GITHUB_TOKEN", "hush")
	if code, _, _ := call(t, "plan", "-e", "dev", "--control-plane", url); code != cmdutil.ExitAuthentication {
		t.Errorf("exit code %d: GitHub's token has been sent elsewhere", code)
	}
	t.Setenv("KALYPSO_GIT_TOKEN", "wrong")
	if code, _, talk := call(t, "plan", "-e", "dev", "--control-plane", url); code != cmdutil.ExitAuthentication || !strings.Contains(talk, "it refuses the credentials") {
		t.Errorf("exit code %d, %q", code, talk)
	}
	t.Setenv("KALYPSO_GIT_TOKEN", "hush")
	code, out, talk = call(t, "plan", "-e", "dev", "--control-plane", url)
	if code != cmdutil.ExitOK || talk != "" || !strings.HasSuffix(out, "\n3 files to add in 1 assignment.\n") {
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
	gitkit.Run(t, cp, "remote", "add", "origin", url)
	writeFile(t, filepath.Join(cp, "other.yaml"), []byte(strings.NewReplacer("FORGE", other.URL, "{name: basic-inference}", "{name: other}").Replace(registration)))
	host := strings.TrimPrefix(other.URL, "http://")
	code, out, talk = call(t, "plan", "-e", "dev", "--control-plane", cp)
	if code != cmdutil.ExitOK || talk != "" || !strings.HasSuffix(out, "\n3 files to add in 1 assignment; 1 problem.\n") ||
		!strings.Contains(out, "kalypso-control-plane@main:other.yaml:5:14: error: basic-inference-orchestration@main:workload is not read: host "+host) || !strings.Contains(out, "--allow-host "+host) {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	code, out, talk = call(t, "plan", "-e", "dev", "--control-plane", cp, "--allow-host", host)
	if code != cmdutil.ExitOK || talk != "" || !strings.HasSuffix(out, "\n3 files to add in 1 assignment; 1 problem.\n") ||
		!strings.Contains(out, "kalypso-control-plane@main:other.yaml:5:14: error: repository "+other.URL+"/basic-inference-orchestration ") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}

	t.Log("an error of a server stops the plan, whatever else could be planned")
	other.Close()
	code, out, talk = call(t, "plan", "-e", "dev", "--control-plane", cp, "--allow-host", host)
	if code != cmdutil.ExitFailure || out != "" || !strings.Contains(talk, "kalypso-control-plane@main:other.yaml:5: ") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
}

// TestPlanLeavesThingsAlone runs every output on folders that must not change.
func TestPlanLeavesThingsAlone(t *testing.T) {
	root := t.TempDir()
	cp := registered(t, root, "file://"+root)
	before := filesBelow(t, root)
	for _, output := range []string{"diff", "tree", "json"} {
		if code, _, talk := call(t, "plan", "-o", output, "--control-plane", cp, "--gitops", filepath.Join(root, "kalypso-platform-gitops"), "--base", cp); code != cmdutil.ExitOK {
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
	writeFile(t, filepath.Join(gitOps, "dev", "README.md"), []byte("# dev\nThis folder contains deployment targets scheduled on the cluster type\n"))
	for i := range 8 {
		writeFile(t, filepath.Join(gitOps, "dev", fmt.Sprintf("gone-%d", i), "namespace.yaml"), []byte("kind: Namespace\n"))
	}
	const says = "This removes 8 of 8 assignments: the pull request will be a draft until a user takes the label mass-delete off."
	for output, want := range map[string]string{"diff": says, "tree": says, "json": `"held": true`} {
		code, out, talk := call(t, "plan", "-o", output, "--control-plane", cp, "-e", "dev", "--gitops", gitOps)
		if code != cmdutil.ExitOK || !strings.Contains(out, want) {
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
