package components

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
)

// Stage makes sure that each named component (all of them, if none is named)
// lies complete in its folder below dir, and makes dir if it is missing.
//
// A folder that is not there is unpacked beside its place, every file checked
// against its digest, and moved into place as a whole; so a folder is complete
// or absent, whenever this is interrupted. A folder that is there is checked:
// every file must have its size, every program also its digest. A file that
// fails is replaced by moving a good one over it, which a program that runs
// from the folder survives.
//
// Stage may run any number of times at once, in any number of processes: they
// take turns for each component, and only the first one unpacks. What an
// interrupted Stage left is removed by the next one.
//
// Start programs only after Stage has returned, not while it writes: on Linux
// a program is "text file busy" as long as any process, even one just being
// forked, has it open for writing.
func (p *Payload) Stage(ctx context.Context, dir string, names ...string) error {
	if p.err != nil {
		return p.err
	}
	if len(names) == 0 {
		names = p.manifest.Names()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, name := range names {
		c, ok := p.manifest.Component(name)
		if !ok {
			return fmt.Errorf("stage %s: not in this payload", name)
		}
		g.Go(func() error {
			if err := p.stage(ctx, dir, c); err != nil {
				return fmt.Errorf("stage %s: %w", c.Name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// lockPoll is how often a process tries again to get the lock of a component.
const lockPoll = 50 * time.Millisecond

func (p *Payload) stage(ctx context.Context, dir string, c Component) error {
	lock := flock.New(filepath.Join(dir, "."+c.Name+".lock"))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	defer lock.Unlock()

	tmp := filepath.Join(dir, "."+c.Name+".tmp")
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	final := filepath.Join(dir, c.Folder())
	absent, bad, err := check(ctx, final, c.Files)
	if err != nil || (!absent && len(bad) == 0) {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := p.unpack(ctx, tmp, c); err != nil {
		return err
	}
	if absent {
		return os.Rename(tmp, final)
	}
	return repair(tmp, final, bad)
}

// check returns the files of dir that are not as they should be. A folder that
// is no folder counts as absent and is removed.
func check(ctx context.Context, dir string, files []File) (absent bool, bad []File, err error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	if !info.IsDir() {
		return true, nil, os.Remove(dir)
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return false, nil, err
		}
		if !intact(filepath.Join(dir, filepath.FromSlash(f.Path)), f) {
			bad = append(bad, f)
		}
	}
	return false, bad, nil
}

// intact reports whether the file at path is f. A file that cannot be read is
// not: whatever the reason, replacing it is the remedy.
func intact(path string, f File) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() != f.Size || info.Mode().Perm() != f.Mode.Perm() {
		return false
	}
	if !f.Executable() {
		return true
	}
	in, err := os.Open(path)
	if err != nil {
		return false
	}
	defer in.Close()
	digest := sha256.New()
	_, err = io.Copy(digest, in)
	return err == nil && hex.EncodeToString(digest.Sum(nil)) == f.SHA256
}

// repair moves each bad file from a fresh copy to its place.
func repair(fresh, dir string, bad []File) error {
	for _, f := range bad {
		rel := filepath.FromSlash(f.Path)
		to := filepath.Join(dir, rel)
		if err := makeParents(dir, rel); err != nil {
			return err
		}
		if info, err := os.Lstat(to); err == nil && info.IsDir() {
			if err := os.RemoveAll(to); err != nil {
				return err
			}
		}
		if err := os.Rename(filepath.Join(fresh, rel), to); err != nil {
			return err
		}
	}
	return nil
}

// makeParents makes the folders above rel within dir, in place of whatever
// else may have their names.
func makeParents(dir, rel string) error {
	for i := range rel {
		if rel[i] != filepath.Separator {
			continue
		}
		parent := filepath.Join(dir, rel[:i])
		if info, err := os.Lstat(parent); err == nil && !info.IsDir() {
			if err := os.Remove(parent); err != nil {
				return err
			}
		}
		if err := os.Mkdir(parent, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// unpack writes the component's files below dir. It fails unless the archive
// and every file in it are as the manifest says, and none is missing.
func (p *Payload) unpack(ctx context.Context, dir string, c Component) error {
	archive, err := p.fsys.Open(c.Archive())
	if err != nil {
		return err
	}
	defer archive.Close()
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	missing := make(map[string]File, len(c.Files))
	for _, f := range c.Files {
		missing[f.Path] = f
	}
	whole := sha256.New()
	parents := map[string]bool{}
	buf := make([]byte, copyBuffer)
	err = readArchive(io.TeeReader(archive, whole), func(name string, content io.Reader) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, ok := missing[name]
		if !ok {
			return fmt.Errorf("%s: not in the manifest", name)
		}
		delete(missing, name)
		path := filepath.Join(dir, filepath.FromSlash(name))
		if parent := filepath.Dir(path); !parents[parent] {
			if err := os.MkdirAll(parent, 0o755); err != nil {
				return err
			}
			parents[parent] = true
		}
		return write(path, f, content, buf)
	})
	if err != nil {
		return fmt.Errorf("unpack %s: %w", c.Archive(), err)
	}
	for name := range missing {
		return fmt.Errorf("unpack %s: %s is missing", c.Archive(), name)
	}
	if got := hex.EncodeToString(whole.Sum(nil)); got != c.SHA256 {
		return fmt.Errorf("unpack %s: digest is %s, want %s", c.Archive(), got, c.SHA256)
	}
	return nil
}

const copyBuffer = 256 << 10

func write(path string, f File, content io.Reader, buf []byte) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.Mode.Perm())
	if err != nil {
		return err
	}
	digest := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(out, digest), content, buf)
	// the umask may have taken bits that check will look for
	err = errors.Join(err, out.Chmod(f.Mode.Perm()), out.Close())
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(digest.Sum(nil)); n != f.Size || got != f.SHA256 {
		return fmt.Errorf("%s: %d bytes with digest %s, want %d with %s", f.Path, n, got, f.Size, f.SHA256)
	}
	return nil
}

// errStop ends [readArchive] early, without an error.
var errStop = errors.New("stop")

// readArchive calls do with each file of the archive in r, in order. It reads r
// to its end unless do returns an error.
func readArchive(r io.Reader, do func(name string, content io.Reader) error) error {
	zr, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(2))
	if err != nil {
		return err
	}
	defer zr.Close()
	tr := tar.NewReader(zr)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			// what follows the last file must be read too: the caller may be hashing
			_, err := io.Copy(io.Discard, zr)
			return err
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			return fmt.Errorf("%s: not a regular file", h.Name)
		}
		if err := do(h.Name, tr); errors.Is(err, errStop) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
