package source

import (
	"context"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// mainBase is the name of the BaseRepo that Options.Base replaces.
const mainBase = "main"

// loading is one environment being loaded, with what its objects refer to.
type loading struct {
	world         *World
	reader        *reader
	number        int    // of the environment, from 0
	path          string // of the environment on its branch
	env           *model.Environment
	bases         []string // names of the BaseRepos
	registrations []string
	pinned        model.Reference // what the BaseRepo named main refers to, when nothing was given for it
}

// load reads an environment without a look at whether all that is given was
// of use.
func (w *World) load(ctx context.Context, name string, ref model.Reference, e *environments) (*loading, error) {
	l := &loading{world: w, reader: w.reader(e), path: ref.Path}
	l.number, _ = slices.BinarySearch(names(e.objects), name)
	var err error
	l.env, err = model.LoadEnvironment(ctx, l.reader, name, ref, model.Substitute(l.instead))
	return l, err
}

// instead is the model's substitution.
func (l *loading) instead(ctx context.Context, kind, name string, ref model.Reference) (model.Reference, error) {
	switch kind {
	case v1alpha1.KindBaseRepo:
		l.bases = append(l.bases, name)
		return l.base(name, ref)
	case v1alpha1.KindWorkloadRegistration:
		l.registrations = append(l.registrations, name)
		if p := l.world.workloads[name]; p != nil {
			return l.workload(ctx, p, ref)
		}
	}
	return ref, nil
}

// base finds what a BaseRepo refers to.
func (l *loading) base(name string, ref model.Reference) (model.Reference, error) {
	if name == mainBase && l.world.base != nil {
		return inPlace(l.world.base, ref)
	}
	if name == mainBase {
		l.pinned = ref
	}
	if f, ok := l.world.control.(folder); ok && l.reader.isOwn(ref.Repo) {
		if ref.Commit != "" {
			l.world.note("%s has no history, so its content stands for the pinned commit %s too", f, ref.Commit)
		}
		remainder := rest{folder: f, without: l.path, number: l.number}
		l.world.name(remainder)
		return inPlace(remainder, ref)
	}
	return ref, nil
}

// inPlace turns a reference to a place that was given instead: a folder is
// taken as it is, a repository without a working tree by branch and commit.
func inPlace(p place, ref model.Reference) (model.Reference, error) {
	ref.Repo = p.name()
	switch p := p.(type) {
	case folder, rest:
		ref.Commit = ""
	case *repository:
		if p.top == "" {
			break
		}
		branch, onBranch, err := p.checkedOut()
		if err != nil {
			return model.Reference{}, err
		}
		if !onBranch {
			branch = headBranch
		}
		ref.Branch, ref.Commit = branch, ""
	}
	return ref, nil
}

// workload finds the registration's folder in a place that was given for it:
// the place is the repository, or that folder itself.
func (l *loading) workload(ctx context.Context, p place, ref model.Reference) (model.Reference, error) {
	ref, err := inPlace(p, ref)
	if err != nil {
		return model.Reference{}, err
	}
	tree, err := l.reader.Read(ctx, ref)
	if errors.Is(err, model.ErrNotFound) {
		return ref, nil
	}
	if err != nil {
		return model.Reference{}, err
	}
	if !hasFolder(tree, ref.Path) && holdsWorkload(tree) {
		ref.Path = ""
	}
	return ref, nil
}

func hasFolder(tree *model.Tree, folder string) bool {
	for file := range tree.Files {
		if within(file, folder) {
			return true
		}
	}
	return false
}

// workloadKind finds a Workload also in a file that is not valid YAML: what is
// wrong with it is for the model to say.
var workloadKind = regexp.MustCompile(`(?m)^kind:\s*["']?` + v1alpha1.KindWorkload + `["']?\s*$`)

// holdsWorkload says whether a Workload lies in the folder itself, and not
// somewhere below.
func holdsWorkload(tree *model.Tree) bool {
	for file, content := range tree.Files {
		if ext := path.Ext(file); (ext == ".yaml" || ext == ".yml") && !strings.Contains(file, "/") && workloadKind.Match(content) {
			return true
		}
	}
	return false
}
