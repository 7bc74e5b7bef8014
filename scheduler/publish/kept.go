package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/markdown"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// maxKept is how many kept branches a pull request names: the newest.
const maxKept = 5

// foreign returns what the scheduler's branch holds where that is a commit of somebody
// else, which would be lost: nil where it is not, or where the branch's files shall be
// just so. after are these, nil for any. Of a branch that cannot be read nothing is
// known.
func (r *publisher) foreign(after map[string][]byte, branch func() (*model.Tree, error)) (*model.Tree, error) {
	present, err := branch()
	switch {
	case errors.Is(err, forge.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case present.Own, present.Commit == r.plan.GitOpsHead, after != nil && sameFiles(present.Files, after):
		return nil, nil
	}
	return present, nil
}

// keptBranch is where a commit on one of the scheduler's branches is kept.
func keptBranch(branch, commit string) string { return branch + "-kept-" + short(commit) }

// keep has a branch of its own for a commit that the scheduler's branch is about to
// lose, and does nothing where that is there.
func (r *publisher) keep(ctx context.Context, lost *model.Tree) error {
	if lost == nil {
		return nil
	}
	name := keptBranch(r.branch, lost.Commit)
	if _, err := r.forge.Read(ctx, model.Reference{Repo: lost.Repo, Branch: name}); !errors.Is(err, forge.ErrNotFound) {
		return err
	}
	_, err := r.forge.Commit(ctx, r.repo, forge.CommitRequest{
		Branch: name, Parent: lost.Commit, AllowEmpty: true, When: r.options.Now().UTC().Truncate(time.Second),
		Message: fmt.Sprintf("Keep %s of branch %s\n", short(lost.Commit), r.branch),
	})
	if err == nil {
		r.result.Writes++
	}
	return err
}

// keptComment says on a pull request what has become of a commit.
func (r *publisher) keptComment(lost *model.Tree) string {
	return fmt.Sprintf("Commit %s was pushed to branch %s, which is the scheduler's and holds what the control plane asks for. It is kept on branch %s. "+
		"A change that shall last goes into the control plane; any other into the base branch, by a pull request of its own.",
		markdown.Code(short(lost.Commit)), markdown.Code(r.branch), markdown.Code(keptBranch(r.branch, lost.Commit)))
}

// addKept adds the branch of a commit to those that a marker has.
func addKept(had, branch string) string {
	if branch == "" {
		return had
	}
	all := strings.FieldsFunc(had, func(r rune) bool { return r == ',' })
	if slices.Contains(all, branch) {
		return had
	}
	all = append(all, branch)
	return strings.Join(all[max(0, len(all)-maxKept):], ",")
}

// writeKept warns of commits that are not in the pull request.
func writeKept(b *strings.Builder, kept string) {
	if kept == "" {
		return
	}
	var names []string
	for name := range strings.SplitSeq(kept, ",") {
		names = append(names, markdown.Code(name))
	}
	fmt.Fprintf(b, "\n> **Not in here:** commits of others to this branch, which is the scheduler's. They are kept on %s.\n", strings.Join(names, ", "))
}
