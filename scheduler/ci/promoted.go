package ci

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

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
		return "", told(err, "reading %s at %.8s", file, commit)
	}
	return strings.TrimSpace(string(tree.Files[file])), nil
}
