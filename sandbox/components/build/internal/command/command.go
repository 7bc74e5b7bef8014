// Package command runs the tools of a build. Their output is of no interest
// unless one fails; then its last lines are.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// tailLines is how much of a failed tool's output is kept.
const tailLines = 40

// killDelay is how long an interrupted tool may take to end by itself.
const killDelay = 5 * time.Second

// A Command is one call of a tool.
type Command struct {
	// Dir is where it runs.
	Dir string
	// Env is added to this process's environment.
	Env []string
	// Args are the tool and its arguments.
	Args []string
	// Progress, if set, gets each line that the tool writes to standard error,
	// and returns whether it only reports progress: such a line is not kept for an
	// Error.
	Progress func(line string) bool
}

// An Error is a tool that failed, with the end of its output.
type Error struct {
	Args []string
	Tail string
	Err  error
}

// Error names the tool; the tail is left to whoever prints it once.
func (e *Error) Error() string { return fmt.Sprintf("%s: %v", strings.Join(brief(e.Args), " "), e.Err) }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Run runs the command to its end.
func (c Command) Run(ctx context.Context) error {
	return c.run(ctx, nil)
}

// Output runs the command and returns what it wrote to standard output.
func (c Command) Output(ctx context.Context) ([]byte, error) {
	var out bytes.Buffer
	err := c.run(ctx, &out)
	return out.Bytes(), err
}

func (c Command) run(ctx context.Context, stdout io.Writer) error {
	var output tail
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stderr = &output
	lines := lineFilter{drop: c.Progress, rest: &output}
	if c.Progress != nil {
		cmd.Stderr = &lines
	}
	cmd.Stdout = stdout
	if stdout == nil {
		cmd.Stdout = &output
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killDelay
	err := cmd.Run()
	lines.flush()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, exec.ErrNotFound) {
		err = exec.ErrNotFound
	}
	return &Error{Args: c.Args, Tail: output.String(), Err: err}
}

// lineFilter passes on the lines that drop does not claim.
type lineFilter struct {
	drop func(line string) bool
	rest *tail
	part []byte
}

func (f *lineFilter) Write(p []byte) (int, error) {
	f.part = append(f.part, p...)
	for {
		line, after, found := bytes.Cut(f.part, []byte("\n"))
		if !found {
			return len(p), nil
		}
		if !f.drop(string(line)) {
			_, _ = f.rest.Write(append(line, '\n'))
		}
		f.part = append(f.part[:0], after...)
	}
}

func (f *lineFilter) flush() {
	if len(f.part) > 0 && !f.drop(string(f.part)) {
		_, _ = f.rest.Write(f.part)
	}
	f.part = nil
}

// brief leaves out of a command line what only a machine wants to read.
func brief(args []string) []string {
	if len(args) <= 4 {
		return args
	}
	return append(slices.Clone(args[:4]), "...")
}

// tail keeps the end of what is written to it, by two streams at once.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - tailBytes; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	lines := strings.Split(strings.TrimRight(string(t.buf), "\n"), "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return strings.Join(lines, "\n")
}
