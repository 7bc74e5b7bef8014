package controller

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const conflict = "environments dev and qa both publish to branch dev"

// gitOpsFile is the file of an environment's branch that names its GitOps
// branch.
func gitOpsFile(branch string) map[string]string {
	return map[string]string{"gitops-repo.yaml": object("GitOpsRepo", "gitops", "", "{"+folder(gitOps, branch)+"}")}
}

// openPulls are the branches of open pull requests.
func openPulls(f *forgefake.Forge) string {
	var heads []string
	for _, pr := range f.AllPullRequests(gitOps) {
		if pr.State == forge.Open {
			heads = append(heads, pr.Head+" to "+pr.Base)
		}
	}
	return strings.Join(heads, ", ")
}

// TestOneBranchForTwo: an environment made from another one, whose GitOpsRepo was
// forgotten, removes nothing of the other's.
func TestOneBranchForTwo(t *testing.T) {
	f := newPlatform("dev", "qa")
	bubble(t, f, nil, func(r *running) {
		push := func(repo, branch string, files map[string]string) {
			r.push(repo, branch, files)
			r.notify("push", repo, branch)
		}
		f.Merge(gitOps, 1)
		f.Merge(gitOps, 2)
		push(platform, "dev", map[string]string{"config.yaml": config("west")})
		if got := openPulls(f); got != "kalypso/dev to dev" {
			t.Fatalf("before: %q", got)
		}
		push(platform, "qa", gitOpsFile("dev"))
		if got := openPulls(f); got != "" {
			t.Errorf("published all the same: %s", got)
		}
		for name, other := range map[string]string{"dev": "environments dev and qa both publish", "qa": "environments qa and dev both publish"} {
			if s := r.status(name); s.State != Failed || !strings.Contains(s.Error, other) || !strings.Contains(s.Error, "of its own") {
				t.Errorf("%s: %+v", name, s)
			}
		}
		if s := r.status("dev"); s.PullRequest != nil {
			t.Errorf("it shows a pull request that is closed: %+v", s.PullRequest)
		}
		if comments := f.Comments(gitOps, 3); len(comments) != 1 || !strings.Contains(strings.ReplaceAll(comments[0].Body, "`", ""), conflict) {
			t.Errorf("comments %q", comments)
		}
		runs := r.status("dev").Runs + r.status("qa").Runs
		if runs > 12 {
			t.Errorf("they wake each other: %d runs", runs)
		}

		push(platform, "qa", gitOpsFile("qa"))
		if got := openPulls(f); got != "kalypso/dev to dev" {
			t.Errorf("after the mend: %q", got)
		}
		if dev, qa := r.status("dev"), r.status("qa"); dev.State != Synced || qa.State != Synced {
			t.Errorf("after the mend: %+v, %+v", dev, qa)
		}
	})
}

// TestOneBranchForTwoOnce is the same where every environment is run once: neither
// is published, not even for a moment.
func TestOneBranchForTwoOnce(t *testing.T) {
	f := newPlatform("dev", "qa")
	f.Push(platform, "qa", gitOpsFile("dev"))
	w, err := New(Options{Forge: f, ControlPlane: model.Reference{Repo: forgefake.URL(platform)}, Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics()})
	if err != nil {
		t.Fatal(err)
	}
	report, err := w.RunOnce(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), conflict) || !report.HasErrors() {
		t.Errorf("error %v, report %+v", err, report)
	}
	if all := f.AllPullRequests(gitOps); len(all) != 0 {
		t.Errorf("published all the same: %+v", all)
	}
}

// TestOneBranchForTwoWhereOneIsRun is the same where one is all that is asked for.
func TestOneBranchForTwoWhereOneIsRun(t *testing.T) {
	f := newPlatform("dev", "qa")
	w, err := New(Options{Forge: f, ControlPlane: model.Reference{Repo: forgefake.URL(platform)}, Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics()})
	if err != nil {
		t.Fatal(err)
	}
	f.Push(platform, "qa", gitOpsFile("dev"))
	report, err := w.RunOnce(t.Context(), "qa")
	if err == nil || !strings.Contains(err.Error(), "qa and dev") || len(report.Environments) != 1 {
		t.Errorf("error %v, report %+v", err, report)
	}
	if got := openPulls(f); got != "" {
		t.Errorf("published all the same: %s", got)
	}
	f.Push(platform, "qa", gitOpsFile("qa"))
	if _, err := w.RunOnce(t.Context(), "qa"); err != nil {
		t.Errorf("after the mend: %v", err)
	}
	if got := openPulls(f); got != "kalypso/qa to qa" {
		t.Errorf("after the mend: %q", got)
	}
}

// TestOtherEnvironmentThatCannotBeRead is not what was asked for, and stops nothing.
func TestOtherEnvironmentThatCannotBeRead(t *testing.T) {
	f := newPlatform("dev", "qa")
	w, err := New(Options{Forge: f, ControlPlane: model.Reference{Repo: forgefake.URL(platform)}, Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics()})
	if err != nil {
		t.Fatal(err)
	}
	asked := false
	f.Down(func(c forgefake.Call) error {
		if c.Method != "Read" || c.Repo != forgefake.URL(platform) || c.Detail != "dev" {
			return nil
		}
		asked = true
		return errDown
	})
	if _, err := w.RunOnce(t.Context(), "qa"); err != nil || !asked {
		t.Errorf("error %v, asked %t", err, asked)
	}
	if got := openPulls(f); got != "kalypso/qa to qa" {
		t.Errorf("pull requests %q", got)
	}
}
