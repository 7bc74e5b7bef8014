package forgecontract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
	if pr.Number == 0 || pr.Author == "" || pr.URL == "" {
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
		s.Errorf("closed by a person: %+v", l)
	}
	theirs := s.OpenPull(repo, "kalypso/dev", "dev")
	if l := s.list(repo); len(l) != 2 || l[0].Number != theirs || l[0].Own || !l[1].Own {
		s.Errorf("with a person's: %+v", l)
	}
	s.Close(repo, theirs)
	want.Number, want.Draft = 0, false
	pr = s.save(repo, want)
	s.Merge(repo, pr.Number)
	merged := s.list(repo)[0]
	if merged.State != forge.Merged || merged.Number != pr.Number || merged.MergeCommit == "" {
		s.Errorf("merged: %+v", merged)
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

func (s *suite) issues() {
	repo := s.Repo("gitops")
	s.Push(repo, "dev", map[string]string{"README.md": "x"})
	s.OpenIssue(repo, "theirs")
	i, err := s.f.SaveIssue(s.ctx, repo, forge.Issue{Title: "Can't generate", Body: body})
	if err != nil {
		s.Fatal(err)
	}
	want := forge.Issue{Number: i.Number, Title: "Can't generate", Body: body, State: forge.Open, Author: i.Author, URL: i.URL}
	if diff := cmp.Diff(want, i); diff != "" {
		s.Errorf("created (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]forge.Issue{want}, s.listIssues(repo)); diff != "" {
		s.Errorf("listed (-want +got):\n%s", diff)
	}
	for _, state := range []forge.State{forge.Closed, forge.Open} {
		want.State, want.Body = state, body+string(state)+"\n"
		if saved, err := s.f.SaveIssue(s.ctx, repo, want); err != nil || saved != want {
			s.Errorf("saved %+v, %v", saved, err)
		}
		if diff := cmp.Diff([]forge.Issue{want}, s.listIssues(repo)); diff != "" {
			s.Errorf("listed (-want +got):\n%s", diff)
		}
	}
	s.Close(repo, i.Number)
	if l := s.listIssues(repo); len(l) != 1 || l[0].State != forge.Closed {
		s.Errorf("closed by a person: %+v", l)
	}
	const many = 120 // more than a page
	for n := range many {
		if _, err := s.f.SaveIssue(s.ctx, repo, forge.Issue{Title: fmt.Sprint("many ", n)}); err != nil {
			s.Fatal(err)
		}
	}
	l := s.listIssues(repo)
	if len(l) != many+1 || l[0].Title != fmt.Sprint("many ", many-1) || l[many].Number != i.Number {
		s.Errorf("%d issues", len(l))
	}
	if _, err := s.f.Issues(s.ctx, repo+"-none"); !errors.Is(err, forge.ErrNotFound) {
		s.Errorf("no such repository: %v", err)
	}
	if _, err := s.f.SaveIssue(s.ctx, repo, forge.Issue{Body: "no title"}); err == nil {
		s.Error("an issue without a title was opened")
	}
}

func (s *suite) comments() {
	repo := s.Repo("gitops")
	s.Push(repo, "dev", map[string]string{"README.md": "x"})
	i, err := s.f.SaveIssue(s.ctx, repo, forge.Issue{Title: "t"})
	if err != nil {
		s.Fatal(err)
	}
	for _, text := range []string{"gone", "gone", "back", "gone"} {
		if err := s.f.Comment(s.ctx, repo, i.Number, text); err != nil {
			s.Fatal(err)
		}
	}
	if got := s.Comments(repo, i.Number); !slices.Equal(got, []string{"gone", "back", "gone"}) {
		s.Errorf("comments %q", got)
	}
}

func (s *suite) statuses() {
	repo := s.Repo("control-plane")
	commit := s.Push(repo, "main", map[string]string{"a": "b"})
	if got, err := s.f.Statuses(s.ctx, repo, commit); err != nil || len(got) != 0 {
		s.Errorf("statuses of a new commit: %v, %v", got, err)
	}
	long := strings.Repeat("é", 140)
	for _, status := range []forge.Status{
		{Context: "stage environment", State: forge.Pending, Description: "Promoted"},
		{Context: "dev environment", State: forge.Pending, Description: "Promoted"},
		{Context: "dev environment", State: forge.Success, Description: long, URL: "http://hub/"},
		{Context: "prod environment", State: forge.Failure},
	} {
		if err := s.f.SetStatus(s.ctx, repo, commit, status); err != nil {
			s.Fatal(err)
		}
	}
	got, err := s.f.Statuses(s.ctx, repo, commit)
	want := []forge.Status{
		{Context: "dev environment", State: forge.Success, Description: long, URL: "http://hub/"},
		{Context: "prod environment", State: forge.Failure},
		{Context: "stage environment", State: forge.Pending, Description: "Promoted"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		s.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := s.f.SetStatus(s.ctx, repo, strings.Repeat("1", 40), want[0]); !errors.Is(err, forge.ErrNotFound) {
		s.Errorf("status of a commit that is not there: %v", err)
	}
}
