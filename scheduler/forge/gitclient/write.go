package gitclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Commit makes the commit that a request describes and points its branch to
// it. The objects are built here and sent as they are: a push that works out
// what to send would need the history, which is not fetched.
func (c *Client) Commit(ctx context.Context, remote Remote, request forge.CommitRequest) (string, error) {
	if err := request.Validate(); err != nil {
		return "", err
	}
	parent, _, err := c.snapshot(ctx, remote, "", request.Parent)
	if err != nil {
		return "", err
	}
	built, err := build(parent, request)
	if err != nil {
		return "", fmt.Errorf("commit for branch %s: %w", request.Branch, err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, built.store, false).Encode(built.objects, 0); err != nil {
		return "", fmt.Errorf("commit for branch %s: %w", request.Branch, err)
	}
	if err := c.update(ctx, remote, request.Branch, request.Expect, built.commit, &pack); err != nil {
		return "", err
	}
	c.snapshots.put(key(remote, built.commit.String()), built.snapshot)
	return built.commit.String(), nil
}

// Delete removes a branch; a missing one is no error.
func (c *Client) Delete(ctx context.Context, remote Remote, branch string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return c.update(ctx, remote, branch, "", plumbing.ZeroHash, nil)
}

// update moves a branch. The server compares the old value again under its
// lock, so a branch that moves between the advertisement and the update is not
// overwritten: that is the lease.
func (c *Client) update(ctx context.Context, remote Remote, branch, expect string, to plumbing.Hash, pack io.Reader) error {
	endpoint, err := endpoint(remote.URL)
	if err != nil {
		return err
	}
	session, err := c.transport.NewReceivePackSession(endpoint, remote.auth())
	if err != nil {
		return fmt.Errorf("repository %s: %w", remote.name(), err)
	}
	refs, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return remote.failure(ctx, err)
	}
	name := plumbing.NewBranchReferenceName(branch)
	old := refs.References[name.String()]
	if expect != "" && old.String() != expect {
		return fmt.Errorf("branch %s of repository %s is at %s, not %s: %w", branch, remote.name(), old, expect, forge.ErrMoved)
	}
	if old == to {
		return nil
	}
	request := packp.NewReferenceUpdateRequestFromCapabilities(refs.Capabilities)
	request.Commands = []*packp.Command{{Name: name, Old: old, New: to}}
	if pack != nil {
		request.Packfile = io.NopCloser(pack)
	} else if err := request.Capabilities.Set(capability.DeleteRefs); err != nil {
		return err
	}
	if _, err = session.ReceivePack(ctx, request); err == nil {
		return nil
	}
	return c.refused(ctx, remote, request.Commands[0], fmt.Errorf("pushing branch %s: %w", branch, remote.failure(ctx, err)))
}

// refused looks what became of an update that failed with err. It was carried
// out when only its answer was lost; and it was refused because the branch is
// not where it was: servers word that in too many ways to tell by it.
func (c *Client) refused(ctx context.Context, remote Remote, command *packp.Command, err error) error {
	branch := command.Name.Short()
	now, failed := c.Head(ctx, remote, branch)
	switch {
	case errors.Is(failed, forge.ErrNotFound):
		now = plumbing.ZeroHash.String()
	case failed != nil:
		return err
	}
	switch now {
	case command.New.String():
		return nil
	case command.Old.String():
		return err
	}
	return fmt.Errorf("branch %s of repository %s went from %s to %s meanwhile: %w", branch, remote.name(), command.Old, now, forge.ErrMoved)
}

// construction is a commit that is ready to be sent.
type construction struct {
	store    *memory.Storage
	objects  []plumbing.Hash // those that the server may not have
	commit   plumbing.Hash
	snapshot *snapshot
}

// build makes the objects of a commit. It is a pure function: the same
// request on the same parent is the same commit.
func build(parent *snapshot, request forge.CommitRequest) (*construction, error) {
	c := &construction{store: memory.NewStorage()}
	after, err := c.apply(parent, request.Changes)
	if err != nil {
		return nil, err
	}
	root, err := c.trees(parent, after)
	if err != nil {
		return nil, err
	}
	if root == parent.root && !request.AllowEmpty {
		return nil, errors.New("the changes change nothing")
	}
	after.root = root
	who := object.Signature{Name: forge.AuthorName, Email: forge.AuthorEmail, When: request.When.UTC()}
	commit := &object.Commit{
		Author: who, Committer: who, Message: request.Message,
		TreeHash: root, ParentHashes: []plumbing.Hash{plumbing.NewHash(request.Parent)},
	}
	if c.commit, err = c.add(commit); err != nil {
		return nil, err
	}
	c.snapshot = after
	return c, nil
}

type encoder interface {
	Encode(plumbing.EncodedObject) error
}

// add stores an object that is to be sent.
func (c *construction) add(e encoder) (plumbing.Hash, error) {
	o := c.store.NewEncodedObject()
	if err := e.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return c.addObject(o)
}

func (c *construction) addObject(o plumbing.EncodedObject) (plumbing.Hash, error) {
	if _, err := c.store.EncodedObject(plumbing.AnyObject, o.Hash()); err == nil {
		return o.Hash(), nil
	}
	hash, err := c.store.SetEncodedObject(o)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	c.objects = append(c.objects, hash)
	return hash, nil
}
