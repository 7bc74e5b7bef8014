package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kalypso-dev/kalypso/internal/posix"
	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/snapshot"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	downDeadline = 45 * time.Second
	killDeadline = 15 * time.Second
	lockDeadline = time.Second
)

// DownOptions of Down.
type DownOptions struct {
	Home   Home
	Delete bool // also delete everything that the sandbox has made but its snapshots, and nothing else
	// Snapshots deletes these, too. Where they stay, the state stays that they fit.
	Snapshots bool
	// Forget gives up clusters that cannot be found any more, since their
	// container engine does not answer or the sandbox's state is damaged.
	Forget bool
	// Progress gets the status of all components while they end; may be nil.
	Progress func([]supervisor.Status)
	// Say gets what is done when none runs any more; may be nil.
	Say func(string)
	// Note gets what stays where it is, with the reason; may be nil.
	Note func(string)
}

// Down stops the sandbox, and removes from attached clusters what it has put
// there. Nothing to stop or to delete is no error; did reports whether there was
// something. As long as something is left on a cluster nothing is deleted.
func Down(ctx context.Context, o DownOptions) (did bool, err error) {
	h := o.Home
	if _, err := os.Stat(string(h)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := h.CheckOthers(); err != nil {
		return false, err
	}
	clusters, err := stack.FindPersistentClusters(h)
	if o.Forget {
		var note string
		clusters, note, err = clusters.Forget(ctx, err)
		o.note(note)
	}
	if err != nil {
		return false, err
	}
	stopped, err := o.stopDaemon(ctx, clusters)
	if err != nil {
		return stopped, o.adviseForget(err)
	}
	if _, err := h.EndShare(); err != nil {
		return stopped, err
	}
	if _, err := UnmergeKubeconfig(h); err != nil {
		return stopped, fmt.Errorf("take the contexts out of the kubeconfig: %w", err)
	}
	cleaned, err := o.cleanAttached(ctx)
	if stopped = stopped || cleaned; err != nil || !o.Delete {
		return stopped, err
	}
	if err := clusters.Each(ctx, cluster.Provider.Delete); err != nil {
		return true, o.adviseForget(err)
	}
	return true, o.remove()
}

// remove deletes what the sandbox has made. A sandbox whose state is damaged has
// no snapshot that could be loaded.
func (o DownOptions) remove() error {
	kept, err := snapshot.List(o.Home)
	if _, damaged := o.Home.Load(); err != nil || damaged != nil || o.Snapshots || len(kept) == 0 {
		return o.Home.Remove()
	}
	names := make([]string, len(kept))
	for i, s := range kept {
		names[i] = s.Name
	}
	o.note(fmt.Sprintf("kept the snapshots %s, with the ports, passwords and certificates that they belong to: `kalypso down --delete --snapshots` removes them", strings.Join(names, ", ")))
	return o.Home.Remove(snapshot.BelongTo...)
}

func (o DownOptions) note(notes ...string) {
	for _, n := range notes {
		if n != "" && o.Note != nil {
			o.Note(n)
		}
	}
}

// adviseForget adds how to go on without a container engine.
func (o DownOptions) adviseForget(err error) error {
	var missing *kind.NoAnswerError
	if !o.Delete || !errors.As(err, &missing) {
		return err
	}
	return fmt.Errorf("%w\nStart %s and try again. If it is gone for good, `kalypso down --delete --forget` removes the sandbox without its clusters", err, missing.Program)
}

// stopDaemon stops the daemon and then what has outlived it.
func (o DownOptions) stopDaemon(ctx context.Context, clusters stack.PersistentClusters) (ran bool, err error) {
	if ran = o.Home.Locked(); ran {
		stopped, err := o.askDaemon(ctx)
		if stopped || err != nil {
			return true, err
		}
		if err := o.killDaemon(ctx); err != nil {
			return true, err
		}
	}
	return ran, errors.Join(o.Home.EndOrphans(ctx), clusters.Each(ctx, cluster.Provider.Stop))
}

// askDaemon asks the daemon to stop. The result is false for one that does not.
func (o DownOptions) askDaemon(ctx context.Context) (stopped bool, err error) {
	client := daemon.NewClient(o.Home)
	if client.Post(ctx, daemon.PathStop) == nil {
		following, cancel := context.WithTimeout(ctx, downDeadline)
		_ = client.Follow(following, func(all []supervisor.Status) bool { // ends with the daemon
			if o.Progress != nil {
				o.Progress(all)
			}
			return true
		})
		cancel()
		stopped = o.awaitUnlocked(ctx, "the daemon's end", killDeadline) == nil
	}
	return stopped, ctx.Err()
}

// killDaemon ends a daemon that does not listen. It holds the lock, so the ID in
// its file is its own; but a process that only looks at the lock holds it for a
// moment, too, and then the ID is of a process that is gone, or of another one.
func (o DownOptions) killDaemon(ctx context.Context) error {
	if o.awaitUnlocked(ctx, "the daemon's lock", lockDeadline) == nil {
		return nil
	}
	pid, err := o.Home.PID()
	if err != nil {
		return err
	}
	if err := posix.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	return o.awaitUnlocked(ctx, "the killed daemon's end", killDeadline)
}

func (o DownOptions) awaitUnlocked(ctx context.Context, what string, limit time.Duration) error {
	return retry.Until(ctx, what, limit, func(context.Context) error {
		if o.Home.Locked() {
			return state.ErrLocked
		}
		return nil
	})
}

// cleanAttached removes from attached clusters what the sandbox has put there.
// With Delete it gives up where a cluster cannot be found any more.
func (o DownOptions) cleanAttached(ctx context.Context) (did bool, err error) {
	files, err := filepath.Glob(attached.RecordFile(o.Home.Path("clusters"), "*"))
	if err != nil {
		return false, err
	}
	if pending, err := attached.Pending(files); err != nil || !pending {
		return false, err
	}
	return true, o.Home.WithDaemonStopped(ctx, func(*state.State) error {
		var all []error
		for _, f := range files {
			notes, err := attached.Remove(ctx, f, o.Say)
			o.note(notes...)
			var missing *attached.MissingError
			if o.Delete && errors.As(err, &missing) {
				o.note(err.Error())
				err = os.Remove(f)
			}
			all = append(all, err)
		}
		return errors.Join(all...)
	})
}
