package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// topOf returns the top of the working tree that a folder is in, "" when it is
// in none.
func topOf(dir string) string {
	for !hasGit(dir) {
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
	return dir
}

func hasGit(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, ".git"))
	return err == nil && (info.Mode().IsRegular() || isBare(filepath.Join(dir, ".git")))
}

// isBare says whether a folder is laid out as git keeps its own.
func isBare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// openGit opens the repository whose working tree, or which itself, is in a
// folder. go-git has a function for that, which refuses clones that git makes
// every day: sparse ones, and those that borrow the objects of another.
func openGit(dir string) (*shared, error) {
	own, common, err := gitDirs(dir)
	if err != nil {
		return nil, fmt.Errorf("git repository %s: %w", dir, err)
	}
	files := osfs.New(own)
	if common != "" {
		files = dotgit.NewRepositoryFilesystem(files, osfs.New(common))
	}
	root := osfs.New(filepath.VolumeName(dir) + string(filepath.Separator))
	s := storage{filesystem.NewStorageWithOptions(files, cache.NewObjectLRUDefault(), filesystem.Options{AlternatesFS: root})}
	repo, err := git.Open(s, nil)
	if errors.Is(err, git.ErrUnknownExtension) || errors.Is(err, git.ErrUnsupportedExtensionRepositoryFormatVersion) {
		return nil, &Error{
			Message: fmt.Sprintf("git repository %s: %s", dir, err),
			Hint:    "it is of a kind that kalypso cannot read yet; a plain copy of its files will do",
			Err:     err,
		}
	}
	if err != nil {
		return nil, fmt.Errorf("git repository %s: %w", dir, err)
	}
	return &shared{dir: dir, repo: repo, files: files}, nil
}

// gitDirs returns where git keeps what belongs to a working tree, and what it
// has in common with other working trees when that is elsewhere.
func gitDirs(dir string) (own, common string, err error) {
	if isBare(dir) {
		return dir, "", nil
	}
	own = filepath.Join(dir, ".git")
	if info, err := os.Stat(own); err != nil {
		return "", "", err
	} else if info.Mode().IsRegular() {
		if own, err = pointer(own, "gitdir:", dir); err != nil {
			return "", "", err
		}
	}
	common, err = pointer(filepath.Join(own, "commondir"), "", own)
	if errors.Is(err, fs.ErrNotExist) {
		return own, "", nil
	}
	return own, common, err
}

// pointer reads a file that holds nothing but the path of a folder, which may
// be relative.
func pointer(file, prefix, base string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(string(content), prefix)
	if !ok {
		return "", fmt.Errorf("file %s does not begin with %q", file, prefix)
	}
	to = strings.TrimSpace(to)
	if !filepath.IsAbs(to) {
		to = filepath.Join(base, to)
	}
	return to, nil
}

// storage hides those extensions of git's format that make no difference to
// reading, and that go-git does not know.
type storage struct{ *filesystem.Storage }

var harmlessExtensions = []string{"partialclone", "preciousobjects", "relativeworktrees", "worktreeconfig"}

func (s storage) Config() (*config.Config, error) {
	c, err := s.Storage.Config()
	if err != nil || !c.Raw.HasSection("extensions") {
		return c, err
	}
	section := c.Raw.Section("extensions")
	for _, name := range harmlessExtensions {
		section.RemoveOption(name)
	}
	return c, nil
}
