package state

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/node"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	lockDeadline = 2 * time.Second
	dialDeadline = 5 * time.Second
)

// ErrLocked is returned where another process holds the sandbox.
var ErrLocked = errors.New("another kalypso daemon runs this sandbox")

// TryLock takes the sandbox for this process, or returns ErrLocked. The system
// gives it back when the process ends, however it ends.
func (h Home) TryLock() (*flock.Flock, error) {
	if err := os.MkdirAll(string(h), 0o700); err != nil {
		return nil, err
	}
	l := flock.New(h.Path("daemon.lock"), flock.SetPermissions(0o600))
	locked, err := l.TryLock()
	if err == nil && !locked {
		err = ErrLocked
	}
	return l, err
}

// Lock is TryLock that waits a moment for a process that holds the lock only
// to look at the sandbox; a daemon that answers is not waited for. It notes this
// process as the holder, so that `down` can end one that does not answer.
func (h Home) Lock(ctx context.Context) (l *flock.Flock, err error) {
	waitErr := retry.Until(ctx, "the sandbox's lock", lockDeadline, func(context.Context) error {
		if l, err = h.TryLock(); !errors.Is(err, ErrLocked) {
			return nil
		}
		if c, dialErr := net.DialTimeout("unix", h.Socket(), dialDeadline); dialErr == nil {
			c.Close()
			return nil
		}
		return err
	})
	if err = errors.Join(err, waitErr); err != nil {
		return nil, err
	}
	if err := WriteFile(h.Path("daemon.pid"), []byte(strconv.Itoa(os.Getpid()))); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Locked reports whether a daemon holds the sandbox.
func (h Home) Locked() bool {
	if _, err := os.Stat(h.Path("daemon.lock")); err != nil {
		return false
	}
	l, err := h.TryLock()
	if err != nil {
		return errors.Is(err, ErrLocked)
	}
	l.Close()
	return false
}

// PID returns the process that has held the lock last.
func (h Home) PID() (int, error) {
	b, err := os.ReadFile(h.Path("daemon.pid"))
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(string(b))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", h.Path("daemon.pid"), err)
	}
	return pid, nil
}

// EndOrphans ends child processes of a killed daemon, on systems where they do
// not die with it, and what outlives every process, such as control groups.
func (h Home) EndOrphans(ctx context.Context) error {
	files, err := filepath.Glob(h.Path("children", "*.json"))
	if err != nil {
		return err
	}
	var all []error
	for _, f := range files {
		all = append(all, supervisor.EndOrphan(h.Children(), strings.TrimSuffix(filepath.Base(f), ".json")))
	}
	nodes, err := filepath.Glob(h.Path("clusters", "*", "node"))
	for _, dir := range nodes {
		all = append(all, node.Clean(ctx, dir))
	}
	return errors.Join(append(all, err)...)
}

// WithDaemonStopped changes a sandbox that is down. No daemon can start
// meanwhile, and a replacement of data that was interrupted is finished first.
func (h Home) WithDaemonStopped(ctx context.Context, change func(*State) error) error {
	if !h.Exists() {
		return ErrNoSandbox
	}
	held, err := h.Lock(ctx)
	if errors.Is(err, ErrLocked) {
		return errors.New("the sandbox is just starting or ending: try again in a moment")
	}
	if err != nil {
		return err
	}
	defer held.Close()
	s, err := h.Load()
	if err != nil {
		return err
	}
	if err := h.EndOrphans(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if _, err := h.FinishReplacement(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = change(s)
	return errors.Join(err, h.Sweep()())
}
