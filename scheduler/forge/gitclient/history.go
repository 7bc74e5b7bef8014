package gitclient

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// historyDepth is how many commits a History has at most. What a fleet is behind by
// more is very late, whatever the number.
var historyDepth = 1000

// History is the newest commits of a branch along first parents: what a merge has brought
// counts from the merge on.
type History struct {
	Commits []HistoryCommit // newest first
	// Whole says that the branch's first commit is among them.
	Whole bool
	// Changed is for each folder that was asked for the index of the newest commit that
	// changed it, and len(Commits) where none of them did.
	Changed map[string]int
}

// HistoryCommit is a commit of a branch.
type HistoryCommit struct {
	ID   string
	When time.Time // of its making, by the committer's clock
}

// Index is where a commit is in the history, -1 when it is not there.
func (h *History) Index(commit string) int {
	for i, c := range h.Commits {
		if strings.EqualFold(c.ID, commit) {
			return i
		}
	}
	return -1
}

// History reads the newest commits of a branch, without the contents of files where the
// server can leave them out. Folders are by their paths from the root.
func (c *Client) History(ctx context.Context, remote Remote, branch string, folders []string) (h *History, err error) {
	defer func() {
		if v := recover(); v != nil {
			h, err = nil, fmt.Errorf("history of branch %s of repository %s: what the server sends cannot be read: %v", branch, remote.name(), v)
		}
	}()
	ctx, cancel := bounded(ctx)
	defer cancel()
	ctx, b := withBudget(ctx)
	defer b.release()
	conv, err := c.open(ctx, remote)
	if err != nil {
		return nil, err
	}
	head, err := resolve(conv.refs, remote.URL, branch)
	if err != nil {
		return nil, err
	}
	conv.refs.References, conv.refs.Peeled = nil, nil
	b.give(b.bytes)
	p, err := conv.download(ctx, b, request{wants: []plumbing.Hash{head}, depth: historyDepth, filter: packp.FilterBlobNone()})
	if err == nil {
		h, err = newHistory(p, head, folders)
	}
	if err != nil {
		return nil, fmt.Errorf("history of branch %s: %w", branch, remote.failure(ctx, err))
	}
	return h, nil
}

func newHistory(p *pack, head plumbing.Hash, folders []string) (*History, error) {
	commits, trees := map[plumbing.Hash]*object.Commit{}, map[plumbing.Hash][]byte{}
	err := p.each(plumbing.CommitObject, func(hash plumbing.Hash, _ int64, content func() ([]byte, error)) (bool, error) {
		data, err := content()
		if err != nil {
			return false, err
		}
		commit := new(object.Commit)
		commits[hash] = commit
		return false, commit.Decode(memoryObject(plumbing.CommitObject, data))
	})
	if err != nil {
		return nil, err
	}
	err = p.each(plumbing.TreeObject, func(hash plumbing.Hash, _ int64, content func() ([]byte, error)) (bool, error) {
		data, err := content()
		_, twice := trees[hash]
		trees[hash] = data
		return !twice, err
	})
	if err != nil {
		return nil, err
	}
	h := &History{Changed: map[string]int{}}
	var last map[string]plumbing.Hash // what the folders were in the commit after
	for at := head; ; {
		commit, ok := commits[at]
		if !ok {
			if at == head {
				return nil, fmt.Errorf("commit %s: %w", head, forge.ErrNotFound)
			}
			break
		}
		now := map[string]plumbing.Hash{}
		for _, folder := range folders {
			if now[folder], err = folderIn(trees, commit.TreeHash, folder); err != nil {
				return nil, fmt.Errorf("commit %s: %w", at, err)
			}
			if _, known := h.Changed[folder]; !known && last != nil && now[folder] != last[folder] {
				h.Changed[folder] = len(h.Commits) - 1
			}
		}
		last = now
		h.Commits = append(h.Commits, HistoryCommit{at.String(), commit.Committer.When.UTC()})
		if len(commit.ParentHashes) == 0 {
			h.Whole = true
			break
		}
		at = commit.ParentHashes[0]
	}
	for _, folder := range folders {
		if _, known := h.Changed[folder]; known {
			continue
		}
		h.Changed[folder] = len(h.Commits)
		if h.Whole && !last[folder].IsZero() {
			h.Changed[folder]-- // the first commit has it already
		}
	}
	return h, nil
}

// folderIn is the ID of a folder in a tree, zero where it is not there.
func folderIn(trees map[plumbing.Hash][]byte, tree plumbing.Hash, folder string) (plumbing.Hash, error) {
	folder = strings.Trim(path.Clean("/"+folder), "/")
	for folder != "" {
		var name string
		name, folder, _ = strings.Cut(folder, "/")
		data, ok := trees[tree]
		if !ok {
			return plumbing.ZeroHash, fmt.Errorf("folder above %q: %w", name, plumbing.ErrObjectNotFound)
		}
		t := new(object.Tree)
		if err := t.Decode(memoryObject(plumbing.TreeObject, data)); err != nil {
			return plumbing.ZeroHash, err
		}
		tree = plumbing.ZeroHash
		for _, e := range t.Entries {
			if e.Name == name && (folder == "" || e.Mode == filemode.Dir) {
				tree = e.Hash
			}
		}
		if tree.IsZero() {
			break
		}
	}
	return tree, nil
}
