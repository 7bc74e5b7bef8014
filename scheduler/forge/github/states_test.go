package github_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// TestRefusedByRule has a ruleset refuse the push.
func TestRefusedByRule(t *testing.T) {
	w := newFixture(t)
	base := w.Push(gitOps, "dev", map[string]string{"a": "b"})
	w.RefusePush(gitOps, "error: GH013: Repository rule violations found for refs/heads/kalypso/dev.", "", "- Commits must have verified signatures.")
	if _, err := w.forge.Issues(t.Context(), gitOps); err != nil { // asks who it is
		t.Fatal(err)
	}
	_, err := w.forge.Commit(t.Context(), gitOps, forge.CommitRequest{Branch: "kalypso/dev", Parent: base, Message: "m", Changes: []forge.Change{{Path: "x", Content: []byte("x")}}})
	if !errors.Is(err, gitclient.ErrRefused) || !errors.Is(err, gitclient.ErrDenied) {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"remote: error: GH013", "verified signatures", "bypass list", w.bot.Login} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("there is no %q in %v", part, err)
		}
	}
	secret(t, w.bot.Token, err)
}

// TestMergedBehindTheList withdraws what is merged, and the list shows as open.
func TestMergedBehindTheList(t *testing.T) {
	s := newStory(t)
	s.play(t, s.plans[1])
	end := s.Lag(gitOps)
	s.Merge(gitOps, 1)
	p := *s.plans[1]
	p.GitOpsHead, p.Changes = s.Branch(gitOps, "dev"), nil
	for range 2 {
		if r, err := publish.Apply(t.Context(), s.forge, &p, publish.Options{}); err != nil || r.Action != publish.Nothing {
			t.Errorf("%+v, %v", r, err)
		}
		end()
	}
	if c := s.Comments(gitOps, 1); len(c) != 0 {
		t.Errorf("comments %q", c)
	}
}

// TestOpenedBehindTheList opens what was opened a moment ago, and the list does
// not show.
func TestOpenedBehindTheList(t *testing.T) {
	s := newStory(t)
	end := s.Lag(gitOps)
	s.play(t, s.plans[0])
	// GitHub refuses before its list is up to date, and answers after it
	s.Fail(githubfake.Fault{On: githubfake.Kinds("POST /repos/{owner}/{repo}/pulls"), Answer: func(w http.ResponseWriter, q *http.Request, run func() githubfake.Outcome) {
		end()
		run().Write(w)
	}})
	if wrong := s.play(t, s.plans[1]); len(wrong) > 0 {
		t.Error(wrong)
	}
	if all := s.Pulls(gitOps); len(all) != 1 || all[0].State != "open" || !strings.Contains(s.Files(gitOps, "kalypso/dev")["drone/web/namespace.yaml"], "2") {
		t.Errorf("%+v", all)
	}
}

// TestNothingToOpen opens a pull request from what its base has already.
func TestNothingToOpen(t *testing.T) {
	w := newFixture(t)
	base := w.Push(gitOps, "dev", map[string]string{"a": "b"})
	if _, err := w.forge.Commit(t.Context(), gitOps, forge.CommitRequest{Branch: "kalypso/dev", Parent: base, Message: "m", Changes: []forge.Change{{Path: "x", Content: []byte("x")}}}); err != nil {
		t.Fatal(err)
	}
	w.Merge(gitOps, w.Server.OpenPull(w.ann, gitOps, "t", "kalypso/dev", "dev"))
	if _, err := w.forge.SavePullRequest(t.Context(), gitOps, forge.PullRequest{Title: "t", Head: "kalypso/dev", Base: "dev", State: forge.Open}); !errors.Is(err, forge.ErrMoved) {
		t.Errorf("error %v", err)
	}
}

// TestActionsMayNotOpen is the setting that workflows' own tokens need.
func TestActionsMayNotOpen(t *testing.T) {
	w := newFixture(t)
	w.Push(gitOps, "dev", map[string]string{"a": "b"})
	w.Fail(githubfake.Fault{On: githubfake.Kinds("POST /repos/{owner}/{repo}/pulls"),
		Answer: githubfake.Status(http.StatusForbidden, "GitHub Actions is not permitted to create or approve pull requests.", "X-Accepted-GitHub-Permissions", "pull_requests=write")})
	_, err := w.forge.SavePullRequest(t.Context(), gitOps, forge.PullRequest{Title: "t", Head: "kalypso/dev", Base: "dev", State: forge.Open})
	if !errors.Is(err, gitclient.ErrDenied) || !strings.Contains(err.Error(), "Allow GitHub Actions to create and approve pull requests") {
		t.Errorf("error %v", err)
	}
}

// residency is a GitHub with data residency: its names are those of *.ghe.com.
type residency struct{ inProcess }

func (r *residency) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	if strings.HasPrefix(q.URL.Host, "api.") {
		q.URL.Path = "/api/v3" + q.URL.Path
	}
	return r.inProcess.RoundTrip(q)
}

// TestDataResidency finds an App's issues and pull requests by a name that is not
// quite its own.
func TestDataResidency(t *testing.T) {
	w := newFixture(t)
	w.Push(gitOps, "dev", map[string]string{"a": "b"})
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, w.App("kalypso", 7, 99), 0o600); err != nil {
		t.Fatal(err)
	}
	w.RenameUser("kalypso[bot]", "kalypso_acme[bot]")
	f, err := github.New(github.Options{URL: "https://acme.ghe.com", App: &github.App{ID: 7, Installation: 99, KeyFile: key},
		HTTP: &http.Client{Transport: &residency{inProcess{Server: w.Server}}}})
	if err != nil {
		t.Fatal(err)
	}
	w.Server.OpenIssue(w.ann, gitOps, "hers", "")
	if _, err := f.SaveIssue(t.Context(), gitOps, forge.Issue{Title: "t"}); err != nil {
		t.Fatal(err)
	}
	if all, err := f.Issues(t.Context(), gitOps); err != nil || len(all) != 1 || all[0].Title != "t" {
		t.Errorf("%+v, %v", all, err)
	}
	w.Push(gitOps, "kalypso/dev", map[string]string{"c": "d"})
	if pr, err := f.SavePullRequest(t.Context(), gitOps, forge.PullRequest{Title: "t", Head: "kalypso/dev", Base: "dev", State: forge.Open}); err != nil || !pr.Own {
		t.Errorf("%+v, %v", pr, err)
	}
}
