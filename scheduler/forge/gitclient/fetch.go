package gitclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// fetchTimeout bounds one Fetch: all of a long history is much more than one commit.
const fetchTimeout = 4 * time.Minute

// maxFetch bounds the compressed bytes of what one Fetch brings, which are on the disk.
var maxFetch int64 = 1 << 30

// Storage is where Fetch puts what it brings: a storage of go-git.
type Storage interface {
	storer.PackfileWriter
	// HasEncodedObject returns an error for an object that is not there.
	HasEncodedObject(plumbing.Hash) error
}

// Fetch brings all commits of a branch that are not there yet into a storage, with their
// folders and files, and returns the branch's head. have are commits that are there with all
// that they reach. The contents of files that are larger than those of a model are left out,
// where the server can leave them out.
func (c *Client) Fetch(ctx context.Context, remote Remote, branch string, have []string, into Storage) (head string, err error) {
	defer func() {
		if v := recover(); v != nil {
			head, err = "", fmt.Errorf("branch %s of repository %s: what the server sends cannot be read: %v", branch, remote.name(), v)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, fmt.Errorf("%w: not all of it came within %s", ErrNetwork, fetchTimeout))
	defer cancel()
	ctx, b := withBudget(ctx)
	defer b.release()
	conv, err := c.open(ctx, remote)
	if err != nil {
		return "", err
	}
	want, err := resolve(conv.refs, remote.URL, branch)
	if err != nil {
		return "", err
	}
	if into.HasEncodedObject(want) == nil {
		return want.String(), nil
	}
	conv.refs.References, conv.refs.Peeled = nil, nil
	b.give(b.bytes)
	b.stored = true
	if err := conv.fetch(ctx, want, have, into); err != nil {
		return "", fmt.Errorf("branch %s: %w", branch, remote.failure(ctx, err))
	}
	return want.String(), nil
}

func (c *conversation) fetch(ctx context.Context, want plumbing.Hash, have []string, into Storage) (err error) {
	message := packp.NewUploadPackRequestFromCapabilities(c.refs.Capabilities)
	message.Wants = []plumbing.Hash{want}
	for _, id := range have {
		message.Haves = append(message.Haves, plumbing.NewHash(id))
	}
	if c.filters() {
		message.Filter = withoutLarge
		err = message.Capabilities.Set(capability.Filter)
	}
	if c.refs.Capabilities.Supports(capability.NoProgress) {
		err = errors.Join(err, message.Capabilities.Set(capability.NoProgress))
	}
	if err != nil {
		return err
	}
	response, err := c.session.UploadPack(ctx, message)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Close()) }()
	return packfile.WritePackfileToObjectStorage(into, demultiplexed(message.Capabilities, response))
}

// demultiplexed is the pack in an answer.
func demultiplexed(asked *capability.List, answer io.Reader) io.Reader {
	switch {
	case asked.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, answer)
	case asked.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, answer)
	}
	return answer
}
