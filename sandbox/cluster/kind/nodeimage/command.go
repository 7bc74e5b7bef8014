package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// endDelay is how long a tool that is told to end may take to clean up.
	endDelay = 30 * time.Second
	// tailLines is how much of a failed tool's output is shown.
	tailLines = 30
)

// A commandError is a tool that failed, with the end of what it said.
type commandError struct {
	name string
	tail string
	err  error
}

func (e *commandError) Error() string { return fmt.Sprintf("%s: %v", e.name, e.err) }
func (e *commandError) Unwrap() error { return e.err }

// A tool is one call of a program.
type tool struct {
	path string   // of the program; args[0] if it is empty
	args []string // with the name that the program is to see
	dir  string
	env  []string // added to this process's
	in   io.Reader
}

// run runs the tool to its end and returns what it wrote to standard output.
func (t tool) run(ctx context.Context) ([]byte, error) {
	path := t.path
	if path == "" {
		path = t.args[0]
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Dir, cmd.Stdin = t.args, t.dir, t.in
	cmd.Env = append(os.Environ(), t.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endDelay
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	err := cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, exec.ErrNotFound) {
		err = exec.ErrNotFound
	}
	return nil, &commandError{name: strings.Join(t.args[:min(3, len(t.args))], " "), tail: tail(out.String() + wrong.String()), err: err}
}

func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
