package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// loading is one environment being loaded, with what its objects refer to.
type loading struct {
	platform      *Platform
	reader        *reader
	number        int    // of the environment, from 0
	path          string // of the environment on its branch
	env           *model.Environment
	bases         []string // names of the BaseRepos
	registrations []string
	pinned        model.Reference // what the BaseRepo named main refers to, when nothing was given for it
}

// load reads an environment without checking whether all that is given was
// of use.
func (p *Platform) load(ctx context.Context, name string, ref model.Reference, e *Environments) (*loading, error) {
	l := &loading{platform: p, reader: p.reader(e), path: ref.Path}
	l.number, _ = slices.BinarySearch(e.Names(), name)
	var err error
	l.env, err = model.LoadEnvironment(ctx, l.reader, name, ref, model.Substitute(l.instead))
	return l, err
}

// instead is the model's substitution.
func (l *loading) instead(ctx context.Context, kind, name string, ref model.Reference) (model.Reference, error) {
	switch kind {
	case v1alpha1.KindBaseRepo:
		l.bases = append(l.bases, name)
		return l.base(ctx, name, ref)
	case v1alpha1.KindWorkloadRegistration:
		l.registrations = append(l.registrations, name)
		if at := l.platform.workloads[name]; at != nil {
			return l.workload(ctx, at, ref)
		}
	}
	return ref, nil
}

// base finds what a BaseRepo refers to.
func (l *loading) base(ctx context.Context, name string, ref model.Reference) (model.Reference, error) {
	if name == model.MainBase && l.platform.base != nil {
		return inLocation(ctx, l.platform.base, ref)
	}
	if name == model.MainBase {
		l.pinned = ref
	}
	if f, ok := l.platform.control.(folder); ok && l.reader.isOwn(ref.Repo) {
		if ref.Commit != "" {
			l.platform.note("%s has no history, so its content stands for the pinned commit %s too", f, ref.Commit)
		}
		remainder := rest{folder: f, without: l.path, number: l.number}
		l.platform.name(remainder)
		return inLocation(ctx, remainder, ref)
	}
	return ref, nil
}

// inLocation turns a reference to a location that was given instead: a folder is
// taken as it is, a repository without a working tree by branch and commit.
func inLocation(ctx context.Context, at location, ref model.Reference) (model.Reference, error) {
	ref.Repo = at.name()
	switch at := at.(type) {
	case folder, rest:
		ref.Commit = ""
	case *repository:
		if at.top == "" {
			break
		}
		branch, onBranch, err := at.checkedOut(ctx)
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

// workload finds the registration's folder in a location that was given for it:
// the location is the repository, or that folder itself.
func (l *loading) workload(ctx context.Context, at location, ref model.Reference) (model.Reference, error) {
	ref, err := inLocation(ctx, at, ref)
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
		if model.Within(file, folder) {
			return true
		}
	}
	return false
}

// workloadKind finds a Workload also in a file that is not valid YAML: what is
// wrong with it is for the model to say.
var workloadKind = regexp.MustCompile(`(?m)^kind:\s*["']?` + v1alpha1.KindWorkload + `["']?\s*$`)

// holdsWorkload reports whether a Workload lies in the folder itself, and not
// somewhere below.
func holdsWorkload(tree *model.Tree) bool {
	for file, content := range tree.Files {
		if ext := path.Ext(file); (ext == ".yaml" || ext == ".yml") && !strings.Contains(file, "/") && workloadKind.Match(content) {
			return true
		}
	}
	return false
}

// checkBase finds a base that was given for an environment that has no use of
// it.
func (p *Platform) checkBase(l *loading) error {
	if p.base == nil || len(l.bases) == 0 || slices.Contains(l.bases, model.MainBase) {
		return nil
	}
	return &Error{
		Message: fmt.Sprintf("a base repository is given, which stands for the BaseRepo named %s, and environment %s has only %s",
			model.MainBase, l.env.Name, strings.Join(l.bases, ", ")),
	}
}

// checkWorkloads finds workloads that were given under names that no
// registration has. One that only other environments know has perhaps not been
// promoted to this one yet, which is worth a warning; one that none knows is an
// error, unless the registrations could not all be read.
func (p *Platform) checkWorkloads(ctx context.Context, l *loading, e *Environments) error {
	known := slices.Clone(l.registrations)
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(p.workloads)) {
		if !slices.Contains(known, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	incomplete := len(model.Errors(l.env.Diagnostics)) > 0
	for _, o := range e.Objects {
		if o.Name == l.env.Name || incomplete {
			continue
		}
		c := o.Spec.ControlPlane
		other, err := p.load(ctx, o.Name, model.Reference{Repo: c.Repo, Branch: c.Branch, Path: c.Path}, e)
		if err != nil {
			return err
		}
		known = append(known, other.registrations...)
		incomplete = len(model.Errors(other.env.Diagnostics)) > 0
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, name := range missing {
		if !incomplete && !slices.Contains(known, name) {
			return unknown("workload registration", name, known)
		}
		l.env.Diagnostics = append(l.env.Diagnostics, model.Diagnostic{
			Code:     model.NoEffect,
			Severity: model.Warning,
			Position: model.Position{Repo: redact.URL(l.env.ControlPlane.Repo), Branch: l.env.ControlPlane.Branch},
			Message:  fmt.Sprintf("no workload is registered as %s in environment %s, so what was given for it has no effect", name, l.env.Name),
			Hint:     "promote the registration to this environment first",
		})
	}
	slices.SortStableFunc(l.env.Diagnostics, func(a, b model.Diagnostic) int {
		return model.ComparePositions(a.Position, b.Position)
	})
	return nil
}

// notice notes why users may not see a change of their own.
func (p *Platform) notice(ctx context.Context, l *loading, e *Environments) error {
	r, ok := p.control.(*repository)
	if !ok || r.top == "" {
		return nil
	}
	name, ref := l.env.Name, l.env.ControlPlane
	if p.named(ref.Repo) == nil && !l.reader.isOwn(ref.Repo) {
		p.note("environment %s is read from %s, which is no remote of %s", name, redact.URL(ref.Repo), r.top)
	}
	current, onBranch, err := r.checkedOut(ctx)
	if err != nil {
		return err
	}
	environments := slices.ContainsFunc(e.Objects, func(o model.EnvironmentObject) bool {
		return o.Spec.ControlPlane.Branch == current
	})
	switch {
	case r.state.seen.Load() || environments || p.readsAsGiven(r.top):
	case onBranch:
		p.note("branch %s, which is checked out in %s, is no environment's and not read; branch %s in place of the default one reads it as that of an environment", current, r.top, headBranch)
	default:
		p.note("what is checked out in %s is on no branch and not read; branch %s in place of the default one reads it as that of an environment", r.top, headBranch)
	}
	if r.state.dirty.Load() && onBranch && l.pinned.Commit != "" && l.pinned.Branch == current && l.reader.isOwn(l.pinned.Repo) {
		p.note("environment %s takes branch %s at the pinned commit %.8s, so what is changed there has no effect; give %s as the base to see it", name, current, l.pinned.Commit, r.top)
	}
	return nil
}

// readsAsGiven reports whether a working tree is read because it, or a folder in
// it, was given in place of what the model names.
func (p *Platform) readsAsGiven(top string) bool {
	for _, at := range append(slices.Collect(maps.Values(p.workloads)), p.base) {
		if r, ok := at.(*repository); ok && r.top == top {
			return true
		}
	}
	return false
}
