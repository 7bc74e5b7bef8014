package source

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// readWorkingTree returns the files that `git add --all` would leave in the
// index: those that git knows, as they are now, and those that it does not
// ignore. The tree has a commit only when it is exactly that commit's.
func (r *repository) readWorkingTree(ctx context.Context, branch string) (*model.Tree, error) {
	r.state.seen.Store(true)
	r.state.dirty.Store(true)
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	w := &workingTree{repository: r, root: root, folders: map[string]bool{".": true}, index: map[string]entry{}, all: newCollection()}
	if err := w.read(ctx); err != nil {
		return nil, fmt.Errorf("working tree %s: %w", r.dir, err)
	}
	tree := &model.Tree{Repo: r.named, Branch: branch, Files: w.all.files(), Skipped: w.all.entriesSkipped()}
	head, err := r.head(ctx, headBranch)
	if errors.Is(err, model.ErrNotFound) {
		return tree, nil // nothing has been committed yet
	}
	if err != nil {
		return nil, err
	}
	same, err := w.is(ctx, head, tree.Files)
	if err != nil {
		return nil, fmt.Errorf("commit %s of %s: %w", head, r.dir, err)
	}
	if same {
		tree.Commit = head
		r.state.dirty.Store(false)
	}
	return tree, nil
}

// workingTree is one being read. It is never left: symbolic links are not
// followed, and os.Root holds that even against a change of the tree meanwhile.
type workingTree struct {
	*repository
	root    *os.Root
	folders map[string]bool // whether a path leads to a folder without a link on its way
	index   map[string]entry
	all     *collection
}

// entry is a file in the index.
type entry struct {
	object
	sparse bool // left out of the working tree by a sparse checkout
}

// read lists what git knows and does not ignore, and reads it.
func (w *workingTree) read(ctx context.Context) error {
	var left []object // files that are not there, but that no user has deleted
	seen := map[string]bool{}
	err := w.records(ctx, func(record string) error {
		tag, file, _ := strings.Cut(record, " ")
		e := entry{sparse: tag == "S"}
		if tag != "?" { // untracked
			var meta string
			meta, file, _ = strings.Cut(file, "\t")
			fields := strings.Fields(meta) // mode, ID, stage
			if len(fields) != 3 {
				return fmt.Errorf("git ls-files: unexpected output %q", record)
			}
			e.object = object{path: file, id: fields[1], regular: strings.HasPrefix(fields[0], "100")}
			w.index[file] = e
		}
		if seen[file] { // one of several sides of a merge
			return nil
		}
		seen[file] = true
		there, err := w.add(file)
		if there || err != nil || !e.sparse || !e.regular {
			return err
		}
		left = append(left, e.object)
		return w.all.pass(file)
	}, "ls-files", "-z", "-t", "--stage", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	return w.contents(ctx, left, w.all)
}

// add adds a file when it is one now. A repository in the tree is listed as a
// folder.
func (w *workingTree) add(file string) (there bool, err error) {
	if !filepath.IsLocal(file) || !w.isFolder(path.Dir(file)) {
		return false, nil
	}
	info, err := w.root.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		w.all.skip(file, model.SymbolicLink)
		return true, nil
	case info.IsDir():
		w.all.skip(path.Clean(file), model.Submodule)
		return true, nil
	case !info.Mode().IsRegular():
		return true, nil
	}
	return true, w.all.addFrom(w.root, file, info)
}

func (w *workingTree) isFolder(dir string) bool {
	is, known := w.folders[dir]
	if !known && w.isFolder(path.Dir(dir)) {
		info, err := w.root.Lstat(dir)
		is = err == nil && info.IsDir()
	}
	w.folders[dir] = is
	return is
}

// is reports whether a commit has exactly these files. Of those whose contents
// were not read it takes git's word, as `git status` does.
func (w *workingTree) is(ctx context.Context, commit string, files map[string][]byte) (bool, error) {
	same, n := true, 0
	var unread []string
	err := w.objects(ctx, commit, func(o object) error {
		if !o.regular {
			return nil
		}
		n++
		content, there := files[o.path]
		switch {
		case !there:
			same = false
		case content == nil:
			same = same && w.index[o.path].id == o.id
			unread = append(unread, o.path)
		case same:
			same = blobID(len(o.id), content) == o.id
		}
		return nil
	})
	if err != nil || !same || n != len(files) || len(unread) == 0 {
		return same && n == len(files), err
	}
	return w.unchanged(ctx, unread)
}

// blobID is git's ID of a file, of as many hexadecimal digits.
func blobID(digits int, content []byte) string {
	h := sha1.New()
	if digits == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// noted is what the index has of a file, between its name and the next one.
var noted = regexp.MustCompile(`^  ctime: .*\n  mtime: (.*)\n.*\n.*\n  size: (\d+)\t.*\n`)

// unchanged reports whether files have the time and the size that git has noted.
func (w *workingTree) unchanged(ctx context.Context, files []string) (bool, error) {
	stats, file := map[string]string{}, ""
	err := w.records(ctx, func(record string) error {
		if m := noted.FindStringSubmatch(record); m != nil {
			stats[file] = m[1] + " " + m[2]
			record = record[len(m[0]):]
		}
		file = record
		return nil
	}, "ls-files", "-z", "--debug")
	if err != nil {
		return false, err
	}
	for _, file := range files {
		info, err := w.root.Lstat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && w.index[file].sparse:
		case err != nil:
			return false, nil
		default:
			at := info.ModTime()
			if stats[file] != fmt.Sprintf("%d:%d %d", at.Unix(), at.Nanosecond(), uint32(info.Size())) {
				return false, nil
			}
		}
	}
	return true, nil
}
