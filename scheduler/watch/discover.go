package watch

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// discover reads the Environment objects and starts, changes and stops
// following accordingly. An environment is given up only when the control
// plane was read and understood: an error is no order to stop.
func (w *Watcher) discover(ctx context.Context, running *sync.WaitGroup) error {
	found, understood, err := w.listed(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, ref := range found {
		if e, ok := w.environments[name]; ok {
			e.move(ref)
			continue
		}
		e := newEnvironment(name, ref)
		w.environments[name] = e
		w.options.Pool.Join(&e.loader)
		own, cancel := context.WithCancel(ctx)
		e.stop = cancel
		before := w.ended[name]
		delete(w.ended, name)
		w.log.Info("following environment", "environment", name, "branch", ref.Branch)
		running.Go(func() {
			defer close(e.ended)
			if before != nil {
				<-before // it was given up a moment ago, and its last run may go on
			}
			w.follow(own, e)
			w.options.Pool.Leave(&e.loader)
			if ctx.Err() == nil {
				// given up; its last run has been counted by now
				w.options.Metrics.forget(w.name, name)
			}
		})
	}
	for name, e := range w.environments {
		if _, ok := found[name]; ok || !understood {
			continue
		}
		w.log.Info("environment is gone from the control plane", "environment", name)
		e.stop()
		w.ended[name] = e.ended
		delete(w.environments, name)
	}
	return nil
}

// listed reads the Environment objects and returns each environment's branch
// and folder in the control plane, and whether all that is there was
// understood.
func (w *Watcher) listed(ctx context.Context) (found map[string]model.Reference, understood bool, err error) {
	tree, err := w.options.Forge.Read(ctx, w.options.ControlPlane)
	if err != nil {
		err = fmt.Errorf("reading the control plane: %w", err)
		if ctx.Err() == nil {
			w.options.Metrics.forgeError(w.name, err)
			w.controlFailed(err)
		}
		return nil, false, err
	}
	objects, diagnostics := model.LoadEnvironments(tree, w.options.ControlPlane.Path)
	found = make(map[string]model.Reference, len(objects))
	for _, o := range objects {
		c := o.Spec.ControlPlane
		found[o.Name] = model.Reference{Repo: c.Repo, Branch: c.Branch, Path: c.Path}
	}
	files := model.LoadFiles(tree, w.options.ControlPlane.Path)
	understood = !slices.ContainsFunc(diagnostics, func(d model.Diagnostic) bool { return d.Severity == model.Error }) &&
		// a file that is empty may have held an Environment
		!slices.ContainsFunc(files.Diagnostics, func(d model.Diagnostic) bool { return slices.Contains(files.Blank, d) })
	// The branch is mostly the base of all environments, too. What is wrong with
	// it keeps a commit from being promoted, and then no environment tells of it.
	w.controlRead(tree.Commit, diagnostics, slices.DeleteFunc(files.Diagnostics, func(d model.Diagnostic) bool {
		return d.Severity != model.Error || slices.Contains(diagnostics, d)
	}))
	return found, understood, nil
}
