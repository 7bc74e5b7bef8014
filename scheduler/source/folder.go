package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// openFolder opens a folder: as part of a git repository when it is one, else
// as it is.
func openFolder(ctx context.Context, named string) (location, error) {
	dir, err := filepath.Abs(named)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	r, err := openRepository(ctx, dir)
	if err != nil || r != nil {
		return r, err
	}
	return folder(dir), nil
}

// folder is a folder without git. It has no branches, so its content is that
// of every branch, and no history, so it is that of every commit.
type folder string

func (f folder) name() string { return string(f) }

func (f folder) defaultBranch(context.Context) (string, error) { return "main", nil }

// read returns the folder's files. What git keeps for itself and symbolic links
// are left out, as they are when the same files are read from git.
func (f folder) read(_ context.Context, branch, _ string) (*model.Tree, error) {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	all := newCollection()
	err = fs.WalkDir(root.FS(), ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == ".git" && entry.IsDir():
			return fs.SkipDir
		case entry.Type()&fs.ModeSymlink != 0:
			all.skip(file, model.SymbolicLink)
			return all.pass(file)
		case !entry.Type().IsRegular():
			return all.pass(file)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return all.addFrom(root, file, info)
	})
	if err != nil {
		return nil, fmt.Errorf("folder %s: %w", f, err)
	}
	return &model.Tree{Repo: f.name(), Branch: branch, Files: all.files(), Skipped: all.entriesSkipped()}, nil
}

// rest is a folder without git except for a folder in it. It is what there is
// of a base repository when the same folder is read as an environment's branch
// first: nothing must be found twice.
type rest struct {
	folder
	without string // the environment's path
	number  int    // of the environment
}

// name differs from the folder's, and between environments, for programs; for
// users it is the folder's.
func (r rest) name() string { return r.folder.name() + strings.Repeat("/", r.number+1) }

func (r rest) read(ctx context.Context, branch, commit string) (*model.Tree, error) {
	tree, err := r.folder.read(ctx, branch, commit)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(tree.Files, func(file string, _ []byte) bool { return model.Within(file, r.without) })
	tree.Skipped = slices.DeleteFunc(tree.Skipped, func(s model.Skipped) bool { return model.Within(s.Path, r.without) })
	return tree, nil
}

// collection is the files of a tree in the making, within the limits that hold
// for every repository: a clone holds what others have pushed.
type collection struct {
	contents *model.ContentCache[string]
	count    model.Counter
	names    []string
	skipped  []model.Skipped
}

func newCollection() *collection {
	return &collection{contents: model.NewContentCache[string]()}
}

// pass counts a file, a folder, or something else.
func (c *collection) pass(name string) error { return c.count.Add(name, strings.Count(name, "/")) }

// skip notes a link or a submodule.
func (c *collection) skip(name, what string) {
	c.skipped = append(c.skipped, model.Skipped{Path: name, What: what})
}

// admit adds a file of a size that was counted, and reports whether its content is
// to be read and kept.
func (c *collection) admit(file string, size int64) (read bool, err error) {
	c.names = append(c.names, file)
	return c.contents.Admit(model.MayMatter(file), size)
}

func (c *collection) keep(file string, content []byte) {
	c.contents.Keep(file, model.MayMatter(file), content)
}

// addFrom adds a file of a folder on this machine.
func (c *collection) addFrom(root *os.Root, file string, info fs.FileInfo) error {
	if err := c.pass(file); err != nil {
		return err
	}
	read, err := c.admit(file, info.Size())
	if err != nil || !read {
		return err
	}
	f, err := root.Open(file)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(f, info.Size())) // it may have grown since
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	c.keep(file, content)
	return nil
}

// entriesSkipped returns the links and submodules, sorted by path.
func (c *collection) entriesSkipped() []model.Skipped {
	slices.SortFunc(c.skipped, func(a, b model.Skipped) int { return strings.Compare(a.Path, b.Path) })
	return c.skipped
}

// files returns all of them; those without a content that is kept are nil.
func (c *collection) files() map[string][]byte {
	files := make(map[string][]byte, len(c.names))
	for _, file := range c.names {
		files[file] = c.contents.Get(file, model.MayMatter(file))
	}
	return files
}
