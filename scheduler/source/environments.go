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

// Environments are the control plane's Environment objects, sorted by name,
// with what is wrong about them.
type Environments struct {
	Objects     []model.EnvironmentObject
	Diagnostics []model.Diagnostic
	files       map[string][]byte // where they were looked for
}

// Names are those of the objects.
func (e *Environments) Names() []string {
	var names []string
	for _, o := range e.Objects {
		names = append(names, o.Name)
	}
	return names
}

// mayBe finds files that may hold an Environment, well written or not.
var mayBe = regexp.MustCompile(`(?i)\bkind["']?\s*:\s*["']?env`)

// broken returns the first error that may hide an object, and false when there
// is none. What is wrong with a file of other objects hides no Environment.
func (e *Environments) broken() (model.Diagnostic, bool) {
	for _, d := range model.Errors(e.Diagnostics) {
		if mayBe.Match(e.files[d.Position.File]) {
			return d, true
		}
	}
	return model.Diagnostic{}, false
}

// Environments reads the Environment objects, once, so that all parts of a
// Platform agree on them.
func (p *Platform) Environments(ctx context.Context) (*Environments, error) {
	p.reading.Lock()
	defer p.reading.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	tree, err := p.control.read(ctx, p.branch, "")
	if errors.Is(err, model.ErrNotFound) {
		if origin := p.origin(); origin != nil {
			missing := err
			tree, err = origin.read(ctx, p.branch, "")
			err = stillMissing(missing, err)
		}
	}
	if errors.Is(err, model.ErrNotFound) {
		return nil, &Error{
			Message: fmt.Sprintf("control plane %s has no branch %s", p.control.name(), p.branch),
			Hint:    "name the branch that has the Environment objects",
			Err:     err,
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the control plane: %w", err)
	}
	found := &Environments{files: tree.Files}
	found.Objects, found.Diagnostics = model.LoadEnvironments(tree, "")
	if len(found.Objects)+len(found.Diagnostics) == 0 && p.options.Branch == "" {
		if err := p.askOrigin(ctx, found); err != nil {
			return nil, err
		}
	}
	p.found = found
	return found, nil
}

// askOrigin reads the Environment objects from the server when a clone has
// none on any branch that could be its default: it may be one of a single
// branch, as build servers make them.
func (p *Platform) askOrigin(ctx context.Context, found *Environments) error {
	origin := p.origin()
	if origin == nil || p.isPart() {
		return nil
	}
	tree, err := origin.read(ctx, headBranch, "")
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	if err != nil {
		return &Error{
			Message: fmt.Sprintf("branch %s of %s has no Environment objects, and its origin cannot be asked for them: %s", p.branch, p.control.name(), err),
			Hint:    "name the branch that has them",
			Err:     err,
		}
	}
	found.files = tree.Files
	found.Objects, found.Diagnostics = model.LoadEnvironments(tree, "")
	if len(found.Objects) > 0 {
		p.note("the Environment objects are those of %s: branch %s of %s has none", origin.name(), p.branch, p.control.name())
	}
	return nil
}

// find returns where an environment is defined. Without any Environment
// object a branch that was asked for is taken to be the environment, and so is
// a folder that is no whole repository, as it is.
func (p *Platform) find(ctx context.Context, environment string, e *Environments) (model.Reference, error) {
	for _, o := range e.Objects {
		if c := o.Spec.ControlPlane; o.Name == environment {
			return model.Reference{Repo: c.Repo, Branch: c.Branch, Path: c.Path}, nil
		}
	}
	if d, broken := e.broken(); broken {
		return model.Reference{}, &Error{
			Message: fmt.Sprintf("there is no environment %s, as far as %s can be read: %s: %s", environment, p, d.Position, d.Message),
			Hint:    d.Hint,
		}
	}
	switch {
	case len(e.Objects) > 0:
		return model.Reference{}, unknown("environment", environment, e.Names())
	case p.options.Branch != "":
		return model.Reference{Repo: p.control.name(), Branch: p.options.Branch}, nil
	case p.isPart():
		return inLocation(ctx, p.control, model.Reference{Branch: environment})
	}
	return model.Reference{}, &Error{
		Message: fmt.Sprintf("there is no environment %s: %s has no Environment objects", environment, p),
		Hint:    "name the branch that has them, or the one that is this environment",
	}
}

// isPart reports whether the control plane is a folder without git, or one in a
// repository.
func (p *Platform) isPart() bool {
	switch at := p.control.(type) {
	case folder:
		return true
	case *repository:
		return at.isPart()
	}
	return false
}

// unknown is about a name that is none of those there are, which come with the
// nearest one first.
func unknown(what, name string, known []string) error {
	if len(known) == 0 {
		return &Error{Message: fmt.Sprintf("there is no %s %s, nor any other", what, name), Unknown: true}
	}
	e := &Error{Unknown: true}
	if near := model.Nearest(name, known); near != "" {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
		known = append([]string{near}, slices.DeleteFunc(slices.Clone(known), func(k string) bool { return k == near })...)
	}
	e.Message = fmt.Sprintf("there is no %s %s: choose one of %s", what, name, strings.Join(known, ", "))
	return e
}

// Files reads the control plane's own files: the working tree of a folder,
// whatever is checked out, unless Options.Branch names a branch.
func (p *Platform) Files(ctx context.Context) (*model.Tree, error) {
	ref := model.Reference{Branch: p.branch}
	if p.options.Branch == "" {
		var err error
		if ref, err = inLocation(ctx, p.control, ref); err != nil {
			return nil, err
		}
	}
	tree, err := p.control.read(ctx, ref.Branch, "")
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", p.control.name(), err)
	}
	return tree, nil
}
