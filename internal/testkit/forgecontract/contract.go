// Package forgecontract holds a forge.Forge to what package forge promises. It is
// for the tests of forges: each makes a [Harness] of itself and runs the same
// [Parts], so that what passes on a fake is what a real forge does.
package forgecontract

import (
	"context"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Harness is a forge with the users beside the scheduler. What users do panics
// or ends the test when it is impossible.
type Harness interface {
	// Forge is the scheduler's account.
	Forge() forge.Forge
	// Repo makes an empty repository and returns its owner/name.
	Repo(name string) string
	CloneURL(repo string) string
	// Push makes a user's commit. An empty content removes a file.
	Push(repo, branch string, files map[string]string) (commit string)
	DeleteBranch(repo, branch string)
	Merge(repo string, number int)
	Close(repo string, number int)
	OpenPull(repo, head, base string) int
	OpenIssue(repo, title string) int
	Label(repo string, number int, label string)
	Unlabel(repo string, number int, label string)
	// Comments are the texts of a thread's comments, oldest first.
	Comments(repo string, number int) []string
}

// T is what the suite needs of a *testing.T.
type T interface {
	Context() context.Context
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// Parts are the parts of the suite by name. Each wants a Harness of its own.
func Parts() map[string]func(T, Harness) {
	parts := map[string]func(T, Harness){}
	for name, part := range map[string]func(*suite){
		"read":     (*suite).read,
		"commit":   (*suite).commit,
		"pulls":    (*suite).pulls,
		"labels":   (*suite).labels,
		"issues":   (*suite).issues,
		"comments": (*suite).comments,
		"statuses": (*suite).statuses,
		"reviews":  (*suite).reviews,
	} {
		parts[name] = func(t T, w Harness) { part(&suite{T: t, Harness: w, ctx: t.Context(), f: w.Forge()}) }
	}
	return parts
}

// suite is a part that runs.
type suite struct {
	T
	Harness
	ctx context.Context
	f   forge.Forge
}

func (s *suite) ref(repo, branch string) model.Reference {
	return model.Reference{Repo: s.CloneURL(repo), Branch: branch}
}

// make makes a commit on kalypso/dev.
func (s *suite) make(repo, parent string, files map[string]string) string {
	s.Helper()
	request := forge.CommitRequest{Branch: "kalypso/dev", Parent: parent, Message: "Kalypso: dev\n"}
	for path, content := range files {
		request.Changes = append(request.Changes, forge.Change{Path: path, Content: []byte(content)})
	}
	id, err := s.f.Commit(s.ctx, repo, request)
	if err != nil {
		s.Fatal(err)
	}
	return id
}

func (s *suite) save(repo string, pr forge.PullRequest) forge.PullRequest {
	s.Helper()
	saved, err := s.f.SavePullRequest(s.ctx, repo, pr)
	if err != nil {
		s.Fatal(err)
	}
	return saved
}

func (s *suite) list(repo string) []forge.PullRequest {
	s.Helper()
	l, err := s.f.PullRequests(s.ctx, repo, "kalypso/dev", "dev")
	if err != nil {
		s.Fatal(err)
	}
	return l
}

func (s *suite) listIssues(repo string) []forge.Issue {
	s.Helper()
	l, err := s.f.Issues(s.ctx, repo)
	if err != nil {
		s.Fatal(err)
	}
	return l
}
