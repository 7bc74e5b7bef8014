package ci

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/ciforge"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

const (
	controlPlane = "kalypso/kalypso-control-plane"
	gitOps       = "kalypso/kalypso-gitops"
)

// platform has the repositories of the platform's workflows: a control plane with a
// commit on main, and a GitOps repository whose dev branch a merge has brought
// that commit to.
func platform(t *testing.T) (r *runner, commit, merged string) {
	r = newRunner(t, controlPlane)
	commit = r.forge.Push(controlPlane, "main", r.branch("hello-world", "kalypso-control-plane", "main"))
	for _, environment := range []string{"dev", "stage"} {
		r.forge.Push(controlPlane, environment, r.branch("hello-world", "kalypso-control-plane", environment))
	}
	merged = r.forge.Push(gitOps, "dev", map[string]string{".github/tracking/Promoted_Commit_Id": commit + "\n", "drone/README.md": "x"})
	return r, commit, merged
}

func (r *runner) statuses(commit string) string {
	var lines []string
	for _, s := range r.forge.AllStatuses(controlPlane, commit) {
		lines = append(lines, fmt.Sprintf("%s: %s %s", s.Context, s.State, s.Description))
	}
	return strings.Join(lines, "\n")
}

// TestPromotionChain goes the whole way of a commit, by the steps of the
// workflows ci, check-promote and cd.
func TestPromotionChain(t *testing.T) {
	r, commit, merged := platform(t)
	r.env["GITHUB_SHA"] = commit
	if d := r.must("promote", "--environment", "dev"); d.outputs["promoted"] != "true" {
		t.Errorf("outputs %v", d.outputs)
	}
	if base := r.forge.Files(controlPlane, "dev")["base-repo.yaml"]; !strings.Contains(base, "commit: "+commit) {
		t.Errorf("base-repo.yaml:\n%s", base)
	}

	r.env["GITHUB_REPOSITORY"], r.env["GITHUB_SHA"] = gitOps, merged
	d := r.must("promoted-commit")
	if d.outputs["promoted_commit_id"] != commit || d.out != commit+"\n" {
		t.Fatalf("outputs %v, printed %q", d.outputs, d.out)
	}
	r.must("start-workflow", "--repo", "kalypso-control-plane", "check-promote.yaml",
		"environment=dev", "commit_id="+merged, "promoted_commit_id="+d.outputs["promoted_commit_id"])
	want := []ciforge.Start{{Repo: controlPlane, File: "check-promote.yaml", Ref: "main",
		Inputs: map[string]string{"environment": "dev", "commit_id": merged, "promoted_commit_id": commit}}}
	if diff := cmp.Diff(want, r.forge.Started); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}

	r.env["GITHUB_REPOSITORY"] = controlPlane
	r.must("set-status", "deploying", "--environment", "dev", "--commit", commit)
	looks := 0
	r.fleet = func() ([]fleet.Configuration, error) {
		looks++
		c := fleet.Configuration{Cluster: "drone", Name: "platform-dev", Commit: merged, State: fleet.Compliant}
		switch looks {
		case 1:
			c.Commit = strings.Repeat("0", 40) // healthy, on the commit before
		case 2:
			return nil, errors.New("no answer")
		case 3:
			c.State = fleet.Pending
		}
		return []fleet.Configuration{c}, nil
	}
	d = r.must("wait-for-deployment", "--repo", "kalypso-gitops", "--branch", "dev", "--commit", merged, "--poll", "1ms")
	if looks != 4 || d.outputs["clusters"] != "1" || !strings.Contains(d.talk, "drone/platform-dev is Compliant") {
		t.Errorf("%d looks, outputs %v\n%s", looks, d.outputs, d.talk)
	}
	r.must("set-status", "deployed", "--environment", "dev", "--next", "stage", "--commit", commit)
	r.must("promote", "--environment", "stage", "--commit", commit)
	if d = r.must("promote", "--environment", "stage", "--commit", commit); d.outputs["promoted"] != "false" {
		t.Errorf("a second time: %v", d.outputs)
	}
	r.must("set-status", "deployed", "--environment", "stage", "--next", "", "--commit", commit)
	if diff := cmp.Diff(`dev environment: pending Promoted
dev environment: pending Deploying
dev environment: pending Deployed
stage environment: pending Promoted
stage environment: success Deployed
dev environment: success Deployed`, r.statuses(commit)); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if url := r.forge.AllStatuses(controlPlane, commit)[0].URL; url != ciforge.Server+"/"+controlPlane+"/actions/runs/12" {
		t.Errorf("the status leads to %q", url)
	}
}

