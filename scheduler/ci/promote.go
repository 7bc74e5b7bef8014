package ci

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/promote"
)

// attempts bounds how often a write starts again because somebody has pushed to
// the branch meanwhile.
const attempts = 5

// Promotion says which commit of the control plane an environment shall take.
type Promotion struct {
	Repo        string // owner/name of the control plane
	URL         string // its URL
	Environment string
	Branch      string // the environment's branch; its name when empty
	Folder      string // of the environment in its branch; the root when empty
	Commit      string // of the control plane's default branch
	StatusURL   string
	Now         time.Time
}

// Promote pins the commit in the environment's branch and says so by a status
// on the commit. It tells whether it had to: a commit that is pinned already is
// left alone, and so is its status, which may say by now how it fares.
//
// It promotes what it is told to. That a commit has proved itself in the
// environment before is what the workflow has waited for.
func Promote(ctx context.Context, f Forge, p Promotion) (promoted bool, err error) {
	if err := fullCommit("--commit", p.Commit); err != nil {
		return false, err
	}
	if p.Environment == "" {
		return false, usage("promote to which environment? Give --environment")
	}
	if p.Branch == "" {
		p.Branch = p.Environment
	}
	for attempt := 1; ; attempt++ {
		promoted, err = pin(ctx, f, p)
		if errors.Is(err, forge.ErrMoved) && attempt < attempts {
			continue
		}
		break
	}
	if err != nil {
		return false, told(err, "promoting %.8s to environment %s", p.Commit, p.Environment)
	}
	if !promoted {
		return false, nil
	}
	_, err = SetStatus(ctx, f, StatusRequest{Repo: p.Repo, Commit: p.Commit, Environment: p.Environment, Phase: "promoted", URL: p.StatusURL})
	return true, err
}

func pin(ctx context.Context, f Forge, p Promotion) (bool, error) {
	// the commit is looked at first: an environment that pins one that is not
	// there has no templates and no workloads
	if _, err := f.Read(ctx, model.Reference{Repo: p.URL, Commit: p.Commit}); err != nil {
		if errors.Is(err, forge.ErrNotFound) {
			err = withHint(err, "the commit must be one of %s", p.Repo)
		}
		return false, err
	}
	branch, err := f.Read(ctx, model.Reference{Repo: p.URL, Branch: p.Branch})
	if err != nil {
		if errors.Is(err, forge.ErrNotFound) {
			err = withHint(err, "an environment whose branch is not called like it needs --branch")
		}
		return false, err
	}
	file, content, err := promote.Pin(branch, p.Folder, p.Commit)
	if err != nil {
		return false, err
	}
	if string(branch.Files[file]) == string(content) {
		return false, nil
	}
	_, err = f.Commit(ctx, p.Repo, forge.CommitRequest{
		Branch: p.Branch, Parent: branch.Commit, Expect: branch.Commit, FastForward: true,
		Message: fmt.Sprintf("Promote %.7s to %s\n\n%s\n", p.Commit, p.Environment, p.Commit),
		When:    p.Now.UTC().Truncate(time.Second),
		Changes: []forge.Change{{Path: file, Content: content}},
	})
	return err == nil, err
}
