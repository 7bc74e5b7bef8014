// Package modeltest gives tests repositories that are written down as
// text. It is no part of the product.
package modeltest

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/rogpeppe/go-internal/txtar"
)

// Forge begins the URL of every repository of Repositories.
const Forge = "https://forge.test/kalypso/"

// Repositories is a set of branches. It implements [model.Reader].
type Repositories struct {
	mu     sync.Mutex
	trees  map[string]*model.Tree // by repository and branch
	past   map[string]*model.Tree // by repository and commit, all there ever was
	Errors map[string]error       // by "repository@branch": what reading it returns
	Reads  []model.Reference      // what has been read, in order
}

// Parse makes repositories from a txtar archive whose files are named
// "repository@branch/path". A file named "repository@branch" stands for an
// empty branch. It panics on any other name, for a test wrote it.
func Parse(archive string) *Repositories {
	w := &Repositories{trees: map[string]*model.Tree{}, past: map[string]*model.Tree{}, Errors: map[string]error{}}
	w.Add(txtar.Parse([]byte(archive)).Files...)
	return w
}

// commitOf stands in a file for the commit of a branch as it is when the file is
// written: all files of the branch that come before it in the archive.
var commitOf = regexp.MustCompile(`COMMIT\(([^@()]+)@([^@()]+)\)`)

// Add writes the files of an archive, one after the other, to what is there.
// "COMMIT(repository@branch)" in a file becomes that branch's commit. A file that
// holds nothing but "SYMBOLIC LINK" or "SUBMODULE" is one.
func (w *Repositories) Add(files ...txtar.File) {
	pending := map[string]map[string][]byte{} // by branch, then by path
	flush := func() {
		for key, content := range pending {
			repo, branch, _ := strings.Cut(key, "@")
			w.write(repo, branch, content)
		}
		clear(pending)
	}
	for _, file := range files {
		repo, rest, ok := strings.Cut(file.Name, "@")
		branch, path, _ := strings.Cut(rest, "/")
		if !ok || branch == "" {
			panic("modeltest: no repository@branch in " + file.Name)
		}
		if commitOf.Match(file.Data) {
			flush()
		}
		content := commitOf.ReplaceAllFunc(file.Data, func(match []byte) []byte {
			names := commitOf.FindSubmatch(match)
			tree := w.Tree(string(names[1]), string(names[2]))
			if tree == nil {
				panic("modeltest: there is no branch yet for " + string(match))
			}
			return []byte(tree.Commit)
		})
		key := repo + "@" + branch
		if pending[key] == nil {
			pending[key] = map[string][]byte{}
		}
		if path != "" {
			pending[key][path] = content
		}
	}
	flush()
}

// Branches lists the branches there are as "repository@branch", sorted.
func (w *Repositories) Branches() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.trees))
}

// Write puts a file on a branch, which it creates. An empty path creates the
// branch only.
func (w *Repositories) Write(repo, branch, path string, content []byte) {
	files := map[string][]byte{}
	if path != "" {
		files[path] = append([]byte{}, content...) // nil would be a file that was not read
	}
	w.write(repo, branch, files)
}

func (w *Repositories) write(repo, branch string, files map[string][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tree := &model.Tree{Repo: Forge + repo, Branch: branch, Files: map[string][]byte{}}
	if old := w.trees[repo+"@"+branch]; old != nil {
		maps.Copy(tree.Files, old.Files)
		tree.Skipped = slices.Clone(old.Skipped)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		what := strings.ToLower(strings.TrimSpace(string(files[name])))
		if what == model.SymbolicLink || what == model.Submodule {
			tree.Skipped = append(tree.Skipped, model.Skipped{Path: name, What: what})
			delete(files, name)
		}
	}
	maps.Copy(tree.Files, files)
	w.keep(repo, tree)
}

// Remove takes a file off a branch.
func (w *Repositories) Remove(repo, branch, path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.trees[repo+"@"+branch]
	tree := &model.Tree{Repo: old.Repo, Branch: old.Branch, Files: maps.Clone(old.Files)}
	tree.Skipped = slices.DeleteFunc(slices.Clone(old.Skipped), func(s model.Skipped) bool { return s.Path == path })
	delete(tree.Files, path)
	w.keep(repo, tree)
}

func (w *Repositories) keep(repo string, tree *model.Tree) {
	tree.Commit = commit(tree.Files)
	w.trees[repo+"@"+tree.Branch] = tree
	w.past[repo+"@"+tree.Commit] = tree
}

// Tree returns the content of a branch, nil when there is none.
func (w *Repositories) Tree(repo, branch string) *model.Tree {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trees[repo+"@"+branch]
}

// Read returns the branch that ref names, or its commit, which may be any that
// a branch of the repository ever had; then the tree has no branch.
func (w *Repositories) Read(_ context.Context, ref model.Reference) (*model.Tree, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Reads = append(w.Reads, ref)
	repo := strings.TrimPrefix(ref.Repo, Forge)
	if err := w.Errors[repo+"@"+ref.Branch]; err != nil {
		return nil, err
	}
	if strings.HasPrefix(repo, "https://refused.test/") {
		return nil, &model.HostError{Host: "refused.test"}
	}
	if ref.Commit != "" {
		if tree := w.past[repo+"@"+ref.Commit]; tree != nil {
			return &model.Tree{Repo: tree.Repo, Commit: tree.Commit, Files: tree.Files, Skipped: tree.Skipped}, nil
		}
		return nil, fmt.Errorf("commit %s: %w", ref.Commit, model.ErrNotFound)
	}
	if tree := w.trees[repo+"@"+ref.Branch]; tree != nil {
		return tree, nil
	}
	return nil, fmt.Errorf("branch %s: %w", ref.Branch, model.ErrNotFound)
}

// commit names a content as git would: by a hash of it.
func commit(files map[string][]byte) string {
	hash := sha1.New()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(hash, "%s\x00%d\x00%s", path, len(files[path]), files[path])
	}
	return hex.EncodeToString(hash.Sum(nil))
}
