package forgefake

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

type commit struct {
	id, parent, author, message string
	when                        time.Time
	files                       map[string][]byte
}

func (f *Forge) lookup(ref model.Reference) (*commit, error) {
	name, ok := f.Repo(ref.Repo)
	if !ok {
		return nil, fmt.Errorf("repository %s: %w", ref.Repo, forge.ErrNotFound)
	}
	r, err := f.repo(name)
	if err != nil {
		return nil, err
	}
	id := ref.Commit
	if id == "" {
		if id, ok = r.branches[ref.Branch]; !ok {
			return nil, fmt.Errorf("branch %s of %s: %w", ref.Branch, name, forge.ErrNotFound)
		}
	}
	c, ok := r.commits[id]
	if !ok {
		return nil, fmt.Errorf("commit %s of %s: %w", id, name, forge.ErrNotFound)
	}
	return c, nil
}

// Read implements model.Reader.
func (f *Forge) Read(ctx context.Context, ref model.Reference) (tree *model.Tree, err error) {
	err = f.call(ctx, Call{Method: "Read", Repo: ref.Repo, Detail: ref.Branch}, func() error {
		c, err := f.lookup(ref)
		if err == nil {
			tree = &model.Tree{Repo: ref.Repo, Branch: ref.Branch, Commit: c.id, Own: c.author == forge.AuthorName, Files: maps.Clone(c.files)}
		}
		return err
	})
	return tree, err
}

// Head implements forge.Forge.
func (f *Forge) Head(ctx context.Context, ref model.Reference) (head string, err error) {
	err = f.call(ctx, Call{Method: "Head", Repo: ref.Repo, Detail: ref.Branch}, func() error {
		c, err := f.lookup(ref)
		if err == nil {
			head = c.id
		}
		return err
	})
	return head, err
}

// BranchesBelow returns where the branches are whose names begin with a prefix.
func (f *Forge) BranchesBelow(ctx context.Context, cloneURL, prefix string) (all map[string]string, err error) {
	name, _ := f.Repo(cloneURL)
	err = f.call(ctx, Call{Method: "BranchesBelow", Repo: name, Detail: prefix}, func() error {
		r, err := f.repo(name)
		if err == nil {
			all = maps.Clone(r.branches)
			maps.DeleteFunc(all, func(branch, _ string) bool { return !strings.HasPrefix(branch, prefix) })
		}
		return err
	})
	return all, err
}

// Commit implements forge.Forge.
func (f *Forge) Commit(ctx context.Context, repo string, request forge.CommitRequest) (id string, err error) {
	err = f.call(ctx, Call{"Commit", repo, request.Branch, true}, func() error {
		if err := request.Validate(); err != nil {
			return err
		}
		r, err := f.repo(repo)
		if err != nil {
			return err
		}
		parent, ok := r.commits[request.Parent]
		if !ok {
			return fmt.Errorf("commit %s of %s: %w", request.Parent, repo, forge.ErrNotFound)
		}
		if at := cmp.Or(r.branches[request.Branch], forge.NoBranch); request.Expect != "" && at != request.Expect {
			return fmt.Errorf("branch %s of %s: %w", request.Branch, repo, forge.ErrMoved)
		}
		from := parent
		if request.Tree != "" {
			if from, ok = r.commits[request.Tree]; !ok {
				return fmt.Errorf("commit %s of %s: %w", request.Tree, repo, forge.ErrNotFound)
			}
		}
		files := maps.Clone(from.files)
		for _, c := range request.Changes {
			if c.Content == nil {
				delete(files, c.Path)
			} else {
				files[c.Path] = slices.Clone(c.Content)
			}
		}
		if !request.AllowEmpty && maps.EqualFunc(files, parent.files, bytes.Equal) {
			return fmt.Errorf("commit for branch %s: the changes change nothing", request.Branch)
		}
		id = r.commit(request.Branch, commit{
			parent: parent.id, author: forge.AuthorName, message: request.Message, when: request.When, files: files,
		})
		return nil
	})
	return id, err
}

// commit adds a commit and points a branch, and its open pull requests, to it.
func (r *repository) commit(branch string, c commit) string {
	h := sha1.New()
	fmt.Fprintf(h, "%q %q %q %s\n", c.parent, c.author, c.message, c.when.UTC())
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		fmt.Fprintf(h, "%q %q\n", path, c.files[path])
	}
	c.id = hex.EncodeToString(h.Sum(nil))
	r.commits[c.id] = &c
	r.branches[branch] = c.id
	for _, p := range r.pulls {
		if p.State == forge.Open && p.Head == branch {
			p.HeadCommit = c.id
		}
	}
	return c.id
}

// DeleteBranch implements forge.Forge.
func (f *Forge) DeleteBranch(ctx context.Context, repo, branch string) error {
	return f.call(ctx, Call{"DeleteBranch", repo, branch, true}, func() error {
		if !forge.OwnBranch(branch) {
			return fmt.Errorf("branch %s is not the scheduler's", branch)
		}
		r, err := f.repo(repo)
		if err != nil {
			return err
		}
		r.deleteBranch(branch)
		return nil
	})
}

func (r *repository) deleteBranch(branch string) {
	delete(r.branches, branch)
	for _, p := range r.pulls {
		if p.State == forge.Open && p.Head == branch {
			p.State = forge.Closed
		}
	}
}

// merged returns what a base branch would hold with a pull request merged, and
// the files that both sides have changed since they parted.
func (r *repository) merged(p *forge.PullRequest) (files map[string][]byte, conflicts []string) {
	head, base := r.commits[r.branches[p.Head]], r.commits[r.branches[p.Base]]
	from := r.ancestor(head, base)
	all := maps.Clone(from)
	maps.Copy(all, head.files)
	maps.Copy(all, base.files)
	same := func(path string, a, b map[string][]byte) bool {
		x, inA := a[path]
		y, inB := b[path]
		return inA == inB && bytes.Equal(x, y)
	}
	files = maps.Clone(base.files)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		switch {
		case same(path, head.files, from) || same(path, head.files, base.files):
		case !same(path, base.files, from):
			conflicts = append(conflicts, path)
		default:
			delete(files, path)
			if content, ok := head.files[path]; ok {
				files[path] = content
			}
		}
	}
	return files, conflicts
}

// ancestor returns the files of the commit that two branches grew from.
func (r *repository) ancestor(a, b *commit) map[string][]byte {
	seen := map[string]bool{}
	for c := a; c != nil; c = r.commits[c.parent] {
		seen[c.id] = true
	}
	for c := b; c != nil; c = r.commits[c.parent] {
		if seen[c.id] {
			return c.files
		}
	}
	return map[string][]byte{}
}
