package platform

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// git runs git for one repository.
type git struct {
	dir      string            // of the bare repository
	env      []string          // more variables
	config   map[string]string // more settings, in no list of processes
	progress func(line string) // gets what git says on its way; may be nil
}

// environ is that of git's processes. A repository's own configuration starts no
// program here: nothing is checked out, and no hook runs.
func (g git) environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GIT_DIR=") || strings.HasPrefix(v, "GIT_WORK_TREE=") || strings.HasPrefix(v, "GIT_INDEX_FILE=")
	})
	env = append(env, "GIT_DIR="+g.dir, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	if len(g.config) > 0 {
		n := 0
		for _, v := range os.Environ() {
			if rest, ok := strings.CutPrefix(v, "GIT_CONFIG_COUNT="); ok {
				_, _ = fmt.Sscan(rest, &n)
			}
		}
		for key, value := range g.config {
			env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
			n++
		}
		env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n))
	}
	return append(env, g.env...)
}

// authorized adds credentials for a URL of http.
func (g git) authorized(url, user, password string) git {
	if user != "" || password != "" {
		g.config = map[string]string{
			"http." + url + ".extraHeader": "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)),
		}
	}
	return g
}

// run runs git with something to read, and returns its output.
func (g git) run(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-pager", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = g.dir, g.environ(), bytes.NewReader(input), time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&said, &progressWriter{report: g.progress})
	err := cmd.Run()
	switch {
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return nil, &source.Error{Message: "git is not installed", Hint: "install git", Err: err}
	}
	return nil, &gitError{command: args[0], text: lastWords(said.String()), err: err}
}

// line is run for what prints one line.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, nil, args...)
	return strings.TrimSpace(string(out)), err
}

// records is run for what prints records that end with NUL.
func (g git) records(ctx context.Context, args ...string) ([]string, error) {
	out, err := g.run(ctx, nil, args...)
	if len(out) == 0 || err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// blobs visits the contents of files, in order.
func (g git) blobs(ctx context.Context, ids []string, visit func(i int, content []byte)) error {
	if len(ids) == 0 {
		return nil
	}
	out, err := g.run(ctx, []byte(strings.Join(ids, "\n")+"\n"), "cat-file", "--batch")
	if err != nil {
		return err
	}
	r := bufio.NewReader(bytes.NewReader(out))
	for i := range ids {
		header, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		var id, kind string
		var size int
		if n, _ := fmt.Sscan(header, &id, &kind, &size); n < 3 {
			return fmt.Errorf("git cat-file: %s", strings.TrimSpace(header))
		}
		content := make([]byte, size)
		if _, err := io.ReadFull(r, content); err != nil {
			return err
		}
		if _, err := r.Discard(1); err != nil {
			return err
		}
		visit(i, content)
	}
	return nil
}

type gitError struct {
	command string
	text    string
	err     error
}

func (e *gitError) Error() string { return redact.Text("git " + e.command + ": " + e.text) }
func (e *gitError) Unwrap() error { return e.err }

// lastWords leaves of what git has said the reason, without its progress.
func lastWords(said string) string {
	var lines []string
	for line := range strings.SplitSeq(said, "\n") {
		if rest, ok := strings.CutPrefix(line, "fatal: "); ok {
			lines = append(lines, strings.TrimSpace(rest))
		} else if rest, ok := strings.CutPrefix(line, "error: "); ok {
			lines = append(lines, strings.TrimSpace(rest))
		}
	}
	if lines == nil {
		return strings.TrimSpace(said)
	}
	return strings.Join(lines, ": ")
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
