package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// LoadSnapshot brings back the data of a snapshot in place of what there is,
// and returns when all is ready. A sandbox that is down stays down, and ran is
// false: it is as saved when it comes up.
//
// The error is a *UsageError for a snapshot that there is not or that is
// another sandbox's, ErrNoSandbox without a sandbox, or one of Up's. When ctx
// ends first, the sandbox goes on.
func LoadSnapshot(ctx context.Context, h Home, name string, progress func([]supervisor.Status)) (ran bool, err error) {
	if _, err := FindSnapshot(h, name); err != nil {
		return false, err
	}
	d := openDoor(h)
	err = d.ask(ctx, h, pathSnapshotLoad+"?name="+url.QueryEscape(name), nil, progress)
	if errors.Is(err, ErrDown) {
		return false, h.quietly(ctx, func(state *State) error {
			incoming, err := h.unpackSnapshot(ctx, state, name)
			if err != nil {
				return err
			}
			return h.load(name, incoming)
		})
	}
	if err != nil {
		return true, err
	}
	return true, d.settle(ctx, h, progress)
}

// FindSnapshot returns a snapshot that can be loaded into the sandbox. Errors
// are those of LoadSnapshot.
func FindSnapshot(h Home, name string) (*Snapshot, error) {
	state, err := h.LoadState()
	if err != nil {
		return nil, err
	}
	if err := h.checkLoad(state, name); err != nil {
		return nil, err
	}
	return h.readSnapshot(name)
}

// checkLoad refuses what would not fit: ports, addresses and passwords of a
// sandbox are all over its data.
func (h Home) checkLoad(state *State, name string) error {
	s, err := h.findSnapshot(name)
	switch {
	case err != nil:
		return err
	case s.Workshop != state.Workshop:
		return &UsageError{fmt.Sprintf("snapshot %s is of the workshop %s, and this sandbox holds %s", name, s.Workshop, state.Workshop)}
	case s.ID != state.ID:
		return &UsageError{fmt.Sprintf("snapshot %s is of another sandbox, whose ports and addresses are in its data: it fits only there", name)}
	}
	return nil
}

// unpackSnapshot makes a copy of a snapshot's data, on disk, ready to be put
// in place. The sandbox may run meanwhile.
func (h Home) unpackSnapshot(ctx context.Context, state *State, name string) (incoming string, err error) {
	if err := h.checkLoad(state, name); err != nil {
		return "", err
	}
	incoming, err = h.aside("new-")
	if err != nil {
		return "", err
	}
	err = newCopier(h.snapshot(name, snapshotData), h.Path(incoming)).pass(ctx, worldData)
	if err == nil {
		// deleted in the middle of it, it has seemed to have less and less
		_, err = h.findSnapshot(name)
	}
	if err == nil {
		err = syncFolder(h.Path(incoming))
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("load snapshot %s: %w", name, err), os.RemoveAll(h.Path(incoming)))
	}
	return incoming, nil
}

// load is for a moment when nothing runs.
func (h Home) load(name, incoming string) error {
	return h.apply("load of snapshot "+name, worldData, incoming)
}

func (c *control) loadSnapshot(ctx context.Context, name string) error {
	incoming, err := c.home.unpackSnapshot(ctx, c.state, name)
	if err != nil {
		return err
	}
	if err := c.runs.whileStill(func() error { return c.home.load(name, incoming) }); err != nil {
		return err
	}
	c.sweep()
	return nil
}
