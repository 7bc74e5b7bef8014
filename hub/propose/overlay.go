package propose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// overlay is a reader in which one branch, or one commit, has other files.
type overlay struct {
	model.Reader
	ref  model.Reference // without a folder
	tree *model.Tree
}

// Read implements model.Reader.
func (o overlay) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	ref.Path = ""
	if ref == o.ref {
		return o.tree, nil
	}
	return o.Reader.Read(ctx, ref)
}

// with is a tree with files changed, nil for those that go. It is of no commit.
func with(tree *model.Tree, changed map[string][]byte) *model.Tree {
	now := *tree
	now.Commit, now.Own, now.Files = "", false, maps.Clone(tree.Files)
	for file, content := range changed {
		if content == nil {
			delete(now.Files, file)
		} else {
			now.Files[file] = content
		}
	}
	return &now
}

// site is the branch that edits are made on: the environment's own, or that of a base repository
// which has what is edited.
type site struct {
	ref model.Reference // with the folder
	// read is how the environment reads it: its head, or the commit that a BaseRepo pins. There the
	// edits say what the environment would come to.
	read    model.Reference
	tree    *model.Tree
	planned map[string][]byte // the files that they change of it; nil for one that goes
	// head is the branch as it is now, and changed are the files of it, for the pull request.
	head    *model.Tree
	changed map[string][]byte
}

// folderless is a reference as an overlay knows it.
func folderless(ref model.Reference) model.Reference {
	ref.Path = ""
	return ref
}

// locate makes edits on the branch that has what they edit: a base repository's where the
// environment's own has not, and a new object goes to the environment's own.
func (e Environment) locate(ctx context.Context, edits []edit.Edit) (*site, error) {
	own, err := e.tree(ctx, e.ControlPlane, "")
	if err != nil {
		return nil, fmt.Errorf("reading branch %s of %s: %w", e.ControlPlane.Branch, redact.URL(e.ControlPlane.Repo), err)
	}
	if !slices.ContainsFunc(edits, func(one edit.Edit) bool { return has(own, e.ControlPlane.Path, one) }) {
		for _, base := range model.LoadBases(own, e.ControlPlane.Path) {
			at := model.Reference{Repo: base.Spec.Repo, Branch: base.Spec.Branch, Path: base.Spec.Path}
			shared, err := e.tree(ctx, at, "")
			if errors.Is(err, model.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(edits, func(one edit.Edit) bool { return has(shared, at.Path, one) }) {
				return e.onBase(ctx, at, shared, base.Spec.Commit, edits)
			}
		}
	}
	s := &site{ref: e.ControlPlane, read: folderless(e.ControlPlane), tree: own, head: own}
	s.planned, err = edit.Apply(own, e.ControlPlane.Path, edits)
	s.changed = s.planned
	return s, err
}

// has is whether a branch has the object that an edit names.
func has(tree *model.Tree, folder string, one edit.Edit) bool {
	kind, name := one.Object()
	if kind == "" {
		return false
	}
	_, err := edit.Find(tree, folder, kind, name)
	return !isMissing(err)
}

// onBase makes edits on a base repository's branch, and on the commit of it that is pinned.
func (e Environment) onBase(ctx context.Context, at model.Reference, head *model.Tree, pinned string, edits []edit.Edit) (*site, error) {
	s := &site{ref: at, read: folderless(at), head: head}
	s.read.Commit = pinned
	var err error
	if s.changed, err = edit.Apply(s.head, at.Path, edits); err != nil {
		return nil, err
	}
	if s.tree, err = e.tree(ctx, at, pinned); err != nil {
		return nil, err
	}
	s.planned, err = edit.Apply(s.tree, at.Path, edits)
	return s, err
}

// tree is a branch, or a commit of it that is pinned.
func (e Environment) tree(ctx context.Context, at model.Reference, pinned string) (*model.Tree, error) {
	at.Path, at.Commit = "", pinned
	tree, err := e.Reader.Read(ctx, at)
	if err != nil {
		return nil, err
	}
	named := *tree // one that was read by commit need not know its branch
	named.Repo, named.Branch = at.Repo, at.Branch
	return &named, nil
}

func isMissing(err error) bool {
	e, ok := errors.AsType[*edit.Error](err)
	return ok && e.Missing
}

// changes are the files that edits change of a tree, sorted by path.
func changes(tree *model.Tree, changed map[string][]byte) []plan.Change {
	var all []plan.Change
	for file, content := range changed {
		c := plan.Change{Path: file, Content: content, Action: plan.Modify}
		if _, known := tree.Files[file]; !known {
			c.Action = plan.Add
		} else if content == nil {
			c.Action = plan.Remove
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b plan.Change) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// Ahead is how many commits of a branch are newer than one of its own, 0 where that is not among
// the newest.
func Ahead(ctx context.Context, f controller.Repositories, branch model.Reference, head, commit string) int {
	found, err := f.History(ctx, branch.Repo, branch.Branch, nil)
	if err != nil {
		return 0 // that it has moved is known without
	}
	from, to := found.Index(head), found.Index(commit)
	if from < 0 || to < from {
		return 0
	}
	return to - from
}
