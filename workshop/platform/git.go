package platform

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/gitcommand"
)

// git runs git for one repository.
type git struct {
	dir      string            // of the bare repository
	env      []string          // more variables
	config   map[string]string // more settings, in no list of processes
	progress func(line string) // gets what git says on its way; may be nil
}

// command runs git so that the repository's own configuration starts no program:
// nothing is checked out, and no hook runs.
func (g git) command() gitcommand.Command {
	return gitcommand.Command{
		Dir: g.dir, Env: append([]string{"GIT_DIR=" + g.dir}, g.env...), Settings: g.config, Progress: g.progress,
		Options: []string{"--no-pager", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"},
	}
}

// authorized adds credentials for a URL of http.
func (g git) authorized(url, user, password string) git {
	g.config = gitcommand.Authorization(url, user, password)
	return g
}

// run runs git with something to read, and returns its output.
func (g git) run(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	return g.command().Output(ctx, string(input), args...)
}

// line is run for what prints one line.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	return g.command().Line(ctx, args...)
}

// records is run for what prints records that end with NUL.
func (g git) records(ctx context.Context, args ...string) ([]string, error) {
	out, err := g.run(ctx, nil, args...)
	if len(out) == 0 || err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// blobs visits the contents of files, in order. It has one of them in memory at a
// time.
func (g git) blobs(ctx context.Context, ids []string, visit func(i int, content []byte)) error {
	if len(ids) == 0 {
		return nil
	}
	return g.command().Stream(ctx, strings.Join(ids, "\n")+"\n", func(r *bufio.Reader) error {
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
	}, "cat-file", "--batch")
}
