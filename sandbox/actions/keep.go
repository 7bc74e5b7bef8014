//go:build unix

package actions

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// order is what the runner tells a keeper, one JSON document per line.
type order struct {
	Run    *command `json:"run,omitempty"`
	Signal string   `json:"signal,omitempty"` // to the process that runs
}

// command is a process to start.
type command struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	// Mark is written into the output when the process has ended, with its exit
	// code. It is random, so that nothing a step prints can be taken for it.
	Mark string `json:"mark"`
}

// Exit codes as a shell has them: of a process that a signal has ended, plus
// the signal's number, and of one that there is not.
const (
	codeKilled   = 128
	codeNotFound = 127
)

// endLimit is how long the processes of a job may take to be gone once they
// have been killed: what waits for a disk ends only when the disk has answered.
const endLimit = 5 * time.Second

// Keep is the work of a job's keeper: it starts one process after the other as
// it is told by in, with their output going to out, and returns when in ends.
// Then nothing is left of what it has started. It must be all that its process
// does, since it waits for every child that the process has.
func Keep(in io.Reader, out *os.File) error {
	// the runner may be gone: that is told by in, and must not end this process
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	if err := adoptOrphans(); err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	k := &keeping{out: out, null: null, born: make(chan struct{}, 1), none: make(chan struct{})}
	go k.reap()

	// a child dies with the thread that has started it, see spawn in supervisor
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return errors.Join(noEOF(err), k.endAll())
		}
		var o order
		if err := json.Unmarshal(line, &o); err != nil {
			return errors.Join(fmt.Errorf("order: %w", err), k.endAll())
		}
		if o.Run != nil {
			k.start(*o.Run)
		}
		if s, ok := signals[o.Signal]; ok {
			k.signal(s)
		}
	}
}

var signals = map[string]syscall.Signal{"interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM, "kill": syscall.SIGKILL}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

type keeping struct {
	out, null *os.File
	born      chan struct{} // told of each child
	none      chan struct{} // closed when over and no child is left

	mu     sync.Mutex
	pid    int // of the process that runs; 0 for none
	mark   string
	groups []int // of all that have been started
	over   bool
}

func (k *keeping) start(c command) {
	k.mu.Lock()
	defer k.mu.Unlock()
	pid, err := k.fork(c)
	if err != nil {
		fmt.Fprintf(k.out, "%s: %v\n%s%d\n", c.Argv[0], err, c.Mark, codeNotFound)
		return
	}
	k.pid, k.mark = pid, c.Mark
	k.groups = append(k.groups, pid)
	select {
	case k.born <- struct{}{}:
	default:
	}
}

// fork bypasses os/exec, which would wait for the process behind reap's back.
func (k *keeping) fork(c command) (int, error) {
	path, err := lookPath(c.Argv[0], c.Env)
	if err != nil {
		return 0, err
	}
	return syscall.ForkExec(path, c.Argv, &syscall.ProcAttr{
		Dir: c.Dir, Env: c.Env,
		Files: []uintptr{k.null.Fd(), k.out.Fd(), k.out.Fd()},
		Sys:   stepAttributes(),
	})
}

// reap waits for the children, also for those that have lost their parents.
func (k *keeping) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // no children
			k.mu.Lock()
			over := k.over
			k.mu.Unlock()
			if over {
				close(k.none)
				return
			}
			<-k.born
		default:
			k.ended(pid, status)
		}
	}
}

func (k *keeping) ended(pid int, status syscall.WaitStatus) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if pid != k.pid || !status.Exited() && !status.Signaled() {
		return
	}
	code := status.ExitStatus()
	if status.Signaled() {
		code = codeKilled + int(status.Signal())
	}
	k.pid = 0
	_, _ = io.WriteString(k.out, k.mark+strconv.Itoa(code)+"\n")
}

// signal reaches the running process and all of its group.
func (k *keeping) signal(s syscall.Signal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pid != 0 {
		_ = syscall.Kill(-k.pid, s)
	}
}

// endAll kills what has been started until there is nothing left to kill.
func (k *keeping) endAll() error {
	k.mu.Lock()
	k.over = true
	groups := k.groups
	k.mu.Unlock()
	close(k.born)
	deadline := time.After(endLimit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		killChildren(groups)
		select {
		case <-k.none:
			return nil
		case <-deadline:
			return fmt.Errorf("processes of the job do not end after %s", endLimit)
		case <-tick.C:
		}
	}
}

// lookPath finds a program in the PATH of the environment that it will get.
func lookPath(name string, env []string) (string, error) {
	if path, ok := findProgram(name, env); ok {
		return path, nil
	}
	return "", exec.ErrNotFound
}
