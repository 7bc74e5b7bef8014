package gitclient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Branches returns where every branch is; an empty repository has none. The
// account must be one that may push.
func (c *Client) Branches(ctx context.Context, remote Remote) (map[string]string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, refs, err := c.openPush(ctx, remote)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for name, at := range refs.References {
		if name := plumbing.ReferenceName(name); name.IsBranch() {
			all[name.Short()] = at.String()
		}
	}
	return all, nil
}

// Create makes those of the branches that are not there, all of them or none.
// Those that are there stay as they are, wherever they are. It is all one push,
// of everything that the store holds.
func (c *Client) Create(ctx context.Context, remote Remote, store *memory.Storage, branches map[plumbing.ReferenceName]plumbing.Hash) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	session, refs, err := c.openPush(ctx, remote)
	if err != nil {
		return err
	}
	request := packp.NewReferenceUpdateRequestFromCapabilities(refs.Capabilities)
	for _, name := range slices.Sorted(maps.Keys(branches)) {
		if _, there := refs.References[name.String()]; !there {
			request.Commands = append(request.Commands, &packp.Command{Name: name, New: branches[name]})
		}
	}
	if len(request.Commands) == 0 {
		return nil
	}
	if refs.Capabilities.Supports(capability.Atomic) {
		if err := request.Capabilities.Set(capability.Atomic); err != nil {
			return err
		}
	}
	objects := slices.SortedFunc(maps.Keys(store.Objects), func(a, b plumbing.Hash) int { return slices.Compare(a[:], b[:]) })
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, store, false).Encode(objects, 0); err != nil {
		return fmt.Errorf("branches of repository %s: %w", remote.name(), err)
	}
	request.Packfile = io.NopCloser(&pack)
	if _, err := session.ReceivePack(ctx, request); err != nil {
		return c.notCreated(ctx, remote, request.Commands, fmt.Errorf("pushing %d branches: %w", len(request.Commands), remote.failure(ctx, err)))
	}
	return nil
}

// notCreated looks what became of a push that failed with err: it was carried
// out when only its answer was lost.
func (c *Client) notCreated(ctx context.Context, remote Remote, commands []*packp.Command, err error) error {
	now, failed := c.Branches(ctx, remote)
	if failed != nil {
		return err
	}
	for _, command := range commands {
		if now[command.Name.Short()] != command.New.String() {
			return err
		}
	}
	return nil
}

// openPush starts a conversation for writing.
func (c *Client) openPush(ctx context.Context, remote Remote) (transport.ReceivePackSession, *packp.AdvRefs, error) {
	endpoint, err := endpoint(remote.URL)
	if err != nil {
		return nil, nil, err
	}
	session, err := c.transport.NewReceivePackSession(endpoint, remote.auth())
	if err != nil {
		return nil, nil, fmt.Errorf("repository %s: %w", remote.name(), err)
	}
	refs, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, nil, remote.failure(ctx, err)
	}
	return session, refs, nil
}
