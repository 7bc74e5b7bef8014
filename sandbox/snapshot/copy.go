package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/posix"
)

// clockGrain is more than what the clock that stamps files may lag behind: a
// file that was changed this shortly before it was copied may have been
// changed again under the same stamp.
const clockGrain = 100 * time.Millisecond

// copier copies folders and files that are being written. A first pass, while
// everything runs, copies nearly all; a second one, while the writers are
// stopped, brings the copy to the state of that instant, and costs little.
type copier struct {
	from, to string
	known    map[string]copied // by path below from
}

// copied is what a file was like just before it was copied.
type copied struct {
	fs.FileInfo
	checked time.Time
}

func newCopier(from, to string) *copier {
	return &copier{from: from, to: to, known: map[string]copied{}}
}

// pass makes the copy of the given paths, and all below them, like what is
// there now. Paths that are not there are left out.
func (c *copier) pass(ctx context.Context, paths []string) error {
	seen := map[string]bool{}
	for _, p := range paths {
		err := filepath.WalkDir(filepath.Join(c.from, p), func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			rel, relErr := filepath.Rel(c.from, path)
			if err = errors.Join(err, relErr); err == nil && !leftOut(rel) {
				seen[rel] = true
				err = c.entry(rel)
			}
			if errors.Is(err, fs.ErrNotExist) {
				delete(seen, rel) // it has just gone
				return nil
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("copy %s: %w", p, err)
		}
	}
	for rel := range c.known {
		if !seen[rel] {
			if err := c.drop(rel); err != nil {
				return err
			}
		}
	}
	return nil
}

// leftOut is for an index into SQLite's log that only counts while a process
// has it mapped; it is written past the file system, so nothing shows when.
func leftOut(rel string) bool { return strings.HasSuffix(rel, ".db-shm") }

// drop takes a path, and all below it, out of the copy.
func (c *copier) drop(rel string) error {
	maps.DeleteFunc(c.known, func(k string, _ copied) bool {
		return k == rel || strings.HasPrefix(k, rel+string(filepath.Separator))
	})
	return os.RemoveAll(filepath.Join(c.to, rel))
}

// entry copies one file, link or folder, without what is in it.
func (c *copier) entry(rel string) error {
	checked := time.Now()
	info, err := os.Lstat(filepath.Join(c.from, rel))
	if err != nil {
		return err
	}
	before, known := c.known[rel]
	if known && before.same(info) {
		return nil
	}
	if known && before.Mode().Type() != info.Mode().Type() {
		if err := c.drop(rel); err != nil {
			return err
		}
	}
	from, to := filepath.Join(c.from, rel), filepath.Join(c.to, rel)
	if !known {
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		err = os.MkdirAll(to, 0o700)
		if err == nil {
			err = os.Chmod(to, info.Mode().Perm())
		}
	case fs.ModeSymlink:
		err = copyLink(from, to)
	case 0:
		if err = copyFile(from, to, info.Mode().Perm()); err == nil {
			err = os.Chtimes(to, time.Time{}, info.ModTime())
		}
	default:
		return nil // a socket or the like: its listener makes it anew
	}
	if err != nil {
		return err
	}
	c.known[rel] = copied{info, checked}
	return nil
}

// same reports whether a file is still as it was copied.
func (c copied) same(now fs.FileInfo) bool {
	if now.IsDir() && c.IsDir() {
		return now.Mode() == c.Mode()
	}
	return os.SameFile(c.FileInfo, now) && c.Mode() == now.Mode() && c.Size() == now.Size() &&
		c.ModTime().Equal(now.ModTime()) && c.ModTime().Before(c.checked.Add(-clockGrain))
}

func copyLink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(target, to)
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(cloneContent(in, out), out.Chmod(mode), out.Close())
}

// diskUsage is what a folder takes on disk.
func diskUsage(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		sum += posix.Allocated(info)
		return nil
	})
	return sum, err
}
