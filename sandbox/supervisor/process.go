package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kalypso-dev/kalypso/internal/posix"
	"github.com/kalypso-dev/kalypso/internal/retry"
)

// stopGrace is how long a process may take to end after it has been asked to;
// then it is killed.
const stopGrace = 8 * time.Second

// Process is a component that is a child process. It dies with this process,
// however this process ends.
type Process struct {
	Name string
	Path string   // program
	Argv []string // with argv[0]; Path when empty
	Env  []string // whole environment
	Dir  string   // working folder
	Log  string   // file that gets stdout and stderr
	// Registry is a folder where the process's identity is kept while it runs,
	// so that a later supervisor can end it if it has been orphaned.
	Registry string
	// Prepare does what Init is for; may be nil.
	Prepare func(ctx context.Context) error
	// Check does what Ready is for; nil means ready when started.
	Check func(ctx context.Context) error
	// Kill ends the process at once instead of asking it first, for programs
	// that do not listen.
	Kill bool

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	cause  error // see Cause
	over   bool  // stopped, with its group
}

var _ Component = (*Process)(nil)

// Init ends an orphan of an earlier run, then prepares.
func (p *Process) Init(ctx context.Context) error {
	if err := EndOrphan(p.Registry, p.Name); err != nil {
		return err
	}
	if p.Prepare == nil {
		return nil
	}
	return p.Prepare(ctx)
}

// Start launches the process with its output going to the log file.
func (p *Process) Start(context.Context) error {
	if err := os.MkdirAll(filepath.Dir(p.Log), 0o700); err != nil {
		return err
	}
	log, err := openLog(p.Log)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := &exec.Cmd{Path: p.Path, Args: p.Argv, Env: p.Env, Dir: p.Dir, Stdout: log, Stderr: log}
	if len(cmd.Args) == 0 {
		cmd.Args = []string{p.Path}
	}
	cmd.SysProcAttr = childAttributes()
	if err := spawn(cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.Path, err)
	}
	exited := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.exited, p.cause, p.over = cmd, exited, nil, false
	p.mu.Unlock()
	err = register(p.Registry, p.Name, cmd.Process.Pid)
	go func() {
		_ = cmd.Wait() // the process state has the cause
		p.mu.Lock()
		if p.cmd == cmd {
			p.cause = endOf(cmd.ProcessState)
		}
		p.mu.Unlock()
		unregister(p.Registry, p.Name)
		close(exited)
	}()
	if err != nil {
		return errors.Join(err, p.Stop(context.Background()))
	}
	return nil
}

func (p *Process) Ready(ctx context.Context) error {
	if p.Check == nil {
		return nil
	}
	return p.Check(ctx)
}

func (p *Process) Exited() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exited
}

// Cause is how the process has ended; nil while it runs, and after a good end.
func (p *Process) Cause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause
}

// endOf is the end of a process, nil for a good one.
func endOf(state *os.ProcessState) error {
	if state == nil || state.Success() {
		return nil
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return &endedError{"by signal " + status.Signal().String()}
	}
	return &endedError{fmt.Sprintf("with exit code %d", state.ExitCode())}
}

// PID returns the process's ID, or 0.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Stop asks the process to end, and kills it and its own children when it has
// not after a while.
func (p *Process) Stop(ctx context.Context) error {
	p.mu.Lock()
	cmd, exited, over := p.cmd, p.exited, p.over
	p.mu.Unlock()
	if cmd == nil || over {
		return nil // its ID may be another process's by now
	}
	group := -cmd.Process.Pid
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	if !p.Kill {
		_ = posix.Kill(cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-exited:
		case <-grace.C:
		case <-ctx.Done():
		}
	}
	// also after a good end: what it has left behind must not outlive it
	_ = posix.Kill(group, syscall.SIGKILL)
	select {
	case <-exited:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.over = true
		return nil
	case <-time.After(stopGrace):
		return fmt.Errorf("process %d does not end", cmd.Process.Pid)
	}
}

type spawnRequest struct {
	cmd  *exec.Cmd
	done chan error
}

var spawner = sync.OnceValue(func() chan<- spawnRequest {
	requests := make(chan spawnRequest)
	go func() {
		// On Linux the parent-death signal is sent when the THREAD that forked
		// ends, not the process. The Go runtime ends threads as it likes, so all
		// children come from one that is never given back.
		runtime.LockOSThread()
		for r := range requests {
			r.done <- r.cmd.Start()
		}
	}()
	return requests
})

// spawn starts a command so that it dies with this process.
func spawn(cmd *exec.Cmd) error {
	r := spawnRequest{cmd, make(chan error, 1)}
	spawner() <- r
	return <-r.done
}

// RunCommand runs a short command that dies with this process, and waits.
func RunCommand(cmd *exec.Cmd) error {
	if err := StartCommand(cmd); err != nil {
		return err
	}
	return cmd.Wait()
}

// StartCommand starts a command that dies with this process. The caller
// waits for the command.
func StartCommand(cmd *exec.Cmd) error {
	cmd.SysProcAttr = childAttributes()
	return spawn(cmd)
}

const orphanGrace = 5 * time.Second

// identity distinguishes a process from another that got the same ID later.
type identity struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // in the system's own terms; only compared
}

func identityFile(dir, name string) string { return filepath.Join(dir, name+".json") }

func register(dir, name string, pid int) error {
	started, err := startTime(pid)
	if err != nil {
		// it has ended already: nothing to remember
		return nil
	}
	b, err := json.Marshal(identity{pid, started})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(identityFile(dir, name), b, 0o600)
}

func unregister(dir, name string) { _ = os.Remove(identityFile(dir, name)) }

// Living returns the IDs of the processes that are registered in a folder and
// run, by name. Without a supervisor they are orphans.
func Living(dir string) (map[string]int, error) {
	files, err := filepath.Glob(identityFile(dir, "*"))
	if err != nil {
		return nil, err
	}
	living := map[string]int{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just ended
		}
		if err != nil {
			return nil, err
		}
		var id identity
		if json.Unmarshal(b, &id) == nil && id.running() {
			living[strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))] = id.PID
		}
	}
	return living, nil
}

// running reports whether it is still the same process that runs.
func (id identity) running() bool {
	started, err := startTime(id.PID)
	return err == nil && started == id.Started
}

// EndOrphan kills the process that an earlier supervisor registered under name
// and did not live to stop, with the process group it leads. A process that
// merely has its ID now is left alone.
func EndOrphan(dir, name string) error {
	b, err := os.ReadFile(identityFile(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var id identity
	if json.Unmarshal(b, &id) != nil {
		// written halfway when the power went: no process of then is left
		unregister(dir, name)
		return nil
	}
	what := fmt.Sprintf("end of process %d (%s) of an earlier run", id.PID, name)
	err = retry.Until(context.Background(), what, orphanGrace, func(context.Context) error {
		if !id.running() {
			return nil
		}
		_ = posix.Kill(-id.PID, syscall.SIGKILL)
		_ = posix.Kill(id.PID, syscall.SIGKILL)
		return errors.New("it has been killed and still runs: end it by hand")
	})
	if err != nil {
		return err
	}
	unregister(dir, name)
	return nil
}
