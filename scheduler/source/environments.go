package source

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// environments are the control plane's Environment objects, sorted by name,
// with what is wrong about them.
type environments struct {
	objects     []model.EnvironmentObject
	diagnostics []model.Diagnostic
	files       map[string][]byte // where they were looked for
}

// mayBe finds files that may hold an Environment, well written or not.
var mayBe = regexp.MustCompile(`(?i)\bkind["']?\s*:\s*["']?env`)

// broken returns the first error that may hide an object, and false when there
// is none. What is wrong with a file of other objects hides no Environment.
func (e *environments) broken() (model.Diagnostic, bool) {
	i := slices.IndexFunc(e.diagnostics, func(d model.Diagnostic) bool {
		return d.Severity == model.Error && mayBe.Match(e.files[d.Position.File])
	})
	if i < 0 {
		return model.Diagnostic{}, false
	}
	return e.diagnostics[i], true
}

// Environments returns the names of all environments, sorted, and what is
// wrong about their objects.
func (w *World) Environments(ctx context.Context) ([]string, []model.Diagnostic, error) {
	e, err := w.environments(ctx)
	if err != nil {
		return nil, nil, err
	}
	return names(e.objects), e.diagnostics, nil
}

// EnvironmentObjects returns what [World.Environments] returns the names of.
func (w *World) EnvironmentObjects(ctx context.Context) ([]model.EnvironmentObject, []model.Diagnostic, error) {
	e, err := w.environments(ctx)
	if err != nil {
		return nil, nil, err
	}
	return e.objects, e.diagnostics, nil
}

func names(objects []model.EnvironmentObject) []string {
	list := make([]string, len(objects))
	for i, o := range objects {
		list[i] = o.Name
	}
	return list
}

// environments reads the Environment objects, once, so that all parts of a
// World agree on them.
func (w *World) environments(ctx context.Context) (*environments, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	if w.found != nil {
		return w.found, nil
	}
	tree, err := w.control.read(ctx, w.branch, "")
	if errors.Is(err, model.ErrNotFound) {
		if origin := w.origin(); origin != nil {
			missing := err
			tree, err = origin.read(ctx, w.branch, "")
			err = stillMissing(missing, err)
		}
	}
	if errors.Is(err, model.ErrNotFound) {
		return nil, &Error{
			Message: fmt.Sprintf("control plane %s has no branch %s", w.control.name(), w.branch),
			Hint:    "name the branch that has the Environment objects",
			Err:     err,
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the control plane: %w", err)
	}
	found := &environments{files: tree.Files}
	found.objects, found.diagnostics = model.LoadEnvironments(tree, "")
	if len(found.objects)+len(found.diagnostics) == 0 && w.options.Branch == "" {
		if err := w.askOrigin(ctx, found); err != nil {
			return nil, err
		}
	}
	w.found = found
	return found, nil
}

// askOrigin reads the Environment objects from the server when a clone has
// none on any branch that could be its default: it may be one of a single
// branch, as build servers make them.
func (w *World) askOrigin(ctx context.Context, found *environments) error {
	origin := w.origin()
	if origin == nil || w.isPart() {
		return nil
	}
	tree, err := origin.read(ctx, headBranch, "")
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	if err != nil {
		return &Error{
			Message: fmt.Sprintf("branch %s of %s has no Environment objects, and its origin cannot be asked for them: %s", w.branch, w.control.name(), err),
			Hint:    "name the branch that has them",
			Err:     err,
		}
	}
	found.files = tree.Files
	found.objects, found.diagnostics = model.LoadEnvironments(tree, "")
	if len(found.objects) > 0 {
		w.note("the Environment objects are those of %s: branch %s of %s has none", origin.name(), w.branch, w.control.name())
	}
	return nil
}

// find returns where an environment is defined. Without any Environment
// object a branch that was asked for is taken to be the environment, and so is
// a folder that is no whole repository, as it is.
func (w *World) find(environment string, e *environments) (model.Reference, error) {
	for _, o := range e.objects {
		if c := o.Spec.ControlPlane; o.Name == environment {
			return model.Reference{Repo: c.Repo, Branch: c.Branch, Path: c.Path}, nil
		}
	}
	if d, broken := e.broken(); broken {
		return model.Reference{}, &Error{
			Message: fmt.Sprintf("there is no environment %s, as far as %s can be read: %s: %s", environment, w, d.Position, d.Message),
			Hint:    d.Hint,
		}
	}
	switch {
	case len(e.objects) > 0:
		return model.Reference{}, unknown("environment", environment, names(e.objects))
	case w.options.Branch != "":
		return model.Reference{Repo: w.control.name(), Branch: w.options.Branch}, nil
	case w.isPart():
		return inPlace(w.control, model.Reference{Branch: environment})
	}
	return model.Reference{}, &Error{
		Message: fmt.Sprintf("there is no environment %s: %s has no Environment objects", environment, w),
		Hint:    "name the branch that has them, or the one that is this environment",
	}
}

// isPart says whether the control plane is a folder without git, or one in a
// repository.
func (w *World) isPart() bool {
	switch p := w.control.(type) {
	case folder:
		return true
	case *repository:
		return p.prefix != ""
	}
	return false
}

// unknown is about a name that is none of those there are, which come with the
// nearest one first.
func unknown(what, name string, known []string) error {
	if len(known) == 0 {
		return &Error{Message: fmt.Sprintf("there is no %s %s, nor any other", what, name)}
	}
	e := &Error{}
	if near := model.Nearest(name, known); near != "" {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
		known = append([]string{near}, slices.DeleteFunc(slices.Clone(known), func(k string) bool { return k == near })...)
	}
	e.Message = fmt.Sprintf("there is no %s %s: choose one of %s", what, name, strings.Join(known, ", "))
	return e
}

// Files reads the control plane's own files: the working tree of a folder,
// whatever is checked out, unless Options.Branch names a branch.
func (w *World) Files(ctx context.Context) (*model.Tree, error) {
	ref := model.Reference{Branch: w.branch}
	if w.options.Branch == "" {
		var err error
		if ref, err = inPlace(w.control, ref); err != nil {
			return nil, err
		}
	}
	tree, err := w.control.read(ctx, ref.Branch, "")
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", w.control.name(), err)
	}
	return tree, nil
}
