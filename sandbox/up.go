package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/kalypso-dev/kalypso/internal/posix"
	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/workshop"
)

const daemonDeadline = 15 * time.Second

// Options of Up.
type Options struct {
	Home    Home
	Choice         // of a new sandbox
	Version string // of this program
	// Trust is asked before a sandbox is made of a workshop that does not come with
	// kalypso, since its workflows run on this machine; may be nil.
	Trust func(*workshop.Workshop) error
	// Progress gets the status of all components at the beginning and after
	// each change; may be nil.
	Progress func([]supervisor.Status)
}

// Up brings the sandbox up and returns when all of it is ready. On one that
// is up it changes nothing; on one that is half up it starts what is missing.
// When components fail for good, the error is a *FailedError and the rest
// keeps running. When ctx ends first, the sandbox goes on starting.
func Up(ctx context.Context, o Options) (*Status, error) {
	scratch, err := makeScratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	if err := o.Choice.Open(ctx, scratch); err != nil {
		return nil, err
	}
	if err := o.Choice.Check(o.Home); err != nil {
		return nil, err
	}
	if w := o.Choice.Foreign(); w != nil && o.Trust != nil && !o.Home.Exists() {
		if err := o.Trust(w); err != nil {
			return nil, err
		}
	}
	client := daemon.NewClient(o.Home)
	err = client.Post(ctx, daemon.PathRepair)
	if errors.Is(err, daemon.ErrNoDaemon) {
		err = preflight(ctx, &o)
		if err == nil {
			err = launch(ctx, client, o.Home, o.Choice)
		}
	}
	if err != nil {
		return nil, err
	}
	// what failed before the repair is about to be tried again
	since := time.Now().Add(-time.Second)
	if _, err := awaitReady(ctx, client, selection{since: since, progress: o.Progress}); err != nil {
		return nil, err
	}
	return client.Status(ctx)
}

// makeScratch makes a folder for what a command needs only itself.
func makeScratch() (string, error) {
	dir, err := os.MkdirTemp("", "kalypso-workshop-")
	if err != nil {
		return "", &PreflightError{[]doctor.Finding{{
			Check: "temporary files", Severity: doctor.Fatal, Found: err.Error(),
			Lost: "there is no place for temporary files", Fix: "make room there, or set TMPDIR to a folder that can be written",
		}}}
	}
	return dir, nil
}

// launch writes the state, of the choice if there is none yet, and starts a daemon
// on it. Killed between the two, the state is what the next `up` starts from.
func launch(ctx context.Context, client *daemon.Client, h Home, c Choice) error {
	_, err := h.Ensure(ctx, c)
	if errors.Is(err, state.ErrLocked) { // another `up` was faster; its daemon is to be waited for
		err = c.Check(h)
	}
	if err != nil {
		return err
	}
	// a share ends with the daemon, however that ended
	if _, err := h.EndShare(); err != nil {
		return err
	}
	ended, err := startDaemon(h)
	if err != nil {
		return err
	}
	var died error
	err = retry.Until(ctx, "the daemon's answer", daemonDeadline, func(ctx context.Context) error {
		_, err := client.Status(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			if !h.Locked() {
				died = client.DiedError()
				return nil
			}
			// another daemon was faster; it is the one to wait for
		default:
		}
		return err
	})
	return errors.Join(err, died)
}

// startDaemon starts the daemon in a session of its own. The channel is closed
// when it ends.
func startDaemon(h Home) (ended <-chan struct{}, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(h.Log("daemon")), 0o700); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(h.Log("daemon"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(program, "daemon")
	cmd.Env = append(os.Environ(), "KALYPSO_HOME="+string(h))
	cmd.Dir = string(h)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = posix.NewSession()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	return done, nil
}
