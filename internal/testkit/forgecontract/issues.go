package forgecontract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

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
		s.Errorf("closed by a user: %+v", l)
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
