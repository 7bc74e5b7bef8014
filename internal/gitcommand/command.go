// Package gitcommand runs the git program. What a repository's own configuration
// would start is the caller's to switch off: it knows which of it can run.
package gitcommand

import (
	"bufio"
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

	"github.com/kalypso-dev/kalypso/internal/redact"
)

// ErrNotInstalled says that this machine has no git.
var ErrNotInstalled = errors.New("git is not installed: install it")

// Command is a way to run git.
type Command struct {
	Dir     string   // folder in which it runs; "" is this process's
	Env     []string // variables besides the user's
	Options []string // before the command's name
	// Isolated leaves out the user's variables for git, but for settings
	// (GIT_CONFIG_*). Those that name a repository are always left out.
	Isolated bool
	// Settings are given in the environment, since every user of the machine can
	// read the list of processes.
	Settings map[string]string
	Limit    time.Duration // for one run; 0 is none
	Progress func(line string)
}

// Error is a run of git that failed.
type Error struct {
	Command string // such as "clone"
	Code    int    // exit code, -1 without one
	Text    string // all that git has said
}

// Error has the reason without what git has said on its way: the lines that it
// marks as errors, else all.
func (e *Error) Error() string {
	var reasons []string
	for line := range strings.SplitSeq(e.Text, "\n") {
		for _, mark := range []string{"fatal: ", "error: "} {
			if rest, ok := strings.CutPrefix(line, mark); ok {
				reasons = append(reasons, strings.TrimSpace(rest))
			}
		}
	}
	if reasons == nil {
		reasons = []string{e.Text}
	}
	return redact.Text("git " + e.Command + ": " + strings.Join(reasons, ": "))
}

// Output runs git and returns what it prints. The error is ErrNotInstalled, an
// *Error, or the cause of the context's end.
func (c Command) Output(ctx context.Context, input string, args ...string) (out []byte, err error) {
	err = c.Stream(ctx, input, func(r *bufio.Reader) error {
		out, err = io.ReadAll(r)
		return err
	}, args...)
	return out, err
}

// Line runs git for what prints one line, and returns that without its end.
func (c Command) Line(ctx context.Context, args ...string) (string, error) {
	out, err := c.Output(ctx, "", args...)
	return strings.TrimSpace(string(out)), err
}

// Stream runs git and hands what it prints to read, whose error ends it. The error
// is as that of Output, or read's.
func (c Command) Stream(ctx context.Context, input string, read func(*bufio.Reader) error, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.Limit > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, c.Limit, fmt.Errorf("git %s in %s: not ended after %s", args[0], c.Dir, c.Limit))
		defer end()
	}
	cmd := exec.CommandContext(ctx, "git", slices.Concat(c.Options, args)...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = c.Dir, c.environ(), strings.NewReader(input), time.Second
	var said bytes.Buffer
	cmd.Stderr = io.MultiWriter(&said, &progressWriter{report: c.Progress})
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return ErrNotInstalled
		}
		return err
	}
	failed := read(bufio.NewReaderSize(out, 1<<16))
	cause := context.Cause(ctx)
	if failed != nil {
		cancel()
	}
	ended := cmd.Wait()
	text := strings.TrimSpace(said.String())
	switch {
	case cause != nil:
		return cause
	case failed != nil && !errors.Is(failed, io.ErrUnexpectedEOF):
		return failed
	case ended == nil && failed == nil && (text == "" || !lists[args[0]]):
		return nil
	case text == "":
		text = fmt.Sprint(errors.Join(ended, failed))
	}
	return &Error{args[0], cmd.ProcessState.ExitCode(), text}
}

// lists are the commands that warn of what they cannot read, leave it out, and
// succeed.
var lists = map[string]bool{"ls-files": true, "for-each-ref": true}

// local are the variables by which git's hooks name their repository, as `git
// rev-parse --local-env-vars` has them, without those of settings.
var local = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE",
	"GIT_GRAFT_FILE", "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE",
	"GIT_COMMON_DIR",
}

func (c Command) environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(local, name) || c.Isolated && strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "GIT_CONFIG_")
	})
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	if len(c.Settings) > 0 {
		n := 0
		_, _ = fmt.Sscan(os.Getenv("GIT_CONFIG_COUNT"), &n) // the user's go before ours
		for key, value := range c.Settings {
			env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
			n++
		}
		env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n))
	}
	return append(env, c.Env...)
}

// progressWriter hands on each line that git overwrites on a terminal.
type progressWriter struct {
	report func(string)
	line   []byte
}

func (w *progressWriter) Write(p []byte) (int, error) {
	if w.report == nil {
		return len(p), nil
	}
	for _, c := range p {
		if c != '\r' && c != '\n' {
			w.line = append(w.line, c)
			continue
		}
		if line := strings.TrimSpace(string(w.line)); line != "" {
			w.report(line)
		}
		w.line = w.line[:0]
	}
	return len(p), nil
}
