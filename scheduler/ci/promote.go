package ci

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/promote"
)

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
// on the commit. It reports whether it had to: a commit that is pinned already is
// left alone, and so is its status, which may say by now how it fares.
//
// It promotes what the request names. That a commit has proved itself in the
// environment before is what the workflow has waited for.
func Promote(ctx context.Context, f Forge, p Promotion) (promoted bool, err error) {
	if err := fullCommit("--commit", p.Commit); err != nil {
		return false, err
	}
	if p.Environment == "" {
		return false, usage.Errorf("promote to which environment? Give --environment")
	}
	if p.Branch == "" {
		p.Branch = p.Environment
	}
	promoted, err = pin(ctx, f, p)
	if err != nil {
		return false, wrap(err, "promoting %.8s to environment %s", p.Commit, p.Environment)
	}
	if !promoted {
		return false, nil
	}
	_, err = SetStatus(ctx, f, StatusRequest{Repo: p.Repo, Commit: p.Commit, Environment: p.Environment, Phase: "promoted", URL: p.StatusURL})
	return true, err
}

func pin(ctx context.Context, f Forge, p Promotion) (bool, error) {
	// the commit is read first: an environment that pins one that is not there
	// has no templates and no workloads
	if _, err := f.Read(ctx, model.Reference{Repo: p.URL, Commit: p.Commit}); err != nil {
		if errors.Is(err, forge.ErrNotFound) {
			err = withHint(err, "the commit must be one of %s", p.Repo)
		}
		return false, err
	}
	promoted, err := promote.Pin(ctx, f, p.Repo, model.Reference{Repo: p.URL, Branch: p.Branch, Path: p.Folder}, p.Environment, p.Commit, p.Now)
	if errors.Is(err, forge.ErrNotFound) {
		err = withHint(err, "an environment whose branch is not called like it needs --branch")
	}
	return promoted, err
}

// Push is a push to a GitOps branch.
type Push struct {
	URL    string // of the repository
	Folder string // of the manifests in the branch; the root when empty
	Commit string // what the branch has now
	Before string // what it had before; "" for a new branch
}

// PromotedCommit returns the commit of the control plane that a push to a
// GitOps branch has promoted: the one in the scheduler's tracking file, if the
// push has changed it, or else "".
func PromotedCommit(ctx context.Context, f Forge, p Push) (string, error) {
	if err := fullCommit("GITHUB_SHA", p.Commit); err != nil {
		return "", err
	}
	now, err := p.tracked(ctx, f, p.Commit)
	if err != nil {
		return "", err
	}
	var old string
	if p.Before != "" {
		// A commit that is gone was pushed over: then all is new.
		if old, err = p.tracked(ctx, f, p.Before); err != nil && !errors.Is(err, forge.ErrNotFound) {
			return "", err
		}
	}
	if now == old {
		return "", nil
	}
	return now, nil
}

func (p Push) tracked(ctx context.Context, f Forge, commit string) (string, error) {
	file := path.Join(p.Folder, plan.PromotedPath)
	tree, err := f.Read(ctx, model.Reference{Repo: p.URL, Commit: commit})
	if err != nil {
		return "", wrap(err, "reading %s at %.8s", file, commit)
	}
	return strings.TrimSpace(string(tree.Files[file])), nil
}
