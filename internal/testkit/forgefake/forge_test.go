package forgefake_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const repo = "acme/gitops"

var ctx = context.Background()

func newForge() *forgefake.Forge {
	f := forgefake.New()
	f.Push(repo, "dev", map[string]string{"a": "1", "b": "1"})
	return f
}

func commit(f *forgefake.Forge, changes ...forge.Change) (string, error) {
	return f.Commit(ctx, repo, forge.CommitRequest{
		Branch: "kalypso/dev", Parent: f.Branch(repo, "dev"), Message: "m\n\nmore", When: time.Unix(1, 0), Changes: changes,
	})
}

// TestRefusesWhatForgesRefuse keeps the tests that use the forge honest.
func TestRefusesWhatForgesRefuse(t *testing.T) {
	f := newForge()
	if _, err := commit(f, forge.Change{Path: "a", Content: []byte("1")}); err == nil {
		t.Error("a commit that changes nothing is taken")
	}
	open := forge.PullRequest{Title: "t", Head: "kalypso/dev", Base: "dev", State: forge.Open}
	if _, err := f.SavePullRequest(ctx, repo, open); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("a pull request from nowhere: %v", err)
	}
	if _, err := commit(f, forge.Change{Path: "a", Content: []byte("2")}); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*forge.PullRequest){
		"long title": func(p *forge.PullRequest) { p.Title = strings.Repeat("é", forgefake.MaxTitle/2+1) },
		"no UTF-8":   func(p *forge.PullRequest) { p.Body = "\xff" },
		"a NUL":      func(p *forge.PullRequest) { p.Title = "a\x00" },
		"no title":   func(p *forge.PullRequest) { p.Title = "" },
		"long body":  func(p *forge.PullRequest) { p.Body = strings.Repeat("é", forgefake.MaxBody+1) },
	} {
		pr := open
		spoil(&pr)
		if _, err := f.SavePullRequest(ctx, repo, pr); err == nil {
			t.Errorf("%s: a pull request is taken", name)
		}
		if _, err := f.SaveIssue(ctx, repo, forge.Issue{Title: pr.Title, Body: pr.Body}); err == nil {
			t.Errorf("%s: an issue is taken", name)
		}
	}
	open.Title, open.Body = strings.Repeat("é", forgefake.MaxTitle/2), strings.Repeat("é", forgefake.MaxBody)
	if _, err := f.SavePullRequest(ctx, repo, open); err != nil {
		t.Errorf("as long as can be: %v", err)
	}
	if _, err := f.SavePullRequest(ctx, repo, open); err == nil {
		t.Error("a second pull request between the same branches is taken")
	}
	if err := f.DeleteBranch(ctx, repo, "dev"); err == nil {
		t.Error("a user's branch is deleted")
	}
}

func TestMergeAndConflicts(t *testing.T) {
	f := newForge()
	if _, err := commit(f, forge.Change{Path: "a", Content: []byte("2")}, forge.Change{Path: "b"}); err != nil {
		t.Fatal(err)
	}
	if got := f.Log(repo, "kalypso/dev"); !slices.Equal(got, []string{"Kalypso Scheduler: m", "a user: push 0"}) {
		t.Errorf("log %q", got)
	}
	n := f.OpenPullRequest(repo, "ann", "kalypso/dev", "dev")
	f.Push(repo, "dev", map[string]string{"c": "1", "a": "3"})
	if got := f.Conflicts(repo, n); !slices.Equal(got, []string{"a"}) {
		t.Errorf("conflicts %q", got)
	}
	f.Push(repo, "dev", map[string]string{"a": "2"})
	if got := f.Conflicts(repo, n); got != nil {
		t.Errorf("conflicts %q where both sides say the same", got)
	}
	f.Merge(repo, n)
	if got := f.Files(repo, "dev"); len(got) != 2 || got["a"] != "2" || got["c"] != "1" {
		t.Errorf("merged %v", got)
	}
}

func TestFaults(t *testing.T) {
	for when, want := range map[forgefake.When]int{forgefake.Before: 1, forgefake.Amid: 2, forgefake.After: 2} {
		f := newForge()
		f.FailOn(func(c forgefake.Call) bool { return c.Method == "SaveIssue" }, 2, when)
		for i := range 2 {
			if _, err := f.Head(ctx, model.Reference{Repo: forgefake.URL(repo), Branch: "dev"}); err != nil {
				t.Errorf("a call that does not match: %v", err)
			}
			if _, err := f.SaveIssue(ctx, repo, forge.Issue{Title: "t"}); errors.Is(err, forgefake.ErrInjected) != (i == 1) {
				t.Errorf("%s, issue %d: %v", when, i, err)
			}
		}
		if n := len(f.AllIssues(repo)); n != want {
			t.Errorf("%s: %d issues, want %d", when, n, want)
		}
		if n := len(f.Writes()); n != 2 {
			t.Errorf("%d writes", n)
		}
	}
	f := newForge()
	down := errors.New("down")
	f.Down(func(forgefake.Call) error { return down })
	for range 2 {
		if _, err := f.Issues(ctx, repo); !errors.Is(err, down) {
			t.Errorf("error %v", err)
		}
	}
	f.Down(nil)
	if _, err := f.Issues(ctx, repo); err != nil {
		t.Error(err)
	}
}

// TestLabelsAmid opens a pull request whose labels are not there yet.
func TestLabelsAmid(t *testing.T) {
	f := newForge()
	if _, err := commit(f, forge.Change{Path: "a", Content: []byte("2")}); err != nil {
		t.Fatal(err)
	}
	save := func(when forgefake.When, pr forge.PullRequest) []string {
		f.FailOn(func(c forgefake.Call) bool { return c.Method == "SavePullRequest" }, 1, when)
		if _, err := f.SavePullRequest(ctx, repo, pr); !errors.Is(err, forgefake.ErrInjected) {
			t.Errorf("error %v", err)
		}
		return f.AllPullRequests(repo)[0].Labels
	}
	pr := forge.PullRequest{Title: "t", Head: "kalypso/dev", Base: "dev", State: forge.Open, Labels: []string{forge.LabelMassDelete}}
	if got := save(forgefake.Amid, pr); len(got) != 0 {
		t.Errorf("opened with labels %q", got)
	}
	pr.Number = 1
	if got := save(forgefake.After, pr); len(got) != 1 {
		t.Errorf("saved with labels %q", got)
	}
	pr.Labels = nil
	if got := save(forgefake.Amid, pr); len(got) != 1 {
		t.Errorf("saved with labels %q, which go last", got)
	}
}
