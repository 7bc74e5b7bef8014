package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/gitcommand"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// gitLimit bounds one run of git: a folder on a network that hangs, or a named
// pipe that a repository has for an ignore file, would block it for ever.
const gitLimit = 5 * time.Minute

// safeOptions and safeVariables keep git from running anything that a
// repository's own configuration names, since the folder may be somebody else's:
// no program for file changes, and no transport for objects that a partial
// clone lacks. GIT_DIR, which is always given, keeps git from a search of its
// own, and from refusing folders of another user, as a mounted one is. Nothing
// is written either.
var (
	safeOptions   = []string{"--no-pager", "-c", "core.fsmonitor=false"}
	safeVariables = []string{"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_REPLACE_OBJECTS=1"}
)

// exitCode returns the exit code of a failed run of git, -1 for other errors.
func exitCode(err error) int {
	if e := new(gitcommand.Error); errors.As(err, &e) {
		return e.Code
	}
	return -1
}

// run runs git in the repository's folder, which narrows its lists to that
// folder, and hands its output to read.
func (r *repository) run(ctx context.Context, input string, read func(*bufio.Reader) error, args ...string) error {
	env := append(slices.Clone(safeVariables), "GIT_DIR="+r.gitDir)
	if r.top != "" {
		env = append(env, "GIT_WORK_TREE="+r.top)
	}
	err := gitcommand.Command{Dir: r.dir, Env: env, Options: safeOptions, Isolated: true, Limit: gitLimit}.Stream(ctx, input, read, args...)
	if errors.Is(err, gitcommand.ErrNotInstalled) {
		err = &Error{Message: fmt.Sprintf("git is not installed, and %s is a git repository", r.dir), Hint: "install git", Err: err}
	}
	return err
}

// records visits the parts of git's output that end with NUL, and what follows
// the last NUL.
func (r *repository) records(ctx context.Context, visit func(record string) error, args ...string) error {
	return r.run(ctx, "", func(out *bufio.Reader) error {
		for {
			record, err := out.ReadString(0)
			if record != "" {
				if err := visit(strings.TrimSuffix(record, "\x00")); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}, args...)
}

// line returns the only line that git prints, without its end.
func (r *repository) line(ctx context.Context, args ...string) (line string, err error) {
	err = r.records(ctx, func(record string) error {
		line = strings.TrimSuffix(record, "\n")
		return nil
	}, args...)
	return line, err
}

// object is an entry of a commit's tree, or of the index.
type object struct {
	path    string
	id      string
	regular bool   // no folder, link or submodule
	skipped string // what a link or a submodule is, else ""
}

// modes are what git's modes of links and submodules mean.
var modes = map[string]string{"120000": model.SymbolicLink, "160000": model.Submodule}

// objects visits the entries of a commit that lie below the repository's folder.
func (r *repository) objects(ctx context.Context, commit string, visit func(object) error) error {
	return r.records(ctx, func(record string) error {
		meta, file, _ := strings.Cut(record, "\t")
		fields := strings.Fields(meta) // mode, type, ID
		if len(fields) != 3 {
			return fmt.Errorf("git ls-tree: unexpected output %q", record)
		}
		if file == "./" {
			return nil
		}
		return visit(object{file, fields[2], strings.HasPrefix(fields[0], "100"), modes[fields[0]]})
	}, "ls-tree", "-r", "-t", "-z", commit)
}

// errMissing says that an object is not in the repository, which is damaged
// then, or was cloned without file contents.
var errMissing = errors.New("object not found")

// contents adds files by their objects, each of which was counted already.
func (r *repository) contents(ctx context.Context, files []object, all *collection) error {
	var wanted []object
	err := r.batch(ctx, "--batch-check", files, func(o object, size int64, _ *bufio.Reader) error {
		read, err := all.admit(o.path, size)
		if read {
			wanted = append(wanted, o)
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.batch(ctx, "--batch", wanted, func(o object, size int64, out *bufio.Reader) error {
		content := make([]byte, size)
		if _, err := io.ReadFull(out, content); err != nil {
			return io.ErrUnexpectedEOF
		}
		all.keep(o.path, content)
		_, err := out.Discard(1)
		return err
	})
}

// batch visits what `git cat-file` answers for each object.
func (r *repository) batch(ctx context.Context, mode string, files []object, visit func(o object, size int64, out *bufio.Reader) error) error {
	if len(files) == 0 {
		return nil
	}
	var ids strings.Builder
	for _, o := range files {
		ids.WriteString(o.id + "\n")
	}
	err := r.run(ctx, ids.String(), func(out *bufio.Reader) error {
		for _, o := range files {
			header, err := out.ReadString('\n')
			if err != nil {
				return io.ErrUnexpectedEOF
			}
			var id, kind string
			var size int64
			if n, _ := fmt.Sscan(header, &id, &kind, &size); n < 3 { // "missing" has no size
				return fmt.Errorf("file %s: %w", o.path, errMissing)
			}
			if err := visit(o, size, out); err != nil {
				return err
			}
		}
		return nil
	}, "cat-file", mode)
	if err != nil && strings.Contains(err.Error(), "promisor remote") { // of a partial clone
		err = fmt.Errorf("%w: %w", errMissing, err)
	}
	return err
}
