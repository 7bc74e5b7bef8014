package controller

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/internal/markdown"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// parallelReads bounds how many branches discovery reads at a time.
const parallelReads = 16

// locateTimeout bounds how long runs wait until it is known where the
// environments publish to: a run finds out by itself, only later.
const locateTimeout = 30 * time.Second

// discover reads the Environment objects and begins, changes and ends
// reconciling accordingly. An environment is removed only when the control plane
// was read and understood: an error is no order to stop.
func (c *Controller) discover(ctx context.Context) error {
	found, understood, err := c.listed(ctx)
	if err != nil {
		return err
	}
	changed, removed := c.update(found, understood)
	c.locate(ctx, changed)
	for _, e := range removed {
		c.publishTo(e, model.Reference{})
	}
	for _, e := range slices.Concat(changed, removed) {
		c.wake(task(e.name))
	}
	return nil
}

// update makes the environments those that were found. It returns those that
// are new, have moved, or are gone.
func (c *Controller) update(found map[string]model.Reference, understood bool) (changed, removed []*environment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, ref := range found {
		e := c.environments[name]
		switch {
		case e == nil:
			e = newEnvironment(name, ref)
			c.environments[name] = e
			c.options.Pool.Join(&e.loader)
			c.log.Info("following environment", "environment", name, "branch", ref.Branch)
		case e.ref != ref, e.removed:
			e.ref, e.removed = ref, false
		default:
			continue
		}
		changed = append(changed, e)
	}
	for name, e := range c.environments {
		if _, ok := found[name]; !ok && understood && !e.removed {
			c.log.Info("environment is gone from the control plane", "environment", name)
			e.removed = true
			if e.cancel != nil {
				e.cancel()
			}
			removed = append(removed, e)
		}
	}
	return changed, removed
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
	objects, diagnostics, files := model.LoadControlPlane(tree, c.options.ControlPlane.Path)
	found = make(map[string]model.Reference, len(objects))
	for _, o := range objects {
		at := o.Spec.ControlPlane
		found[o.Name] = model.Reference{Repo: at.Repo, Branch: at.Branch, Path: at.Path}
	}
	understood = !slices.ContainsFunc(diagnostics, func(d model.Diagnostic) bool { return d.Severity == model.Error }) &&
		// a file that is empty may have held an Environment
		!slices.ContainsFunc(files.Diagnostics, func(d model.Diagnostic) bool { return slices.Contains(files.Blank, d) })
	// The branch is mostly the base of all environments, too. What is wrong with
	// it keeps a commit from being promoted, and then no environment reports it.
	c.controlRead(tree.Commit, diagnostics, slices.DeleteFunc(files.Diagnostics, func(d model.Diagnostic) bool {
		return d.Severity != model.Error || slices.Contains(diagnostics, d)
	}))
	return found, understood, nil
}

// locate finds out where environments publish to before they do, so that a
// conflict is known before the first of them is published. What cannot be read
// stays unknown until the environment's own run.
func (c *Controller) locate(ctx context.Context, environments []*environment) {
	ctx, cancel := context.WithTimeout(ctx, locateTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(parallelReads)
	for _, e := range environments {
		group.Go(func() error {
			if tree, err := c.options.Forge.Read(ctx, e.ref); err == nil {
				c.publishTo(e, model.LoadGitOps(tree, e.ref.Path))
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
}

// publishTo notes where an environment publishes to, and wakes those whose
// conflicts change by that.
func (c *Controller) publishTo(e *environment, to model.Reference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := e.gitOps
	e.gitOps = to
	for other := range c.all() {
		if other != e && c.sameFolder(other.gitOps, before) != c.sameFolder(other.gitOps, to) {
			c.wake(task(other.name))
		}
	}
}

// conflict returns the name of another environment that publishes to the same
// folder of the same branch, the first of several, "" where none does. It happens
// when an environment's branch is made from another one's and its GitOpsRepo is
// forgotten. Each would remove what the other one has, for ever.
func (c *Controller) conflict(e *environment) (name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.all() {
		if other != e && c.sameFolder(e.gitOps, other.gitOps) && (name == "" || other.name < name) {
			name = other.name
		}
	}
	return name
}

func (c *Controller) sameFolder(a, b model.Reference) bool {
	return c.sameRepo(a.Repo, b.Repo) && a.Branch == b.Branch && path.Clean("/"+a.Path) == path.Clean("/"+b.Path)
}

// reject publishes nothing, and closes what was proposed before a conflict was
// known. Which of the environments is wrong cannot be known, so none is
// published.
func (c *Controller) reject(ctx context.Context, e *environment, other string, o *outcome, gitOps *model.Tree) error {
	o.conflict = true
	to := o.plan.GitOps
	const reason = "environments %s and %s both publish to branch %s of %s"
	const todo = "give each a branch or a folder of its own in its GitOpsRepo; until then neither is published"
	var err error
	o.published, err = publish.Withdraw(ctx, c.options.Forge, o.plan, publish.Options{Base: gitOps, Owner: c.name},
		fmt.Sprintf("Closing: "+reason+". G%s.", markdown.Code(e.name), markdown.Code(other), markdown.Code(to.Branch), markdown.Code(to.Repo), todo[1:]))
	return errors.Join(fmt.Errorf(reason+": %s", e.name, other, to.Branch, redact.URL(to.Repo), todo), err)
}
