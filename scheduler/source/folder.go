package source

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// openFolder opens a folder: as part of a git repository when it is one, else
// as it is.
func openFolder(named string) (place, error) {
	dir, err := filepath.Abs(named)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	r, err := openRepository(dir)
	if err != nil || r != nil {
		return r, err
	}
	return folder(dir), nil
}

// folder is a folder without git. It has no branches, so its content is that
// of every branch, and no history, so it is that of every commit.
type folder string

// rest is a folder without git except for a folder in it. It is what there is
// of a base repository when the same folder is read as an environment's branch
// first: nothing must be found twice.
type rest struct {
	folder
	without string // the environment's path
	number  int    // of the environment
}

// name differs from the folder's, and between environments, for programs; to
// people it is the folder's.
func (r rest) name() string { return r.folder.name() + strings.Repeat("/", r.number+1) }

func (r rest) read(ctx context.Context, branch, commit string) (*model.Tree, error) {
	tree, err := r.folder.read(ctx, branch, commit)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(tree.Files, func(file string, _ []byte) bool { return within(file, r.without) })
	return tree, nil
}

// within says whether a file is a folder's, or is what the folder's name
// stands for itself.
func within(file, folder string) bool {
	folder = strings.TrimPrefix(path.Clean("/"+folder), "/")
	return folder == "" || file == folder || strings.HasPrefix(file, folder+"/")
}

func (f folder) name() string { return string(f) }

func (f folder) defaultBranch(context.Context) (string, error) { return "main", nil }

// read returns the folder's files. What git keeps for itself and symbolic links are left out, as they are
// when the same files are read from git.
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
		case !entry.Type().IsRegular():
			return all.pass(file)
		}
		return all.addFrom(root, file, file, entry)
	})
	if err != nil {
		return nil, fmt.Errorf("folder %s: %w", f, err)
	}
	return &model.Tree{Repo: f.name(), Branch: branch, Files: all.files()}, nil
}