// TestGateStopsTheChain lets a cluster have the commit and not be well with it,
// and another never get there.
func TestGateStopsTheChain(t *testing.T) {
	r, commit, merged := platform(t)
	c := fleet.Configuration{Cluster: "drone", Name: "platform-dev", Commit: merged, State: fleet.NonCompliant, Reason: "Kustomization apps: no such path"}
	r.fleet = func() ([]fleet.Configuration, error) { return []fleet.Configuration{c}, nil }
	wait := []string{"wait-for-deployment", "--repo", "kalypso-gitops", "--branch", "dev", "--commit", merged, "--poll", "1ms", "--timeout", "50ms", "--grace", "0s"}
	if d := r.step(wait...); d.code != cmdutil.ExitFailure || !strings.Contains(d.talk, "Kustomization apps: no such path") {
		t.Errorf("not compliant: exit code %d\n%s", d.code, d.talk)
	}
	c.State, c.Reason = fleet.Pending, "applying"
	if d := r.step(wait...); d.code != cmdutil.ExitTimeout || !strings.Contains(d.talk, "drone/platform-dev is Pending") {
		t.Errorf("pending: exit code %d\n%s", d.code, d.talk)
	}
	r.must("set-status", "failed", "--environment", "dev", "--commit", commit)
	if got := r.statuses(commit); got != "dev environment: failure Failed to deploy" {
		t.Errorf("statuses %s", got)
	}
}

// TestFailureThatPasses: a reconciler that fails at first and tries again.
func TestFailureThatPasses(t *testing.T) {
	r, _, merged := platform(t)
	looks := 0
	r.fleet = func() ([]fleet.Configuration, error) {
		looks++
		c := fleet.Configuration{Cluster: "drone", Name: "a", Commit: merged, State: fleet.NonCompliant, Reason: "no such source"}
		if looks > 3 {
			c.State = fleet.Compliant
		}
		return []fleet.Configuration{c}, nil
	}
	d := r.must("wait-for-deployment", "--repo", gitOps, "--branch", "dev", "--commit", merged, "--poll", "1ms", "--grace", "1m")
	if looks != 4 || strings.Count(d.talk, "no such source, which may pass") != 1 {
		t.Errorf("%d looks\n%s", looks, d.talk)
	}
}

// TestGateOnABranchThatGoesOn: a cluster that has the branch's newest commit has
// the one below it.
func TestGateOnABranchThatGoesOn(t *testing.T) {
	r, _, merged := platform(t)
	newest := r.forge.Push(gitOps, "dev", map[string]string{"drone/README.md": "y"})
	state := fleet.Compliant
	r.fleet = func() ([]fleet.Configuration, error) {
		return []fleet.Configuration{{Cluster: "drone", Name: "a", Commit: newest, State: state}}, nil
	}
	wait := []string{"wait-for-deployment", "--repo", gitOps, "--branch", "dev", "--commit", merged, "--poll", "1ms", "--timeout", "50ms", "--grace", "0s"}
	r.must(wait...)
	state = fleet.NonCompliant
	if d := r.step(wait...); d.code != cmdutil.ExitFailure {
		t.Errorf("exit code %d\n%s", d.code, d.talk)
	}
	r.fleet = func() ([]fleet.Configuration, error) { return nil, nil }
	if d := r.must(wait...); !strings.Contains(d.talk, "nothing follows branch dev") || d.outputs["clusters"] != "0" {
		t.Errorf("outputs %v\n%s", d.outputs, d.talk)
	}
}

