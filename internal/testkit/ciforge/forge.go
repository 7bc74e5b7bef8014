// Package ciforge is a forge in memory for tests of workflow steps: that of
// forgefake, with what users and their workflows do beside the scheduler.
package ciforge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Server is the forge's address.
const Server = "http://forge.test"

// Forge is a ci.Forge.
type Forge struct {
	*forgefake.Forge
	// NotYet is how many tries of a merge the forge turns down as too early.
	NotYet int
	// Started are the workflows that were started, oldest first.
	Started []Start
}

// Start is a workflow that was started.
type Start struct {
	Repo, File, Ref string
	Inputs          map[string]string
}

var _ ci.Forge = (*Forge)(nil)

// New returns a forge without repositories.
func New() *Forge { return &Forge{Forge: forgefake.New()} }

// Label implements ci.Actor.
func (f *Forge) Label(_ context.Context, repo string, number int, labels []string) error {
	f.EditPullRequest(repo, number, func(pr *forge.PullRequest) {
		pr.Labels = slices.Compact(slices.Sorted(slices.Values(append(pr.Labels, labels...))))
	})
	return nil
}

// Merge implements ci.Actor.
func (f *Forge) Merge(_ context.Context, repo string, number int, head string) (string, error) {
	if f.NotYet > 0 {
		f.NotYet--
		return "", fmt.Errorf("%w: please try again later", forge.ErrNotYet)
	}
	for _, pr := range f.AllPullRequests(repo) {
		if pr.Number != number {
			continue
		}
		if at := f.Branch(repo, pr.Head); at != head {
			return "", fmt.Errorf("branch %s is at %s, not at %s", pr.Head, at, head)
		}
		if conflicts := f.Conflicts(repo, number); len(conflicts) > 0 {
			return "", fmt.Errorf("conflicts: %v", conflicts)
		}
		return f.Forge.Merge(repo, number), nil
	}
	return "", errors.New("no such pull request")
}

// StartWorkflow implements ci.Actor.
func (f *Forge) StartWorkflow(_ context.Context, repo, file, ref string, inputs map[string]string) error {
	if f.Branch(repo, ref) == "" {
		return fmt.Errorf("branch %s of %s: %w", ref, repo, forge.ErrNotFound)
	}
	f.Started = append(f.Started, Start{repo, file, ref, maps.Clone(inputs)})
	return nil
}
