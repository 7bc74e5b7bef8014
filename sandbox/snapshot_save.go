package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// stillLimit is how long the sandbox may stand still for a snapshot. Past it,
// the snapshot is given up.
const stillLimit = 10 * time.Second

// freezer makes all that writes stand still. The error of thaw says that
// somebody has written all the same, or might have.
type freezer func(ctx context.Context) (thaw func() error, err error)

// SaveSnapshot keeps the data of this instant under a name. The sandbox goes
// on running; the moment for which it stands still is in the result. Of a
// sandbox that is down it keeps what is on disk.
//
// The error is a *UsageError for a name that is no name or is taken, and
// ErrNoSandbox without a sandbox.
func SaveSnapshot(ctx context.Context, h Home, name, version string) (*Snapshot, error) {
	if err := checkSnapshotName(name); err != nil {
		return nil, err
	}
	state, err := h.LoadState()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(state.checkSnapshots(), h.checkSnapshotFree(name)); err != nil {
		return nil, err
	}
	var s *Snapshot
	err = openDoor(h).ask(ctx, h, pathSnapshotSave+"?name="+url.QueryEscape(name), &s, nil)
	if errors.Is(err, ErrDown) {
		err = h.quietly(ctx, func(state *State) error {
			s, err = h.save(ctx, state, name, version, nil)
			return err
		})
	}
	return s, err
}

func (h Home) checkSnapshotFree(name string) error {
	_, err := os.Lstat(h.snapshot(name))
	if err == nil {
		return &UsageError{fmt.Sprintf("there is a snapshot %s already: choose another name, or remove it with `kalypso snapshot delete %s`", name, name)}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// save makes a snapshot. It gets its name when it is whole and on disk.
func (h Home) save(ctx context.Context, state *State, name, version string, freeze freezer) (_ *Snapshot, err error) {
	if err := errors.Join(checkSnapshotName(name), h.checkSnapshotFree(name)); err != nil {
		return nil, err
	}
	partial, err := h.aside("new-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("save snapshot %s: %w", name, err), os.RemoveAll(h.Path(partial)))
		}
	}()
	s := &Snapshot{Name: name, Version: version, ID: state.ID, Workshop: state.Workshop}
	c := newCopier(string(h), h.Path(partial, snapshotData))
	if err := os.MkdirAll(c.to, 0o700); err != nil {
		return nil, err
	}
	if err := c.pass(ctx, worldData); err != nil {
		return nil, err
	}
	s.Created = time.Now().UTC()
	if freeze != nil {
		if s.Still, err = c.passStill(ctx, freeze); err != nil {
			return nil, err
		}
	}
	if s.Bytes, err = diskUsage(h.Path(partial, snapshotData)); err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		os.MkdirAll(h.snapshot(), 0o700),
		writeFile(h.Path(partial, snapshotFile), append(b, '\n'), 0o600),
		syncFolder(h.Path(partial)),
	)
	if err == nil {
		err = os.Rename(h.Path(partial), h.snapshot(name))
	}
	return s, err
}

// passStill is a pass while everything stands still, and returns for how long
// it did.
func (c *copier) passStill(ctx context.Context, freeze freezer) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, stillLimit,
		fmt.Errorf("the sandbox would have to stand still for more than %s: save it while it is down", stillLimit))
	defer cancel()
	began := time.Now()
	thaw, err := freeze(ctx)
	if err != nil {
		return 0, err
	}
	// also when the copying hangs in a call that nothing ends
	stop := context.AfterFunc(ctx, func() { _ = thaw() })
	err = c.pass(ctx, worldData)
	stop()
	err = errors.Join(err, thaw())
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return time.Since(began), err
}

func (c *control) saveSnapshot(ctx context.Context, name string) (*Snapshot, error) {
	s, _ := c.runs.current()
	if err := atRest(s.Status()); err != nil {
		return nil, err
	}
	return c.home.save(ctx, c.state, name, c.version, func(ctx context.Context) (func() error, error) {
		return freezeWorld(ctx, s)
	})
}

// freezeWorld freezes all processes but the nodes, whose data is in no
// snapshot.
func freezeWorld(ctx context.Context, s *supervisor.Supervisor) (thaw func() error, err error) {
	before := writers(s.Status())
	var pids []int
	for _, pid := range before {
		pids = append(pids, pid)
	}
	let, err := supervisor.Freeze(ctx, pids)
	if err != nil {
		return nil, err
	}
	return func() error {
		after := s.Status()
		let()
		for name, pid := range writers(after) {
			if before[name] != pid {
				return fmt.Errorf("%s has been started meanwhile: try again", name)
			}
		}
		return atRest(after)
	}, nil
}

// writers are the processes that may write what a snapshot holds, by name.
func writers(all []supervisor.Status) map[string]int {
	pids := map[string]int{}
	for _, s := range all {
		if s.PID != 0 && !strings.HasPrefix(s.Name, "node-") {
			pids[s.Name] = s.PID
		}
	}
	return pids
}

// atRest returns an error while a component is on its way: the daemon itself
// may be writing then. What has failed or is held writes nothing.
func atRest(all []supervisor.Status) error {
	for _, s := range all {
		if s.State != supervisor.Ready && s.State != supervisor.Failed && !s.Held {
			return fmt.Errorf("%s is %s, and a snapshot needs a sandbox that is at rest: try again when `kalypso status` says that it is ready", s.Name, s.State)
		}
	}
	return nil
}
