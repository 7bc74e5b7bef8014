package actions

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// keeper is the runner's end of a job's keeper process, see Keep.
type keeper struct {
	cmd    *exec.Cmd
	orders io.WriteCloser
	out    *lines
	codes  chan string   // exit code of each process
	gone   chan struct{} // closed when the keeper has ended
	read   chan struct{} // closed when its output has been read
	closer sync.Once
}

// grace is how long a process may take after each request to end.
type grace struct{ interrupt, terminate time.Duration }

// What GitHub gives, and what a runner has that is to stop itself.
var (
	usualGrace = grace{7500 * time.Millisecond, 2500 * time.Millisecond}
	shortGrace = grace{time.Second, 500 * time.Millisecond}
)

// startKeeper starts a keeper, whose output is given to emit by lines.
func startKeeper(argv []string, dir string, m *mask, emit func(string)) (*keeper, error) {
	k := &keeper{codes: make(chan string, 1), gone: make(chan struct{}), read: make(chan struct{})}
	k.out = &lines{mask: m, emit: emit, mark: "\x00" + rand.Text() + ":", end: func(code string) { k.codes <- code }}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	k.cmd = exec.Command(argv[0], argv[1:]...)
	k.cmd.Dir, k.cmd.Env, k.cmd.Stdout, k.cmd.Stderr = dir, []string{"PATH=" + os.Getenv("PATH")}, w, w
	// A session of its own: what ends the runner must not end the keeper, which
	// has to end the job then.
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if k.orders, err = k.cmd.StdinPipe(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if err := k.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the job's keeper: %w", err), r.Close())
	}
	go func() {
		_, _ = io.Copy(k.out, r)
		k.out.flush()
		close(k.read)
		_ = r.Close()
	}()
	go func() {
		_ = k.cmd.Wait()
		close(k.gone)
	}()
	return k, nil
}

var errKeeperGone = errors.New("the job's keeper has been killed")

// run runs a process to its end and returns its exit code. When ctx ends
// before, the process is asked to end, asked again, then killed; run returns
// when it has ended, with the cause of ctx's end.
func (k *keeper) run(ctx context.Context, c command, g func() grace) (int, error) {
	c.Mark = k.out.mark
	if err := k.tell(order{Run: &c}); err != nil {
		return 0, errKeeperGone
	}
	done := ctx.Done()
	requests := []string{"interrupt", "terminate", "kill"}
	var next <-chan time.Time
	for {
		select {
		case text := <-k.codes:
			code, err := strconv.Atoi(text)
			if err == nil && ctx.Err() != nil && len(requests) < 3 {
				err = context.Cause(ctx)
			}
			return code, err
		case <-k.gone:
			return 0, errKeeperGone
		case <-done:
			done = nil
		case <-next:
		}
		if len(requests) == 0 {
			next = nil
			continue
		}
		_ = k.tell(order{Signal: requests[0]})
		pauses := []time.Duration{0, g().terminate, g().interrupt}
		requests = requests[1:]
		next = time.After(pauses[len(requests)])
	}
}

func (k *keeper) tell(o order) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = k.orders.Write(append(b, '\n'))
	return err
}

// close ends all that the job has left running.
func (k *keeper) close() error {
	k.closer.Do(func() { _ = k.orders.Close() })
	select {
	case <-k.gone:
	case <-time.After(2 * endLimit):
		_ = k.cmd.Process.Kill()
		return fmt.Errorf("the job's keeper does not end after %s", 2*endLimit)
	}
	select {
	case <-k.read:
		return nil
	case <-time.After(endLimit):
		return errors.New("something that the job has started still holds its output")
	}
}
