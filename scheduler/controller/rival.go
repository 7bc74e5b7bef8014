package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// rivals returns the other environments that publish to the same folder of the
// same branch, sorted by name. It happens when an environment's branch is made
// from another one's and its GitOpsRepo is forgotten. Each would remove what the
// other one has, for ever.
func (c *Controller) rivals(e *environment) []*environment {
	var all []*environment
	mine := e.publishesTo()
	for _, other := range append(c.followed(), c.neighbours...) {
		if other != e && c.samePlace(mine, other.publishesTo()) {
			all = append(all, other)
		}
	}
	slices.SortFunc(all, func(a, b *environment) int { return cmp.Compare(a.name, b.name) })
	return all
}

// lookAround finds out where the environments publish to that are not run with
// the only one that is. What cannot be read stays unknown: it is not what was
// asked for.
func (c *Controller) lookAround(ctx context.Context, all map[string]model.Reference, only string) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	c.neighbours = nil
	for name, ref := range all {
		if name == only {
			continue
		}
		tree, err := c.options.Forge.Read(ctx, ref)
		if err != nil {
			continue
		}
		e := newEnvironment(name, ref)
		e.publishTo(model.LoadGitOps(tree, ref.Path))
		c.neighbours = append(c.neighbours, e)
	}
}

func (c *Controller) samePlace(a, b model.Reference) bool {
	return c.same(a.Repo, b.Repo) && a.Branch == b.Branch && path.Clean("/"+a.Path) == path.Clean("/"+b.Path)
}

func (e *environment) publishesTo() model.Reference {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.gitOps
}

// met notes which rivals a run has met, and returns those of the run before.
func (e *environment) met(rivals []*environment) (before []*environment) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before, e.rivals = e.rivals, rivals
	return before
}

func (e *environment) hasMet(rival *environment) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.rivals, rival)
}

// refuse publishes nothing, and takes back what was proposed before a rival was
// known. Which of them is wrong nobody can know, so none is published.
func (c *Controller) refuse(ctx context.Context, e *environment, rivals []*environment, o *outcome, gitOps *model.Tree) error {
	e.met(rivals)
	for _, rival := range rivals {
		if !rival.hasMet(e) {
			rival.wake.set()
		}
	}
	to := e.publishesTo()
	reason := fmt.Sprintf("environments %s and %s both publish to branch %s of %s", e.name, rivals[0].name, to.Branch, to.Repo)
	const todo = "give each a branch or a folder of its own in its GitOpsRepo; until then neither is published"
	var err error
	o.published, err = publish.Withdraw(ctx, c.options.Forge, o.plan, publish.Options{Base: gitOps, Owner: c.name},
		fmt.Sprintf("Closing: %s. G%s.", reason, todo[1:]))
	return errors.Join(fmt.Errorf("%s: %s", reason, todo), err)
}

// admit tells former rivals of an environment that has none any more.
func (c *Controller) admit(e *environment) {
	for _, rival := range e.met(nil) {
		rival.wake.set()
	}
}

// unaware returns the environments that have published before a rival was known.
func (c *Controller) unaware() []*environment {
	var all []*environment
	for _, e := range c.followed() {
		if slices.ContainsFunc(c.rivals(e), func(rival *environment) bool { return !e.hasMet(rival) }) {
			all = append(all, e)
		}
	}
	return all
}
