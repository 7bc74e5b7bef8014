package gitclient

import (
	"context"
	"fmt"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// CommitInfo is what a commit says about itself.
type CommitInfo struct {
	Author  string // name
	Message string
	When    time.Time // of its making, by the committer's clock
}

// Subject is the first line of the message.
func (c CommitInfo) Subject() string {
	return forge.Subject(c.Message)
}

// CommitInfo reads a commit without its files, where the server can leave them out. The
// error wraps forge.ErrNotFound for one that the server does not have, or does not give since
// no branch is at it and it gives no others.
func (c *Client) CommitInfo(ctx context.Context, remote Remote, commit string) (info CommitInfo, err error) {
	if !fullID.MatchString(commit) {
		return info, fmt.Errorf("commit %q of repository %s is not a full commit ID: %w", commit, remote.name(), forge.ErrNotFound)
	}
	defer func() {
		if v := recover(); v != nil {
			info, err = CommitInfo{}, fmt.Errorf("commit %s of repository %s: what the server sends cannot be read: %v", commit, remote.name(), v)
		}
	}()
	ctx, cancel := bounded(ctx)
	defer cancel()
	ctx, b := withBudget(ctx)
	defer b.release()
	conv, err := c.open(ctx, remote)
	if err != nil {
		return info, err
	}
	want, found := plumbing.NewHash(commit), false
	conv.refs.References, conv.refs.Peeled = nil, nil
	b.give(b.bytes)
	p, err := conv.download(ctx, b, request{wants: []plumbing.Hash{want}, depth: 1, filter: packp.FilterTreeDepth(0)})
	if err == nil {
		err = p.each(plumbing.CommitObject, func(hash plumbing.Hash, _ int64, content func() ([]byte, error)) (bool, error) {
			if hash != want {
				return true, nil
			}
			data, err := content()
			if err != nil {
				return false, err
			}
			var one object.Commit
			if err := one.Decode(memoryObject(plumbing.CommitObject, data)); err != nil {
				return false, err
			}
			info, found = CommitInfo{one.Author.Name, one.Message, one.Committer.When.UTC()}, true
			return false, nil
		})
	}
	switch {
	case err != nil && unknownObject(err), err == nil && !found:
		err = forge.ErrNotFound
	}
	if err != nil {
		return CommitInfo{}, fmt.Errorf("commit %s: %w", commit, remote.failure(ctx, err))
	}
	return info, nil
}
