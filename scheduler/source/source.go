// Package source finds what the commands for people work on: a control plane,
// and the repositories that it names, in folders, behind git URLs, or both
// mixed. It only reads.
//
// A [World] is opened on a control plane, and everything else follows from
// what that says:
//
//	w, err := source.Open(ctx, source.Options{ControlPlane: "."})
//	env, err := w.Load(ctx, "dev")
//	gitops, err := w.GitOps(ctx, env)
//	p, err := plan.New(ctx, env, gitops)
//
// A folder in a git repository has branches like any clone, with one
// difference: the branch that is checked out is what the working tree holds,
// uncommitted and untracked files included, so that people see what a change
// does before they commit it. Everything else is read from git's objects, the
// local branch before the one last fetched from origin. A folder without git
// is the content of every branch.
//
// The platform model names repositories by URL. Where such a URL is a remote
// of the control plane's folder, the folder is read; what the folder has not
// got, a clone of one branch perhaps, is read from the server.
//
// The trap is a branch that is not checked out: files of the working tree do
// not belong to it. Somebody on branch feature who asks for an environment on
// branch dev sees dev; [Options.Branch] set to "feature", or to "HEAD" for
// whatever is checked out, shows the feature as that environment.
package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Options say where everything is read from. Each place is a folder or a git
// URL. What is not given is read where the platform model says it is.
//
// A folder given as Base or in Workloads is taken as it is, whatever branch is
// checked out in it and whatever commit the model pins: its content is what
// somebody wants to see the effect of. A URL there is read at the model's
// branch, and a pinned commit is honoured. GitOps has a branch for each
// environment, so it is read by branch in both cases.
//
// Branch names the one with the Environment objects. One that has none is read
// as the branch of whatever environment is asked for.
type Options struct {
	ControlPlane string            // required
	Branch       string            // "" is the repository's default, "HEAD" what is checked out
	Base         string            // in place of the repository that the BaseRepo named main names
	Workloads    map[string]string // by registration, in place of the workload's repository
	GitOps       string            // in place of the repository that the GitOpsRepo names
	// Credentials returns user and password for a URL, both "" for none.
	Credentials func(url string) (user, password string)
	// Note gets what a person should know about where things are read, each
	// note once. It may be nil.
	Note func(note string)
}

// World is a control plane with everything around it. It may be used by
// several goroutines.
type World struct {
	options   Options
	client    *gitclient.Client
	control   place
	remotes   []string // URLs of the control plane's folder
	branch    string   // with the Environment objects
	base      place    // nil when it is not given
	gitOps    place    // nil when it is not given
	workloads map[string]place

	naming sync.Mutex
	given  map[string]place // places by name: all of these, and more as they are needed

	reading sync.Mutex
	found   *environments // nil before they were read

	noting sync.Mutex
	notes  map[string]bool
}

// Open looks at the control plane and checks that all places are there.
func Open(ctx context.Context, o Options) (*World, error) {
	w := &World{
		options:   o,
		client:    gitclient.New(&http.Client{}, cacheBytes),
		workloads: map[string]place{},
		given:     map[string]place{},
		notes:     map[string]bool{},
	}
	open := func(what, named string) (place, error) {
		p, err := w.openPlace(ctx, what, named)
		if err == nil {
			w.name(p)
		}
		return p, err
	}
	var err error
	if w.control, err = open("control plane", o.ControlPlane); err != nil {
		return nil, err
	}
	if r, ok := w.control.(*repository); ok {
		if w.remotes, err = r.remotes(); err != nil {
			return nil, fmt.Errorf("control plane: %w", err)
		}
	}
	if o.Base != "" {
		if w.base, err = open("base repository", o.Base); err != nil {
			return nil, err
		}
	}
	if o.GitOps != "" {
		if w.gitOps, err = open("GitOps repository", o.GitOps); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Workloads)) {
		if w.workloads[name], err = open("workload "+name, o.Workloads[name]); err != nil {
			return nil, err
		}
	}
	if w.branch = o.Branch; w.branch == "" {
		if w.branch, err = w.control.defaultBranch(ctx); err != nil {
			return nil, fmt.Errorf("control plane: %w", err)
		}
	}
	return w, nil
}

// Load reads one environment's platform model. An unknown environment is an
// error that names those there are, and so is an unknown name in
// Options.Workloads.
func (w *World) Load(ctx context.Context, environment string) (*model.Environment, error) {
	e, err := w.environments(ctx)
	if err != nil {
		return nil, err
	}
	ref, err := w.find(environment, e)
	if err != nil {
		return nil, err
	}
	l, err := w.load(ctx, environment, ref, e)
	if err != nil {
		return nil, err
	}
	if err := w.checkBase(l); err != nil {
		return nil, err
	}
	if err := w.checkWorkloads(ctx, l, e); err != nil {
		return nil, err
	}
	if err := w.notice(l, e); err != nil {
		return nil, err
	}
	return l.env, nil
}

// GitOps reads the present content of an environment's GitOps branch; nil when
// there is none yet.
func (w *World) GitOps(ctx context.Context, env *model.Environment) (*model.Tree, error) {
	if env.GitOps.Repo == "" {
		return nil, nil
	}
	var tree *model.Tree
	var err error
	if w.gitOps != nil {
		tree, err = w.gitOps.read(ctx, env.GitOps.Branch, "")
	} else {
		tree, err = w.Read(ctx, env.GitOps)
	}
	if errors.Is(err, model.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the GitOps branch of environment %s: %w", env.Name, err)
	}
	return tree, nil
}

// Read implements model.Reader. It reads a reference where Load has read it:
// those of an environment's Sources, above all.
func (w *World) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	e, err := w.environments(ctx)
	if err != nil {
		return nil, err
	}
	return w.reader(e).Read(ctx, ref)
}

// name makes a place known to readers by its name.
func (w *World) name(p place) {
	w.naming.Lock()
	defer w.naming.Unlock()
	w.given[p.name()] = p
}

// named returns the place of a name, nil when it is none.
func (w *World) named(name string) place {
	w.naming.Lock()
	defer w.naming.Unlock()
	return w.given[name]
}

// String names the branch that the Environment objects are read from.
func (w *World) String() string {
	if _, plain := w.control.(folder); plain {
		return w.control.name()
	}
	return fmt.Sprintf("branch %s of %s", w.branch, w.control.name())
}

// note tells a person something once.
func (w *World) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.noting.Lock()
	defer w.noting.Unlock()
	if w.options.Note != nil && !w.notes[text] {
		w.options.Note(text)
	}
	w.notes[text] = true
}

// Remotes returns the URLs that the control plane's folder knows as its own.
func (w *World) Remotes() []string { return slices.Clone(w.remotes) }
