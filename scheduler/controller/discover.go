package controller

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
func (c *Controller) discover(ctx context.Context, running *sync.WaitGroup) error {
	found, understood, err := c.listed(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, ref := range found {
		if e, ok := c.environments[name]; ok {
			e.move(ref)
			continue
		}
		e := newEnvironment(name, ref)
		c.environments[name] = e
		c.options.Pool.Join(&e.loader)
		own, cancel := context.WithCancel(ctx)
		e.stop = cancel
		before := c.ended[name]
		delete(c.ended, name)
		c.log.Info("following environment", "environment", name, "branch", ref.Branch)
		running.Go(func() {
			defer close(e.ended)
			if before != nil {
				<-before // it was given up a moment ago, and its last run may go on
			}
			c.follow(own, e)
			c.options.Pool.Leave(&e.loader)
			if ctx.Err() == nil {
				// given up; its last run has been counted by now
				c.options.Metrics.forget(c.name, name)
			}
		})
	}
	for name, e := range c.environments {
		if _, ok := found[name]; ok || !understood {
			continue
		}
		c.log.Info("environment is gone from the control plane", "environment", name)
		e.stop()
		c.ended[name] = e.ended
		delete(c.environments, name)
	}
	return nil
}

// listed reads the Environment objects and returns each environment's branch
// and folder in the control plane, and whether all that is there was
// understood.
func (c *Controller) listed(ctx context.Context) (found map[string]model.Reference, understood bool, err error) {
	tree, err := c.options.Forge.Read(ctx, c.options.ControlPlane)
	if err != nil {
		err = fmt.Errorf("reading the control plane: %w", err)
		if ctx.Err() == nil {
			c.options.Metrics.forgeError(c.name, err)
			c.controlFailed(err)
		}
		return nil, false, err
	}
	objects, diagnostics := model.LoadEnvironments(tree, c.options.ControlPlane.Path)
	found = make(map[string]model.Reference, len(objects))
	for _, o := range objects {
		c := o.Spec.ControlPlane
		found[o.Name] = model.Reference{Repo: c.Repo, Branch: c.Branch, Path: c.Path}
	}
	files := model.LoadFiles(tree, c.options.ControlPlane.Path)
	understood = !slices.ContainsFunc(diagnostics, func(d model.Diagnostic) bool { return d.Severity == model.Error }) &&
		// a file that is empty may have held an Environment
		!slices.ContainsFunc(files.Diagnostics, func(d model.Diagnostic) bool { return slices.Contains(files.Blank, d) })
	// The branch is mostly the base of all environments, too. What is wrong with
	// it keeps a commit from being promoted, and then no environment tells of it.
	c.controlRead(tree.Commit, diagnostics, slices.DeleteFunc(files.Diagnostics, func(d model.Diagnostic) bool {
		return d.Severity != model.Error || slices.Contains(diagnostics, d)
	}))
	return found, understood, nil
}
