package forgecontract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// body is a text with all that a forge might want to change.
const body = "text\n\n| a | b |\n| --- | --- |\n| é | <b> |\n\n<!-- kalypso:plan sha256=1 environment=dev -->\n"

func (s *suite) pulls() {
	repo := s.Repo("gitops")
	base := s.Push(repo, "dev", map[string]string{"README.md": "x"})
	if l := s.list(repo); len(l) != 0 {
		s.Errorf("pull requests of a new repository: %+v", l)
	}
	first := s.make(repo, base, map[string]string{"a.yaml": "1"})
	want := forge.PullRequest{Title: "Kalypso: dev", Body: body, Head: "kalypso/dev", Base: "dev", State: forge.Open}
	pr := s.save(repo, want)
	want.Number, want.HeadCommit, want.Author, want.Own, want.URL = pr.Number, first, pr.Author, true, pr.URL
	want.Created = pr.Created
	if pr.Number == 0 || pr.Author == "" || pr.URL == "" || !recent(pr.Created) {
		s.Errorf("created %+v", pr)
	}
	if diff := cmp.Diff(want, pr); diff != "" {
		s.Errorf("created (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]forge.PullRequest{want}, s.list(repo)); diff != "" {
		s.Errorf("listed (-want +got):\n%s", diff)
	}
	if _, err := s.f.SavePullRequest(s.ctx, repo, forge.PullRequest{Title: "again", Head: "kalypso/dev", Base: "dev", State: forge.Open}); err == nil {
		s.Error("a second pull request between the same branches was opened")
	}
	second := s.make(repo, base, map[string]string{"a.yaml": "2"})
	if l := s.list(repo); l[0].HeadCommit != second {
		s.Errorf("the pull request does not follow its branch: %+v", l)
	}

	for _, draft := range []bool{true, true, false} {
		want.Draft, want.HeadCommit, want.Title = draft, second, fmt.Sprintf("draft %t", draft)
		if diff := cmp.Diff(want, s.save(repo, want)); diff != "" {
			s.Errorf("draft %t (-want +got):\n%s", draft, diff)
		}
		if diff := cmp.Diff([]forge.PullRequest{want}, s.list(repo)); diff != "" {
			s.Errorf("draft %t, listed (-want +got):\n%s", draft, diff)
		}
	}

	s.Close(repo, pr.Number)
	if l := s.list(repo); len(l) != 1 || l[0].State != forge.Closed {
		s.Errorf("closed by a user: %+v", l)
	}
	theirs := s.OpenPull(repo, "kalypso/dev", "dev")
	if l := s.list(repo); len(l) != 2 || l[0].Number != theirs || l[0].Own || !l[1].Own {
		s.Errorf("with a user's: %+v", l)
	}
	s.Close(repo, theirs)
	want.Number, want.Draft = 0, false
	pr = s.save(repo, want)
	s.Merge(repo, pr.Number)
	merged := s.list(repo)[0]
	if merged.State != forge.Merged || merged.Number != pr.Number || merged.MergeCommit == "" || !recent(merged.Created) || !recent(merged.Merged) || merged.Merged.Before(merged.Created) {
		s.Errorf("merged: %+v", merged)
	}
	if one, ok := s.f.(reader); ok { // the lists of such a forge do not say who
		var err error
		if merged.MergedBy, err = one.MergedBy(s.ctx, repo, pr.Number); err != nil {
			s.Error(err)
		}
	}
	if merged.MergedBy == "" {
		s.Errorf("merged by nobody: %+v", merged)
	}
	if head, err := s.f.Head(s.ctx, s.ref(repo, "dev")); err != nil || head != merged.MergeCommit {
		s.Errorf("head %s, %v, want the merge commit %s", head, err, merged.MergeCommit)
	}
	head, _ := s.f.Head(s.ctx, s.ref(repo, "dev"))
	s.make(repo, head, map[string]string{"a.yaml": "3"})
	last := s.save(repo, want)
	last.State, last.Body = forge.Closed, "closed"
	if last = s.save(repo, last); last.State != forge.Closed || last.Body != "closed" {
		s.Errorf("closed: %+v", last)
	}
	if err := s.f.DeleteBranch(s.ctx, repo, "kalypso/dev"); err != nil {
		s.Error(err)
	}
	if l := s.list(repo); len(l) == 0 || l[0].Number != last.Number || l[0].Head != "kalypso/dev" {
		s.Errorf("without the branch: %+v", l)
	}
	if _, err := s.f.SavePullRequest(s.ctx, repo, want); err == nil {
		s.Error("a pull request from a branch that is not there was opened")
	}
	if l, err := s.f.PullRequests(s.ctx, repo+"-none", "kalypso/dev", "dev"); !errors.Is(err, forge.ErrNotFound) {
		s.Errorf("no such repository: %v, %v", l, err)
	}
}

// reader reads one pull request.
type reader interface {
	MergedBy(ctx context.Context, repo string, number int) (string, error)
}

// recent is whether a time is of this run, as far as clocks agree.
func recent(t time.Time) bool { return t.Location() == time.UTC && time.Since(t).Abs() < time.Hour }

func (s *suite) labels() {
	repo := s.Repo("gitops")
	s.make(repo, s.Push(repo, "dev", map[string]string{"README.md": "x"}), map[string]string{"a.yaml": "1"})
	pr := s.save(repo, forge.PullRequest{
		Title: "t", Body: body, Head: "kalypso/dev", Base: "dev", State: forge.Open, Draft: true, Labels: []string{forge.LabelMassDelete, forge.LabelPromoted},
	})
	if want := []string{forge.LabelMassDelete, forge.LabelPromoted}; !slices.Equal(pr.Labels, want) || !pr.Draft {
		s.Errorf("opened %+v", pr)
	}
	s.Label(repo, pr.Number, "theirs")
	s.Unlabel(repo, pr.Number, forge.LabelMassDelete)
	if got := s.list(repo)[0].Labels; !slices.Equal(got, []string{forge.LabelPromoted, "theirs"}) {
		s.Errorf("labels %q", got)
	}
	pr.Labels = []string{forge.LabelMassDelete}
	if got := s.save(repo, pr).Labels; !slices.Equal(got, []string{forge.LabelMassDelete, "theirs"}) {
		s.Errorf("saved labels %q", got)
	}
	pr.Labels = nil
	if got := s.save(repo, pr).Labels; !slices.Equal(got, []string{"theirs"}) {
		s.Errorf("saved labels %q", got)
	}
	if got := s.list(repo)[0].Labels; !slices.Equal(got, []string{"theirs"}) {
		s.Errorf("labels %q", got)
	}
}

// reviewed is a forge that says what others say about a pull request, and reviewing a harness whose
// user does.
type (
	reviewed interface {
		Reviews(ctx context.Context, repo string, number int) ([]forge.Review, error)
		PullRequestCommits(ctx context.Context, repo string, number int) ([]forge.CommitHead, error)
		Checks(ctx context.Context, repo, commit string) ([]forge.Status, error)
	}
	reviewing interface {
		Review(repo string, number int, verdict forge.Verdict)
	}
)

func (s *suite) reviews() {
	f, ok := s.f.(reviewed)
	user, can := s.Harness.(reviewing)
	if !ok || !can {
		return // the scheduler does not need it
	}
	repo := s.Repo("gitops")
	parent := s.Push(repo, "dev", map[string]string{"README.md": "x"})
	first := s.make(repo, parent, map[string]string{"a.yaml": "1"})
	second, err := s.f.Commit(s.ctx, repo, forge.CommitRequest{
		Branch: "kalypso/dev", Parent: first, Expect: first, Message: "second\n\nmore", Changes: []forge.Change{{Path: "b.yaml", Content: []byte("2")}},
	})
	if err != nil {
		s.Fatal(err)
	}
	pr := s.save(repo, forge.PullRequest{Title: "t", Body: body, Head: "kalypso/dev", Base: "dev", State: forge.Open})
	for _, step := range []struct {
		verdict  forge.Verdict
		approved bool
	}{{"", false}, {forge.RequestsChanges, false}, {forge.Approves, true}} {
		if step.verdict != "" {
			user.Review(repo, pr.Number, step.verdict)
		}
		all, err := f.Reviews(s.ctx, repo, pr.Number)
		got := forge.ApprovalOf(all)
		if err != nil || got.At.IsZero() == step.approved || (got.By != "") != step.approved || step.approved && !recent(got.At) {
			s.Errorf("after %q: %+v, %v", step.verdict, got, err)
		}
	}
	commits, err := f.PullRequestCommits(s.ctx, repo, pr.Number)
	if err != nil || len(commits) != 2 || commits[0].ID != second || commits[1].ID != first || commits[0].Subject != "second" || commits[0].Author == "" {
		s.Errorf("commits: %+v, %v", commits, err)
	}
	if err := s.f.SetStatus(s.ctx, repo, second, forge.Status{Context: "build", State: forge.Failure}); err != nil {
		s.Error(err)
	}
	if got, err := f.Checks(s.ctx, repo, second); err != nil || len(got) != 1 || got[0].Context != "build" || got[0].State != forge.Failure {
		s.Errorf("checks: %+v, %v", got, err)
	}
	if _, err := f.Reviews(s.ctx, repo, pr.Number+1000); !errors.Is(err, forge.ErrNotFound) {
		s.Errorf("reviews of a pull request that is not there: %v", err)
	}
}
