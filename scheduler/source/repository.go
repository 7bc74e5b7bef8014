package source

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5"
)

// repository is a git repository on this machine, or a folder in one.
//
// The branch that is checked out is what the working tree holds, committed or
// not. Every other branch is read from its objects: the local one, else the
// one that was last fetched from origin.
type repository struct {
	top    string // of the working tree; "" when there is none to be read
	dir    string // what is named: top or a folder in it, else the repository itself
	prefix string // dir below top, with slashes; "" for top
	git    *shared
}

// shared is what all folders of a repository have in common. go-git's storage
// is not made for several readers at a time.
type shared struct {
	dir   string
	mu    sync.Mutex
	repo  *git.Repository
	files billy.Filesystem // git's own
	seen  bool             // the working tree has been read
	dirty bool             // and was not exactly a commit
}

// seenAs says whether the working tree has been read, and had something in it
// that is not committed.
func (s *shared) seenAs() (seen, dirty bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen, s.dirty
}

// openRepository returns nil without an error for a folder that is in no
// repository, or in one that has no file of it: that repository's branches
// cannot tell anything about the folder.
func openRepository(dir string) (place, error) {
	if isBare(dir) {
		g, err := openGit(dir)
		if err != nil {
			return nil, err
		}
		return &repository{dir: dir, git: g}, nil
	}
	top := topOf(dir)
	if top == "" {
		return nil, nil
	}
	g, err := openGit(top)
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(top, dir)
	if err != nil {
		return nil, err
	}
	r := &repository{top: top, dir: dir, git: g}
	if below != "." {
		r.prefix = filepath.ToSlash(below)
	}
	tracked, err := r.tracked()
	if err != nil {
		return nil, err
	}
	if r.prefix != "" && len(tracked) == 0 {
		return nil, nil
	}
	return r, nil
}

// openFile opens the repository at a file URL, which is read as git clones it:
// nothing that is not committed.
func openFile(named string) (place, error) {
	u, err := url.Parse(named)
	if err != nil {
		return nil, err
	}
	dir := filepath.FromSlash(u.Path)
	for _, candidate := range []string{dir, dir + ".git"} {
		if !isBare(candidate) && !hasGit(candidate) {
			continue
		}
		g, err := openGit(candidate)
		if err != nil {
			return nil, err
		}
		return &repository{dir: named, git: g}, nil
	}
	return nil, absent("repository %s", named)
}

func (r *repository) name() string { return r.dir }

// whole is the repository without regard to the folder that was named.
func (r *repository) whole() *repository {
	if r.prefix == "" {
		return r
	}
	return &repository{top: r.top, dir: r.top, git: r.git}
}

// remotes returns the URLs of all remotes, those of origin first.
func (r *repository) remotes() ([]string, error) {
	r.git.mu.Lock()
	defer r.git.mu.Unlock()
	config, err := r.git.repo.Config()
	if err != nil {
		return nil, fmt.Errorf("git repository %s: %w", r.dir, err)
	}
	names := slices.Sorted(maps.Keys(config.Remotes))
	if i := slices.Index(names, git.DefaultRemoteName); i > 0 {
		names = append([]string{git.DefaultRemoteName}, slices.Delete(names, i, i+1)...)
	}
	var urls []string
	for _, name := range names {
		urls = append(urls, config.Remotes[name].URLs...)
	}
	return urls, nil
}
