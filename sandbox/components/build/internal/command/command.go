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
	// Progress, if set, gets each line of the tool's, and returns whether it only
	// reports progress: such a line is not kept for an Error.
	Progress func(line string) bool
}

// An Error is a tool that failed, with the end of its output.
type Error struct {
	Args []string
	Tail string
	Err  error
}

// Error names the tool; the caller prints the tail once.
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
	output := tail{drop: c.Progress}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = stdout, &output
	if stdout == nil {
		cmd.Stdout = &output
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killDelay
	err := cmd.Run()
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

// brief leaves out of a command line what only a machine wants to read.
func brief(args []string) []string {
	if len(args) <= 4 {
		return args
	}
	return append(slices.Clone(args[:4]), "...")
}

// tail keeps the last lines of what is written to it, but for those that drop
// claims. One writer at a time: exec hands it both streams by one pipe.
type tail struct {
	drop  func(line string) bool
	lines []string
	part  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.part = append(t.part, p...)
	for {
		line, after, found := bytes.Cut(t.part, []byte("\n"))
		if !found {
			return len(p), nil
		}
		t.add(string(line))
		t.part = append(t.part[:0], after...)
	}
}

func (t *tail) add(line string) {
	if t.drop == nil || !t.drop(line) {
		t.lines = append(t.lines, line)
		t.lines = t.lines[max(0, len(t.lines)-tailLines):]
	}
}

func (t *tail) String() string {
	if len(t.part) > 0 {
		t.add(string(t.part))
	}
	return strings.TrimRight(strings.Join(t.lines, "\n"), "\n")
}
