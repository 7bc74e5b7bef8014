// Package sandbox is the world on one machine: clusters, a git forge with a
// workshop's repositories, reconcilers and the scheduler, all run by one
// detached daemon and kept below one Home.
//
// Up, Down and GetStatus are what a person's commands call. They hold no state
// and may be interrupted at any instant: the daemon owns the processes, and
// what it does can be cut off and done again.
package sandbox

import (
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

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/node"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/sandbox/wait"
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
	Version  string // of this program
	// Progress gets the status of all components at the beginning and after
	// each change; may be nil.
	Progress func([]supervisor.Status)
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
	if err := checkWorkshop(o.Home, o.Workshop); err != nil {
		return nil, err
	}
	d := openDoor(o.Home)
	if err := d.post(ctx, pathRepair); errors.Is(err, errNoDaemon) {
		if err := preflight(ctx, o.Home); err != nil {
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

// checkWorkshop refuses another workshop than the one that is here.
func checkWorkshop(h Home, name string) error {
	if name == "" {
		return nil
	}
	if _, err := findWorkshop(name); err != nil {
		return err
	}
	s, err := h.LoadState()
	if errors.Is(err, ErrNoSandbox) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.Workshop != name {
		return &UsageError{fmt.Sprintf("the sandbox in %s holds the workshop %s: remove it with `kalypso down --delete`, or set KALYPSO_HOME to another folder", h, s.Workshop)}
	}
	return nil
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
	name := o.Workshop
	if name == "" {
		name = DefaultWorkshop
	}
	if err := os.MkdirAll(filepath.Dir(o.Home.Log("daemon")), 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(o.Home.Log("daemon"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, "daemon", "--workshop", name)
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
	err = wait.For(ctx, "the daemon's answer", answerLimit, func(ctx context.Context) error {
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
	return nil
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
	return &Status{Home: string(h), Workshop: state.Workshop, ForgeURL: state.ForgeURL(), User: state.Admin.User}, nil
}

// Down stops the sandbox, and with remove also deletes everything that it has
// made, and nothing else. Nothing to stop or to delete is no error; did tells
// whether there was something.
func Down(ctx context.Context, h Home, remove bool, progress func([]supervisor.Status)) (did bool, err error) {
	if _, err := os.Stat(string(h)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if !h.Exists() {
		if err := h.checkOurs(); err != nil {
			return false, err
		}
	}
	stopped, err := stopDaemon(ctx, h, progress)
	if err != nil {
		return stopped, err
	}
	if _, err := UnmergeKubeconfig(h); err != nil {
		return stopped, fmt.Errorf("take the contexts out of the kubeconfig: %w", err)
	}
	if !remove {
		return stopped, nil
	}
	return true, h.remove()
}

func stopDaemon(ctx context.Context, h Home, progress func([]supervisor.Status)) (bool, error) {
	if !h.locked() {
		return false, h.endOrphans()
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
		err = wait.For(ctx, "the daemon's end", killLimit, h.unlocked)
	}
	if err == nil || ctx.Err() != nil {
		return true, err
	}
	// Whoever only looks whether a daemon runs holds its lock for a moment, too,
	// and then the ID in the file is of a process that is gone, or a stranger's.
	if wait.For(ctx, "the daemon's lock", glanceLimit, h.unlocked) == nil {
		return true, h.endOrphans()
	}
	if err := h.killDaemon(); err != nil {
		return true, err
	}
	if err := wait.For(ctx, "the killed daemon's end", killLimit, h.unlocked); err != nil {
		return true, err
	}
	return true, h.endOrphans()
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
