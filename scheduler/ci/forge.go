package ci

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Forge is what the verbs need of a git forge: what the scheduler needs, as far
// as it is about commits, pull requests and statuses, and [Actor]. Package
// forges has those that there are. Errors are those of package forge.
type Forge interface {
	Read(ctx context.Context, ref model.Reference) (*model.Tree, error)
	Head(ctx context.Context, ref model.Reference) (string, error)
	Commit(ctx context.Context, repo string, request forge.CommitRequest) (string, error)
	DeleteBranch(ctx context.Context, repo, branch string) error
	PullRequests(ctx context.Context, repo, head, base string) ([]forge.PullRequest, error)
	SavePullRequest(ctx context.Context, repo string, pr forge.PullRequest) (forge.PullRequest, error)
	SetStatus(ctx context.Context, repo, commit string, status forge.Status) error
	Actor
}

// Actor does what the scheduler leaves to people and their workflows.
type Actor interface {
	// Label adds labels to a pull request and makes those that the repository
	// does not have.
	Label(ctx context.Context, repo string, number int, labels []string) error
	// Merge merges a pull request whose branch is still at the commit head, by
	// a merge commit, and returns that commit. ErrNotYet says that another try
	// in a moment may do better.
	Merge(ctx context.Context, repo string, number int, head string) (string, error)
	// StartWorkflow starts a workflow by the name of its file, as it is on
	// branch ref.
	StartWorkflow(ctx context.Context, repo, file, ref string, inputs map[string]string) error
}

// ErrNotYet is wrapped by Merge's error when the forge is still working out
// whether the pull request can be merged.
var ErrNotYet = errors.New("the forge does not merge it yet")

// told adds what was being done to a forge's error, and ErrDenied where the
// forge has refused the token.
func told(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
	if errors.Is(err, gitclient.ErrDenied) && !errors.Is(err, ErrDenied) {
		err = &denied{err}
	}
	return err
}

// denied gives an error of a forge the mark that callers of this package know.
type denied struct{ error }

func (e *denied) Unwrap() []error { return []error{e.error, ErrDenied} }
