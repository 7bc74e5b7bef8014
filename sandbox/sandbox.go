// Package sandbox is the world on one machine: clusters, a git forge with a
// workshop's repositories, reconcilers and the scheduler, all run by one
// detached daemon and kept below one Home.
//
// Up, Down and GetStatus are what a person's commands call. They hold no state
// and may be interrupted at any instant: the daemon owns the processes, and
// what it does can be cut off and done again.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/node"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	answerLimit = 15 * time.Second
	downLimit   = 45 * time.Second
	killLimit   = 15 * time.Second
	glanceLimit = time.Second
)

// Options of Up.
type Options struct {
	Home     Home
	Workshop string // "" means the sandbox's own, or DefaultWorkshop for a new one
	Choice          // of the clusters
	Version  string // of this program
	// Progress gets the status of all components at the beginning and after
	// each change; may be nil.
	Progress func([]supervisor.Status)
	// Say gets what is done before there are components; may be nil.
	Say func(string)
}

// FailedError says which components have failed.
type FailedError struct{ Failed []supervisor.Status }

func (e *FailedError) Error() string {
	names := make([]string, len(e.Failed))
	for i, s := range e.Failed {
		names[i] = s.Name
	}
	return strings.Join(names, ", ") + " failed"
}

// Up brings the sandbox up and returns when all of it is ready. On one that
// is up it changes nothing; on one that is half up it starts what is missing.
// When components fail for good, the error is a *FailedError and the rest
// keeps running. When ctx ends first, the sandbox goes on starting.
func Up(ctx context.Context, o Options) (*Status, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	d := openDoor(o.Home)
	if err := d.post(ctx, pathRepair); errors.Is(err, errNoDaemon) {
		if err := preflight(ctx, &o); err != nil {
			return nil, err
		}
		if err := startDaemon(ctx, o); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	var failed []supervisor.Status
	repaired := time.Now()
	err := d.follow(ctx, func(all []supervisor.Status) bool {
		if o.Progress != nil {
			o.Progress(all)
		}
		failed = nil
		for _, s := range all {
			// what failed before we asked for repair is about to be tried again
			if s.State == supervisor.Failed && s.Since.After(repaired.Add(-time.Second)) {
				failed = append(failed, s)
			}
		}
		return !ready(all) && len(failed) == 0
	})
	if errors.Is(err, errNoDaemon) {
		return nil, daemonDied(o.Home)
	}
	if err != nil {
		return nil, err
	}
	if len(failed) > 0 {
		return nil, &FailedError{failed}
	}
	return d.status(ctx)
}

// check refuses what makes no sense, and another sandbox than the one that is
// here.
func (o *Options) check() error {
	w, err := findWorkshop(cmp.Or(o.Workshop, DefaultWorkshop))
	if err != nil {
		return err
	}
	if err := o.Choice.check(); err != nil {
		return err
	}
	s, err := o.Home.LoadState()
	if errors.Is(err, ErrNoSandbox) {
		return o.checkContexts(o.Home, w)
	}
	if err != nil {
		return err
	}
	if o.Workshop != "" && s.Workshop != o.Workshop {
		return otherSandbox(o.Home, "the workshop "+s.Workshop)
	}
	return o.checkSame(o.Home, s)
}

func otherSandbox(h Home, holds string) error {
	return &UsageError{fmt.Sprintf("the sandbox in %s holds %s: remove it with `kalypso down --delete`, or set KALYPSO_HOME to another folder", h, holds)}
}

// startDaemon starts the daemon in a session of its own and returns when it
// answers.
func startDaemon(ctx context.Context, o Options) error {
	if _, err := components.Packed(); err != nil {
		return err
	}
	if err := o.Home.checkUsable(); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	name := cmp.Or(o.Workshop, DefaultWorkshop)
	if err := os.MkdirAll(filepath.Dir(o.Home.Log("daemon")), 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(o.Home.Log("daemon"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, append([]string{"daemon", "--workshop", name}, o.flags()...)...)
	cmd.Env = append(os.Environ(), "KALYPSO_HOME="+string(o.Home))
	cmd.Dir = string(o.Home)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	d := openDoor(o.Home)
	var died error
	err = retry.Until(ctx, "the daemon's answer", answerLimit, func(ctx context.Context) error {
		_, err := d.status(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			if !o.Home.locked() {
				died = daemonDied(o.Home)
				return nil
			}
			// another daemon was faster; it is the one to wait for
		default:
		}
		return err
	})
	return errors.Join(err, died)
}

// checkUsable makes the home, or says why it cannot be one.
func (h Home) checkUsable() error {
	if !h.Exists() {
		if err := h.checkOurs(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(string(h), 0o700); err != nil {
		return fmt.Errorf("no place for the sandbox: %w; set KALYPSO_HOME to a folder that can be written", err)
	}
	return h.keepPrivate()
}

func daemonDied(h Home) error {
	return fmt.Errorf("the daemon ended; the last lines of %s:\n  %s", h.Log("daemon"),
		strings.Join(supervisor.Tail(h.Log("daemon"), 10), "\n  "))
}

// GetStatus asks the daemon, or tells what is known without one. It is
// ErrNoSandbox when there is nothing.
func GetStatus(ctx context.Context, h Home) (*Status, error) {
	status, err := openDoor(h).status(ctx)
	if !errors.Is(err, errNoDaemon) {
		return status, err
	}
	state, err := h.LoadState()
	if err != nil {
		return nil, err
	}
	return &Status{Home: string(h), Workshop: state.Workshop, Provider: state.Provider, ForgeURL: state.ForgeURL(), User: state.Admin.User}, nil
}

// DownOptions of Down.
type DownOptions struct {
	Home   Home
	Delete bool // also delete everything that the sandbox has made, and nothing else
	// Forget gives up clusters that nobody can find any more, since their
	// container engine does not answer or the sandbox's state is damaged.
	Forget bool
	// Progress gets the status of all components while they end; may be nil.
	Progress func([]supervisor.Status)
	// Say gets what is done when none runs any more; may be nil.
	Say func(string)
	// Note gets what stays where it is, with the reason; may be nil.
	Note func(string)
}

// Down stops the sandbox, and takes off existing clusters what it has put
// there. Nothing to stop or to delete is no error; did tells whether there was
// something. As long as something is left on a cluster nothing is deleted.
func Down(ctx context.Context, o DownOptions) (did bool, err error) {
	h := o.Home
	if _, err := os.Stat(string(h)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if !h.Exists() {
		if err := h.checkOurs(); err != nil {
			return false, err
		}
	}
	there, err := h.outlasting()
	if o.Forget {
		var note string
		if there, note, err = there.forget(ctx, err); note != "" && o.Note != nil {
			o.Note(note)
		}
	}
	if err != nil {
		return false, err
	}
	stopped, err := stopDaemon(ctx, h, there, o.Progress)
	if err != nil {
		return stopped, o.advise(err)
	}
	if _, err := UnmergeKubeconfig(h); err != nil {
		return stopped, fmt.Errorf("take the contexts out of the kubeconfig: %w", err)
	}
	gave, notes, err := h.giveBack(ctx, o.Delete, o.Say)
	for _, note := range notes {
		if o.Note != nil {
			o.Note(note)
		}
	}
	if stopped = stopped || gave; err != nil || !o.Delete {
		return stopped, err
	}
	if err := there.delete(ctx); err != nil {
		return true, o.advise(err)
	}
	return true, h.remove()
}

// advise tells a person whose engine is away how to go on.
func (o DownOptions) advise(err error) error {
	var away *kind.AwayError
	if !o.Delete || !errors.As(err, &away) {
		return err
	}
	return fmt.Errorf("%w\nStart %s and try again. If it is gone for good, `kalypso down --delete --forget` removes the sandbox without its clusters", err, away.Program)
}

func stopDaemon(ctx context.Context, h Home, there outlasting, progress func([]supervisor.Status)) (bool, error) {
	if !h.locked() {
		return false, errors.Join(h.endOrphans(), there.stop(ctx))
	}
	d := openDoor(h)
	err := d.post(ctx, pathStop)
	if err == nil {
		follow, cancel := context.WithTimeout(ctx, downLimit)
		_ = d.follow(follow, func(all []supervisor.Status) bool {
			if progress != nil {
				progress(all)
			}
			return true
		})
		cancel()
		err = retry.Until(ctx, "the daemon's end", killLimit, h.unlocked)
	}
	if err == nil || ctx.Err() != nil {
		return true, err
	}
	// Whoever only looks whether a daemon runs holds its lock for a moment, too,
	// and then the ID in the file is of a process that is gone, or a stranger's.
	if retry.Until(ctx, "the daemon's lock", glanceLimit, h.unlocked) == nil {
		return true, errors.Join(h.endOrphans(), there.stop(ctx))
	}
	if err := h.killDaemon(); err != nil {
		return true, err
	}
	if err := retry.Until(ctx, "the killed daemon's end", killLimit, h.unlocked); err != nil {
		return true, err
	}
	return true, errors.Join(h.endOrphans(), there.stop(ctx))
}

func (h Home) unlocked(context.Context) error {
	if h.locked() {
		return errLocked
	}
	return nil
}

// killDaemon ends a daemon that does not listen. It holds the lock, so the ID
// in its file is its own.
func (h Home) killDaemon() error {
	b, err := os.ReadFile(h.Path("daemon.pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(string(b))
	if err != nil {
		return fmt.Errorf("%s: %w", h.Path("daemon.pid"), err)
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// endOrphans ends children whose daemon was killed on a system where they do
// not die with it.
func (h Home) endOrphans() error {
	files, err := filepath.Glob(h.Path("children", "*.json"))
	if err != nil {
		return err
	}
	var all []error
	for _, f := range files {
		all = append(all, supervisor.EndOrphan(h.Path("children"), strings.TrimSuffix(filepath.Base(f), ".json")))
	}
	// control groups outlive every process
	nodes, err := filepath.Glob(h.Path("clusters", "*", "node"))
	for _, dir := range nodes {
		all = append(all, node.Clean(context.Background(), dir))
	}
	return errors.Join(append(all, err)...)
}

// remove deletes what a sandbox has in its home, the state last: as long as it
// is there, `down --delete` can be called again.
func (h Home) remove() error {
	for i := len(ours) - 1; i >= 0; i-- {
		if err := removeAll(h.Path(ours[i])); err != nil {
			return err
		}
	}
	leftovers, err := filepath.Glob(h.Path(".*"))
	if err != nil {
		return err
	}
	for _, f := range leftovers {
		// of files being replaced when a daemon was killed
		if strings.HasPrefix(filepath.Base(f), ".sandbox.json.") || strings.HasPrefix(filepath.Base(f), ".kubeconfig.") || strings.HasPrefix(filepath.Base(f), ".daemon.pid.") {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
	}
	err = os.Remove(string(h))
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return nil // other people's files: they stay
	}
	return err
}
