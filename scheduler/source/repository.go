package source

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// repository is a git repository on this machine, or a folder in one.
//
// The branch that is checked out is what the working tree holds, committed or
// not. Every other branch is read from its objects: the local one, else the
// one that was last fetched from origin.
type repository struct {
	named  string // how references spell it: dir, or a file URL
	dir    string // where git runs: top, or a folder in it, or the repository itself
	gitDir string
	top    string // of the working tree; "" when there is none to be read
	state  *state // shared by all folders of a repository
}

// state is what was found out while the working tree was read.
type state struct {
	seen  atomic.Bool // it has been read
	dirty atomic.Bool // and was not exactly a commit
}

// openRepository returns nil without an error for a folder that is in no
// repository, or in one that has no file of it: that repository's branches
// have nothing of the folder.
func openRepository(ctx context.Context, dir string) (location, error) {
	if isBare(dir) {
		return &repository{named: dir, dir: dir, gitDir: dir, state: &state{}}, nil
	}
	top := topOf(dir)
	if top == "" {
		return nil, nil
	}
	r := &repository{named: dir, dir: dir, gitDir: filepath.Join(top, ".git"), top: top, state: &state{}}
	if dir == top {
		return r, nil
	}
	tracked := false
	err := r.records(ctx, func(record string) error {
		tracked = tracked || strings.HasPrefix(record, "100")
		return nil
	}, "ls-files", "-z", "--stage")
	if err != nil {
		return nil, fmt.Errorf("git repository %s: %w", top, err)
	}
	if !tracked {
		return nil, nil
	}
	return r, nil
}

// openFile opens the repository at a file URL, which is read as git clones it:
// nothing that is not committed.
func openFile(named string) (location, error) {
	u, err := url.Parse(named)
	if err != nil {
		return nil, err
	}
	dir := filepath.FromSlash(u.Path)
	for _, candidate := range []string{dir, dir + ".git"} {
		r := &repository{named: named, dir: candidate, gitDir: candidate, state: &state{}}
		if isBare(candidate) {
			return r, nil
		}
		if hasGit(candidate) {
			r.gitDir = filepath.Join(candidate, ".git")
			return r, nil
		}
	}
	return nil, absent("repository %s", named)
}

