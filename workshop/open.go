package workshop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"go.yaml.in/yaml/v3"
)

// Builtin are the names of the workshops that come with kalypso.
func Builtin() []string { return fixtures.Names() }

// OpenBuiltin returns a workshop that comes with kalypso, or a *usage.Error.
func OpenBuiltin(name string) (*Workshop, error) {
	if !slices.Contains(Builtin(), name) {
		return nil, unknown(name)
	}
	files, err := fs.Sub(fixtures.Files, name)
	if err != nil {
		return nil, err
	}
	return read(files, "")
}

func unknown(name string) error {
	near := ""
	if n := model.Nearest(name, Builtin()); n != "" {
		near = ", did you mean " + n + "?"
	}
	return usage.Errorf("there is no workshop %q%s\nChoose one of %s, or give a folder, a .tar.gz or a git URL with a %s", name, near, strings.Join(Builtin(), ", "), File)
}

// Read returns the workshop of a folder that has been checked before.
func Read(dir string) (*Workshop, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	// the root is closed with the process, since its files are read at any time
	return read(root.FS(), dir)
}

func read(files fs.FS, dir string) (*Workshop, error) {
	text, err := fs.ReadFile(files, File)
	if err != nil {
		return nil, err
	}
	w := &Workshop{}
	if err := yaml.Unmarshal(text, w); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, File), err)
	}
	w.Files, w.Dir = files, dir
	return w, w.findBranches()
}

// OpenFolder returns the workshop of a folder. The error is an *Error for one that
// is not as it should be.
func OpenFolder(dir string) (*Workshop, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return check(root.FS(), dir)
}

// check reads a workshop, called by its folder in messages, and all that can be
// wrong with it without a look into its repositories.
func check(files fs.FS, dir string) (*Workshop, error) {
	file := filepath.Join(dir, File)
	text, err := fs.ReadFile(files, File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage.Errorf("%s has no %s: `kalypso workshop new NAME` makes a folder that has one", dir, File)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	w, p, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	w.Files, w.Dir = files, dir
	p.checkFolders(w)
	if err := p.error(); err != nil {
		return nil, err
	}
	if err := w.findBranches(); err != nil {
		return nil, err
	}
	p.checkReferences(w)
	p.checkEnvironments(w)
	return w, p.error()
}

// findBranches fills in the branches of repositories that name none, and where
// those are that have a history.
func (w *Workshop) findBranches() error {
	for i := range w.Repositories {
		r := &w.Repositories[i]
		bare := path.Join(RepositoryFolder, r.Name+".git")
		info, err := fs.Stat(w.Files, bare)
		switch {
		case err == nil && info.IsDir():
			r.Bare = filepath.Join(w.Dir, filepath.FromSlash(bare))
		case r.Git != "":
			continue // it is to be fetched
		}
		if len(r.Branches) > 0 {
			continue
		}
		names, err := w.branchNames(*r)
		if err != nil {
			return fmt.Errorf("repository %s: %w", r.Name, err)
		}
		for _, name := range names {
			r.Branches = append(r.Branches, Branch{Name: name})
		}
	}
	return nil
}

// branchNames lists the branches that a repository has, the default one first.
func (w *Workshop) branchNames(r Repository) ([]string, error) {
	if r.Bare != "" {
		return BareBranches(r.Bare)
	}
	entries, err := fs.ReadDir(w.Files, path.Join(RepositoryFolder, r.Name))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return defaultFirst(names, "main"), nil
}

// BareBranches lists the branches of a bare repository on disk, its default one
// first.
func BareBranches(dir string) ([]string, error) {
	heads, err := bareHeads(dir)
	if err != nil {
		return nil, err
	}
	store := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
	head, err := store.Reference(plumbing.HEAD)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return defaultFirst(slices.Collect(maps.Keys(heads)), head.Target().Short()), nil
}

// bareHeads are the last commits of the branches of a bare repository, by name.
func bareHeads(dir string) (map[string]plumbing.Hash, error) {
	store := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
	if _, err := store.Reference(plumbing.HEAD); err != nil {
		return nil, fmt.Errorf("%s is no bare repository: %w", dir, err)
	}
	refs, err := store.IterReferences()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	defer refs.Close()
	heads := map[string]plumbing.Hash{}
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		if ref.Type() == plumbing.HashReference && ref.Name().IsBranch() {
			heads[ref.Name().Short()] = ref.Hash()
		}
		return nil
	})
	return heads, err
}

