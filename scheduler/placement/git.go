package placement

import (
	"context"

	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Repositories reads what a control plane names: a source.Platform, or a forge.
type Repositories interface {
	model.Reader
	// History is that of Git.
	History(ctx context.Context, repo, branch string, folders []string) (*gitclient.History, error)
}

// Platform is a Git of what a control plane names, as one of its environments sees it.
type Platform struct {
	Repositories
	Environment string
}

var _ Git = Platform{}

// Versions implements Git. The targets have the names that a plan gives them.
func (p Platform) Versions(ctx context.Context, repo, branch, commit string) (map[string]string, error) {
	tree, err := p.Read(ctx, model.Reference{Repo: repo, Branch: branch, Commit: commit})
	if err != nil {
		return nil, err
	}
	all, err := ci.Descriptors(tree)
	versions := map[string]string{}
	for _, d := range all {
		if d.Environment == p.Environment {
			versions[d.Workload+"-"+d.Target] = d.Version.Version
		}
	}
	return versions, err
}