// ReadRepository reads a branch of a git repository on this machine, or a commit
// when that is not "", as it is committed.
func ReadRepository(ctx context.Context, dir, branch, commit string) (*model.Tree, error) {
	at, err := openFile((&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String())
	if err != nil {
		return nil, err
	}
	return at.read(ctx, branch, commit)
}

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

// isBare reports whether a folder is laid out as git keeps its own.
func isBare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

func (r *repository) name() string { return r.named }

func (r *repository) isPart() bool { return r.top != "" && r.dir != r.top }

// whole is the repository without regard to the folder that was named.
func (r *repository) whole() *repository {
	if !r.isPart() {
		return r
	}
	return &repository{named: r.top, dir: r.top, gitDir: r.gitDir, top: r.top, state: r.state}
}

// remotes returns the URLs of all remotes, those of origin first.
func (r *repository) remotes(ctx context.Context) ([]string, error) {
	type remote struct{ name, url string }
	var remotes []remote
	err := r.records(ctx, func(record string) error {
		key, url, _ := strings.Cut(record, "\n")
		name := strings.TrimSuffix(strings.TrimPrefix(key, "remote."), ".url")
		if name == "origin" {
			name = "" // it comes first
		}
		remotes = append(remotes, remote{name, url})
		return nil
	}, "config", "--local", "-z", "--get-regexp", `^remote\..*\.url$`)
	if err != nil && exitCode(err) != 1 { // there is none
		return nil, fmt.Errorf("git repository %s: %w", r.dir, err)
	}
	slices.SortStableFunc(remotes, func(a, b remote) int { return strings.Compare(a.name, b.name) })
	var urls []string
	for _, remote := range remotes {
		urls = append(urls, remote.url)
	}
	return urls, nil
}

// checkedOut returns the branch that HEAD names, and false when it names a
// commit.
func (r *repository) checkedOut(ctx context.Context) (string, bool, error) {
	ref, err := r.line(ctx, "symbolic-ref", "-q", "HEAD")
	if exitCode(err) == 1 {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("git repository %s: HEAD: %w", r.dir, err)
	}
	branch, onBranch := strings.CutPrefix(ref, "refs/heads/")
	return branch, onBranch, nil
}

// defaultBranch prefers the names that default branches have: what is checked
// out is often an environment's branch.
func (r *repository) defaultBranch(ctx context.Context) (string, error) {
	current, onBranch, err := r.checkedOut(ctx)
	if err != nil {
		return "", err
	}
	if r.top != "" {
		for _, name := range []string{"main", "master"} {
			if current == name {
				return name, nil
			}
			if _, err := r.head(ctx, name); err == nil {
				return name, nil
			} else if !errors.Is(err, model.ErrNotFound) {
				return "", err
			}
		}
	}
	if !onBranch {
		return headBranch, nil
	}
	return current, nil
}

// head returns the commit at a branch's head. A branch that git cannot read is
// an error, and not one that is not there.
func (r *repository) head(ctx context.Context, branch string) (string, error) {
	refs := []string{"refs/heads/" + branch, "refs/remotes/origin/" + branch}
	if branch == headBranch {
		current, onBranch, err := r.checkedOut(ctx)
		if err != nil {
			return "", err
		}
		if !onBranch {
			return r.line(ctx, "rev-parse", "--verify", "HEAD^{commit}")
		}
		refs = []string{"refs/heads/" + current}
	}
	if strings.ContainsRune(branch, 0) { // which no argument can have
		return "", absent("branch %q of %s", branch, r.named)
	}
	heads := map[string]string{}
	err := r.records(ctx, func(record string) error {
		commit, ref, _ := strings.Cut(strings.TrimSpace(record), " ")
		heads[ref] = commit
		return nil
	}, append([]string{"for-each-ref", "--format=%(objectname) %(refname)%00"}, refs...)...)
	if err != nil {
		return "", fmt.Errorf("branch %s of %s: %w", branch, r.named, err)
	}
	for _, ref := range refs {
		if heads[ref] != "" {
			return heads[ref], nil
		}
	}
	return "", absent("branch %s of %s", branch, r.named)
}

var fullID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func (r *repository) read(ctx context.Context, branch, commit string) (*model.Tree, error) {
	if commit != "" {
		if !fullID.MatchString(commit) {
			return nil, absent("commit %q of %s is not a full commit ID", commit, r.named)
		}
		// a clone without history may know the ID of a commit that it has not got
		if _, err := r.line(ctx, "cat-file", "-e", commit+"^{commit}"); exitCode(err) > 0 {
			return nil, absent("commit %s of %s", commit, r.named)
		} else if err != nil {
			return nil, err
		}
		return r.readCommit(ctx, branch, commit)
	}
	if r.top != "" {
		current, onBranch, err := r.checkedOut(ctx)
		if err != nil {
			return nil, err
		}
		if branch == headBranch || onBranch && branch == current {
			return r.readWorkingTree(ctx, branch)
		}
	}
	head, err := r.head(ctx, branch)
	if err != nil {
		return nil, err
	}
	return r.readCommit(ctx, branch, head)
}

// readCommit returns the files of a commit. Links and submodules are none, and
// count with folders.
func (r *repository) readCommit(ctx context.Context, branch, commit string) (*model.Tree, error) {
	all := newCollection()
	var regular []object
	err := r.objects(ctx, commit, func(o object) error {
		if o.regular {
			regular = append(regular, o)
		}
		if o.skipped != "" {
			all.skip(o.path, o.skipped)
		}
		return all.pass(o.path)
	})
	if err == nil {
		err = r.contents(ctx, regular, all)
	}
	if errors.Is(err, errMissing) {
		return nil, &Error{
			Message: fmt.Sprintf("commit %s of %s: %s", commit, r.named, err),
			Hint:    fmt.Sprintf("a clone made with --filter lacks files: `git -C %s fetch --refetch --no-filter` gets them", r.dir),
			Err:     err,
		}
	}
	if err != nil {
		return nil, fmt.Errorf("commit %s of %s: %w", commit, r.named, err)
	}
	return &model.Tree{Repo: r.named, Branch: branch, Commit: commit, Files: all.files(), Skipped: all.entriesSkipped()}, nil
}
