package controller

import (
	"context"
	"errors"
	"maps"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// parallelHeads bounds how many heads are asked for at a time.
const parallelHeads = 4

// poll compares the heads of all that was read with what was read, and wakes
// the environments that have missed something.
func (c *Controller) poll(ctx context.Context) {
	control := c.options.ControlPlane
	control.Path = ""
	asked := readSet{control: ""}
	c.mu.Lock()
	for e := range c.all() {
		maps.Copy(asked, e.seen)
	}
	c.mu.Unlock()
	heads := c.heads(ctx, asked)
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := range c.all() {
		for ref, seen := range e.seen {
			if head, ok := heads[ref]; ok && head != seen && seen != unknown {
				c.log.Debug("a poll found a new head", "environment", e.name, "repo", ref.Repo, "branch", ref.Branch)
				c.wake(task(e.name))
				break
			}
		}
	}
	if head, ok := heads[control]; ok && head != c.control.Commit {
		c.wake(discovery)
	}
}

// heads asks for the heads of references, each once. One that could not be
// asked for is left out: nothing is known about it.
func (c *Controller) heads(ctx context.Context, asked readSet) readSet {
	found := readSet{}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(parallelHeads)
	for ref := range asked {
		group.Go(func() error {
			head, err := c.head(ctx, ref)
			if err != nil && !errors.Is(err, forge.ErrNotFound) {
				c.log.Debug("a poll could not ask for a head", "repo", ref.Repo, "branch", ref.Branch, "error", err)
				if _, refused := errors.AsType[*model.HostError](err); !refused && ctx.Err() == nil {
					c.options.Metrics.forgeError(c.name, err)
				}
				return nil
			}
			c.answered()
			mu.Lock()
			defer mu.Unlock()
			found[ref] = head
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
	return found
}

// head returns the commit that a reference is at, "" and ErrNotFound when it
// is nowhere. A commit by its ID has no head: whether it is there shows only
// by reading it.
func (c *Controller) head(ctx context.Context, ref model.Reference) (string, error) {
	if ref.Commit == "" {
		head, err := c.options.Forge.Head(ctx, ref)
		if err != nil {
			return "", err
		}
		return head, nil
	}
	tree, err := c.options.Forge.Read(ctx, ref)
	if err != nil {
		return "", err
	}
	return tree.Commit, nil
}