// TestPushThatPromotesNothing changes assignments alone.
func TestPushThatPromotesNothing(t *testing.T) {
	r, commit, before := platform(t)
	r.env["GITHUB_REPOSITORY"] = gitOps
	r.env["GITHUB_SHA"] = r.forge.Push(gitOps, "dev", map[string]string{"drone/README.md": "y"})
	r.env["GITHUB_EVENT_PATH"] = filepath.Join(t.TempDir(), "event.json")
	event := func(before string) {
		if err := os.WriteFile(r.env["GITHUB_EVENT_PATH"], []byte(`{"before": "`+before+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	event(before)
	if d := r.must("promoted-commit"); d.out != "" || d.outputs["promoted_commit_id"] != "" || !strings.Contains(d.talk, "promotes nothing") {
		t.Errorf("printed %q, outputs %v\n%s", d.out, d.outputs, d.talk)
	}
	event(strings.Repeat("0", 40)) // a new branch
	if d := r.must("promoted-commit"); d.out != commit+"\n" {
		t.Errorf("a new branch: %q", d.out)
	}
	event(strings.Repeat("ab", 20)) // pushed over
	if d := r.must("promoted-commit"); d.out != commit+"\n" {
		t.Errorf("a commit that is gone: %q", d.out)
	}
}

// TestCreatePRKeepsOnePullRequest runs it again, with other files and with
// none that differ.
func TestCreatePRKeepsOnePullRequest(t *testing.T) {
	r := newRunner(t, "kalypso/app-src")
	const repo = "kalypso/app-gitops"
	r.forge.Push(repo, "stage", map[string]string{"README.md": "read me", "uat/old.yaml": "a", "uat/gen.yaml": "a", "other/x.yaml": "a"})
	folder := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	create := func(more ...string) done {
		return r.must(append([]string{"create-pr", "--repo", repo, "--base", "stage", "--from", folder}, more...)...)
	}
	write("uat/gen.yaml", "b")
	write("empty.yaml", "")
	d := create()
	for _, want := range []string{"- uat/old.yaml", "~ uat/gen.yaml", "+ empty.yaml"} {
		if !strings.Contains(d.talk, want) || !strings.Contains(r.forge.AllPullRequests(repo)[0].Body, want) {
			t.Errorf("nobody says %q:\n%s", want, d.talk)
		}
	}
	head := r.forge.AllPullRequests(repo)[0].Head
	if diff := cmp.Diff(map[string]string{"README.md": "read me", "uat/gen.yaml": "b", "other/x.yaml": "a", "empty.yaml": ""}, r.forge.Files(repo, head)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	at := r.forge.Branch(repo, head)
	if create(); r.forge.Branch(repo, head) != at {
		t.Error("the same again makes another commit")
	}
	write("uat/gen.yaml", "c")
	create("--title", "Newer")
	pulls := r.forge.AllPullRequests(repo)
	if len(pulls) != 1 || pulls[0].Title != "Newer" || r.forge.Files(repo, head)["uat/gen.yaml"] != "c" {
		t.Errorf("pull requests %+v", pulls)
	}
	if got := r.forge.Parent(repo, head); got != r.forge.Branch(repo, "stage") {
		t.Errorf("its commit is on %s", got)
	}
	r.forge.Push(repo, "stage", map[string]string{"uat/gen.yaml": "c", "uat/old.yaml": "", "empty.yaml": ""})
	if err := os.Remove(filepath.Join(folder, "empty.yaml")); err != nil {
		t.Fatal(err)
	}
	if d := create(); d.outputs["changed"] != "false" || r.forge.AllPullRequests(repo)[0].State != forge.Closed {
		t.Errorf("somebody else has brought it there: %v, %+v", d.outputs, r.forge.AllPullRequests(repo)[0])
	}
}

// TestDeployedVersion reads what descriptor has written, and distinguishes a push with
// a new version from one with another configuration.
func TestDeployedVersion(t *testing.T) {
	r := newRunner(t, "kalypso/app-gitops")
	const repo = "kalypso/app-gitops"
	descriptor, err := os.ReadFile("../../../scheduler/ci/testdata/descriptor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	empty := r.forge.Push(repo, "dev", map[string]string{"README.md": "x"})
	first := r.forge.Push(repo, "dev", map[string]string{"descriptors/a.yaml": string(descriptor)})
	second := r.forge.Push(repo, "dev", map[string]string{"a/gen.yaml": "x"})
	newer := strings.ReplaceAll(string(descriptor), "0.0.1-7", "0.0.1-8")
	third := r.forge.Push(repo, "dev", map[string]string{"descriptors/a.yaml": newer})
	r.env["GITHUB_EVENT_PATH"] = filepath.Join(t.TempDir(), "event.json")
	for _, test := range []struct{ before, commit, version, isNew string }{
		{strings.Repeat("0", 40), empty, "", "false"},
		{empty, first, "0.0.1-7", "true"},
		{first, second, "0.0.1-7", "false"},
		{second, third, "0.0.1-8", "true"},
	} {
		if err := os.WriteFile(r.env["GITHUB_EVENT_PATH"], []byte(`{"before": "`+test.before+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		r.env["GITHUB_SHA"] = test.commit
		d := r.must("deployed-version")
		if d.outputs["version"] != test.version || d.outputs["new"] != test.isNew || strings.TrimSpace(d.out) != test.version {
			t.Errorf("%+v: outputs %v, printed %q", test, d.outputs, d.out)
		}
		if test.version != "" && d.outputs["commit_id"] != strings.Repeat("ab", 20) {
			t.Errorf("%+v: outputs %v", test, d.outputs)
		}
	}
	if d := r.must("deployed-version", "--branch", "dev"); d.out != "0.0.1-8\n" {
		t.Errorf("of a branch: %q", d.out)
	}
	r.forge.Push(repo, "dev", map[string]string{"descriptors/b.yaml": string(descriptor)})
	if d := r.step("deployed-version", "--branch", "dev"); d.code != cmdutil.ExitFailure || !strings.Contains(d.talk, "0.0.1-8 and 0.0.1-7") {
		t.Errorf("two versions: exit code %d\n%s", d.code, d.talk)
	}
}