func defaultFirst(names []string, first string) []string {
	slices.Sort(names)
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case a == first && b != first:
			return -1
		case b == first && a != first:
			return 1
		}
		return 0
	})
	return names
}

// checkFolders reports repositories and scenarios that the folder has not.
func (p *parser) checkFolders(w *Workshop) {
	for i, r := range w.Repositories {
		at := []string{"repositories", fmt.Sprint(i)}
		folder := path.Join(RepositoryFolder, r.Name)
		if info, err := fs.Stat(w.Files, folder+".git"); err == nil && info.IsDir() || r.Git != "" {
			continue
		}
		branches, err := fs.ReadDir(w.Files, folder)
		switch {
		case err != nil:
			p.at(append(at, "name"), "there is no folder %s or %s.git: add one, or say with git: where the repository is", folder, folder)
			continue
		case len(branches) == 0:
			p.at(append(at, "name"), "the folder %s is empty: it has to have a folder for each branch", folder)
			continue
		}
		for j, b := range r.Branches {
			if info, err := fs.Stat(w.Files, path.Join(folder, b.Name)); err != nil || !info.IsDir() {
				p.at(append(slices.Clone(at), "branches", fmt.Sprint(j)), "there is no folder %s of the branch", path.Join(folder, b.Name))
			}
		}
	}
	for field, names := range map[string][]string{"order": w.Scenarios.Order, "apart": w.Scenarios.Apart} {
		for i, name := range names {
			if _, err := fs.Stat(w.Files, path.Join(ScenarioFolder, name+".txtar")); err != nil {
				p.at([]string{"scenarios", field, fmt.Sprint(i)}, "there is no file %s", path.Join(ScenarioFolder, name+".txtar"))
			}
		}
	}
}

// checkEnvironments reports environments that have no branch of the control
// plane. Of a repository that is to be fetched nothing is known yet, and in one with a
// history of its own the branches may be called otherwise.
func (p *parser) checkEnvironments(w *Workshop) {
	control, ok := w.Repository(w.ControlPlane.Repository)
	if !ok || len(control.Branches) == 0 || control.Bare != "" {
		return
	}
	var names []string
	for _, b := range control.Branches {
		names = append(names, b.Name)
	}
	for i, e := range w.ControlPlane.Environments {
		if !slices.Contains(names, e) {
			p.at([]string{"controlPlane", "environments", fmt.Sprint(i)}, "%s has no branch %s%s", control.Name, e, nearest(e, names))
		}
	}
}

// Open returns the workshop at a location: the name of one that comes with
// kalypso, a folder, a .tar.gz, or a git URL with #BRANCH:FOLDER. What it had to
// unpack or to fetch lies below scratch. The error is a *usage.Error or an *Error
// for a location that has no workshop, or one that is not as it should be.
func Open(ctx context.Context, location, scratch string) (*Workshop, error) {
	if slices.Contains(Builtin(), location) {
		return OpenBuiltin(location)
	}
	info, err := os.Stat(location)
	switch {
	case err == nil && info.IsDir():
		return OpenFolder(location)
	case err == nil:
		return openArchive(location, scratch)
	case isURL(location):
		return openGit(ctx, location, scratch)
	case strings.ContainsAny(location, "/\\.") || filepath.IsAbs(location):
		return nil, usage.Errorf("there is no workshop at %s: %v", location, errors.Unwrap(err))
	}
	return nil, unknown(location)
}
