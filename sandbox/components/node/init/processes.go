package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/components/node/spec"
)

const (
	pauseMin = 200 * time.Millisecond
	pauseMax = 5 * time.Second
	// endGrace is how long the programs may take to end; the node ends then.
	endGrace = 2 * time.Second
	filePoll = 10 * time.Millisecond
	// awaitLimit is how long a file may be waited for that a program needs; the
	// node ends then, and the supervisor starts it again.
	awaitLimit = 60 * time.Second
	awaitSaid  = 10 * time.Second
	// failLimit is how often a program may end badly within startLimit of the node's
	// start; the node ends then. What ends later is started again for ever: it has
	// worked, and pods would end with the node.
	failLimit  = 5
	startLimit = 90 * time.Second
	tailLines  = 5
	tailBytes  = 4 << 10
	// groupLimit is how long ended processes may keep their control group.
	groupLimit = time.Second
)

// processes starts programs and, as process 1 has to, takes the exit status of
// every process whose parent has ended.
type processes struct {
	began   time.Time
	givenUp chan error // why the node has to end

	mu    sync.Mutex
	ended map[int]chan syscall.WaitStatus
}

func newProcesses() *processes {
	p := &processes{began: time.Now(), givenUp: make(chan error, 1), ended: map[int]chan syscall.WaitStatus{}}
	go p.reap()
	return p
}

func (p *processes) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.ECHILD {
			time.Sleep(filePoll)
			continue
		}
		if err != nil || pid <= 0 {
			continue
		}
		p.mu.Lock()
		if c := p.ended[pid]; c != nil {
			c <- status
			delete(p.ended, pid)
		}
		p.mu.Unlock()
	}
}

func (p *processes) start(program spec.Program, log *os.File) (<-chan syscall.WaitStatus, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pid, err := syscall.ForkExec(program.Path, program.Argv, &syscall.ProcAttr{
		Dir: "/", Env: program.Env, Files: []uintptr{null(), log.Fd(), log.Fd()},
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return nil, err
	}
	c := make(chan syscall.WaitStatus, 1)
	p.ended[pid] = c
	return c, nil
}

var null = sync.OnceValue(func() uintptr {
	fd, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	return uintptr(fd)
})

// runAll starts the programs in their order and keeps them running.
func (p *processes) runAll(programs []spec.Program, logs map[string]*os.File, stop <-chan struct{}) {
	for _, program := range programs {
		if program.After != "" && !await(program, stop) {
			return
		}
		if program.Once {
			if !p.keep(program, logs[program.Name], stop) {
				return
			}
		} else {
			go p.keep(program, logs[program.Name], stop)
		}
	}
}

// await waits for the file that a program needs first, and says so whenever
// that takes long: the programs before it are started again until they make
// it. It returns false when there is nothing to wait for any more.
func await(program spec.Program, stop <-chan struct{}) bool {
	tick, said := time.NewTicker(filePoll), time.NewTicker(awaitSaid)
	defer tick.Stop()
	defer said.Stop()
	began := time.Now()
	for {
		_, err := os.Stat(program.After)
		if err == nil {
			return true
		}
		select {
		case <-stop:
			return false
		case <-said.C:
			waited := time.Since(began)
			fmt.Fprintf(os.Stderr, "node: %s and what follows it still wait after %s: %v\n", program.Name, waited.Round(time.Second), err)
			if waited > awaitLimit {
				fmt.Fprintf(os.Stderr, "node: given up; the logs of the programs before it say more\n")
				os.Exit(1)
			}
		case <-tick.C:
		}
	}
}

// keep starts a program again whenever it ends, after a pause that grows. It
// returns true when one that is to run once has ended well.
func (p *processes) keep(program spec.Program, log *os.File, stop <-chan struct{}) bool {
	pause := pauseMin
	for failures := 0; ; {
		began := time.Now()
		ended, err := p.start(program, log)
		if err == nil {
			status := <-ended
			if program.Once && status.Exited() && status.ExitStatus() == 0 {
				return true
			}
			err = endOf(status)
			if !status.Exited() || status.ExitStatus() != 0 {
				failures++
			}
		} else {
			failures++
		}
		select {
		case <-stop:
			return false
		default:
		}
		fmt.Fprintf(os.Stderr, "node: %s: %v\n", program.Name, err)
		if failures >= failLimit && time.Since(p.began) < startLimit {
			select {
			case p.givenUp <- fmt.Errorf("%s %w, %d times in %s; its log says last: %s", program.Name, err, failures, time.Since(p.began).Round(time.Second), tail(log)):
			default: // another program was faster
			}
			return false
		}
		if time.Since(began) > time.Minute {
			pause = pauseMin
		}
		select {
		case <-stop:
			return false
		case <-time.After(pause):
		}
		pause = min(2*pause, pauseMax)
	}
}

// endOf is how a program has ended.
func endOf(status syscall.WaitStatus) error {
	if status.Signaled() {
		return fmt.Errorf("ended by signal %v", status.Signal())
	}
	return fmt.Errorf("ended with exit code %d", status.ExitStatus())
}

// tail is the end of a log.
func tail(log *os.File) string {
	info, err := log.Stat()
	if err != nil {
		return err.Error()
	}
	b := make([]byte, min(info.Size(), tailBytes))
	if _, err := log.ReadAt(b, info.Size()-int64(len(b))); err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// end asks the programs to end. Whatever is left, pods too, the kernel kills
// as soon as this process ends.
func (p *processes) end() {
	p.mu.Lock()
	for pid := range p.ended {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	p.mu.Unlock()
	deadline := time.Now().Add(endGrace)
	for time.Now().Before(deadline) {
		p.mu.Lock()
		n := len(p.ended)
		p.mu.Unlock()
		if n == 0 {
			return
		}
		time.Sleep(filePoll)
	}
}
