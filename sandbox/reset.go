package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// Reset brings the sandbox back to the workshop's beginning: the forge, the
// clusters' objects, the scheduler and the reconcilers are made anew. Ports,
// URLs, passwords, kubeconfigs and snapshots stay. It returns when all is
// ready. A sandbox that is down stays down, and ran is false: it is new when
// it comes up.
//
// Errors are those of Up, and ErrNoSandbox. When ctx ends first, the sandbox
// goes on.
func Reset(ctx context.Context, h Home, progress func([]supervisor.Status)) (ran bool, err error) {
	d := openDoor(h)
	err = d.ask(ctx, h, pathReset, nil, progress)
	if errors.Is(err, ErrDown) {
		return false, h.quietly(ctx, func(*State) error { return h.reset() })
	}
	if err != nil {
		return true, err
	}
	return true, d.settle(ctx, h, progress)
}

// reset is for a moment when nothing runs.
func (h Home) reset() error {
	nodes, err := filepath.Glob(h.Path("clusters", "*", "node"))
	if err != nil {
		return err
	}
	paths := append([]string{}, worldData...)
	for _, n := range nodes {
		p, err := filepath.Rel(string(h), n)
		if err != nil {
			return err
		}
		paths = append(paths, p)
	}
	// cut off here, the sandbox has empty clusters, which is what it will have
	there, err := h.outlasting()
	if err != nil {
		return err
	}
	if err := there.delete(context.Background()); err != nil {
		return err
	}
	return h.apply("reset", paths, "")
}

func (c *control) reset() error {
	if err := c.runs.whileStill(c.home.reset); err != nil {
		return err
	}
	c.sweep()
	return nil
}

// sweep removes what is left aside, later: nobody waits for it.
func (c *control) sweep() {
	remove := c.home.sweep()
	go func() {
		if err := remove(); err != nil {
			c.log.Warn("old data is not removed", "reason", err)
		}
	}()
}

// quietly does something to a sandbox that is down. No daemon can start
// meanwhile, and what was cut off before is finished first.
func (h Home) quietly(ctx context.Context, do func(*State) error) error {
	if !h.Exists() {
		return ErrNoSandbox
	}
	held, err := h.lockSoon()
	if errors.Is(err, errLocked) {
		return errors.New("the sandbox is just starting or ending: try again in a moment")
	}
	if err != nil {
		return err
	}
	defer held.Close()
	// whoever wants to end the holder of the lock must find this process
	if err := writeFile(h.Path("daemon.pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	state, err := h.LoadState()
	if err != nil {
		return err
	}
	if err := h.endOrphans(); err != nil {
		return err
	}
	if _, err := h.finishChange(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = do(state)
	return errors.Join(err, h.sweep()())
}

// settle returns when all components are ready, or some have failed for good,
// which is a *FailedError.
func (d *door) settle(ctx context.Context, h Home, progress func([]supervisor.Status)) error {
	var failed []supervisor.Status
	err := d.follow(ctx, func(all []supervisor.Status) bool {
		if progress != nil {
			progress(all)
		}
		failed = nil
		for _, s := range all {
			if s.State == supervisor.Failed && !s.Held {
				failed = append(failed, s)
			}
		}
		return !ready(all) && len(failed) == 0
	})
	switch {
	case errors.Is(err, errNoDaemon):
		return daemonDied(h)
	case err != nil:
		return err
	case len(failed) > 0:
		return &FailedError{failed}
	}
	return nil
}
