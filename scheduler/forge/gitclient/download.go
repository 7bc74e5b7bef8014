package gitclient

import (
	"context"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// request is what is asked of a server.
type request struct {
	wants  []plumbing.Hash
	depth  int          // of history; 0 for all of it
	filter packp.Filter // what is left out, where the server can leave something out
}

// download asks for objects and indexes what comes.
func (t *conversation) download(ctx context.Context, b *budget, r request) (_ *pack, err error) {
	message := packp.NewUploadPackRequestFromCapabilities(t.refs.Capabilities)
	message.Wants = r.wants
	set := func(name capability.Capability) {
		if err == nil && t.refs.Capabilities.Supports(name) {
			err = message.Capabilities.Set(name)
		}
	}
	if r.depth > 0 && t.refs.Capabilities.Supports(capability.Shallow) {
		message.Depth = packp.DepthCommits(r.depth)
		set(capability.Shallow)
	}
	if t.filters() {
		message.Filter = r.filter
		set(capability.Filter)
	}
	set(capability.NoProgress)
	if err != nil {
		return nil, err
	}
	response, err := t.session.UploadPack(ctx, message)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Close()) }()
	var compressed io.Reader = response
	switch {
	case message.Capabilities.Supports(capability.Sideband64k):
		compressed = sideband.NewDemuxer(sideband.Sideband64k, response)
	case message.Capabilities.Supports(capability.Sideband):
		compressed = sideband.NewDemuxer(sideband.Sideband, response)
	}
	received := new(spool)
	if _, err := received.ReadFrom(compressed); err != nil {
		return nil, err
	}
	return openPack(ctx, b, received)
}

// filters says whether the server can leave objects out of what it sends.
func (t *conversation) filters() bool { return t.refs.Capabilities.Supports(capability.Filter) }

// givesFiles says whether the server may be asked for single files by their IDs.
func (t *conversation) givesFiles() bool {
	return t.filters() && t.allowsAnyCommit() && t.refs.Capabilities.Supports(capability.AllowTipSHA1InWant)
}

func (t *conversation) advertises(commit plumbing.Hash) bool {
	for _, hash := range t.refs.References {
		if hash == commit {
			return true
		}
	}
	return t.refs.Head != nil && *t.refs.Head == commit
}

func (t *conversation) allowsAnyCommit() bool {
	return t.refs.Capabilities.Supports(capability.AllowReachableSHA1InWant)
}

// tips are the commits whose history is searched for one that cannot be asked
// for by its ID: the branch that it should be on, else every branch.
func (t *conversation) tips(branch string) []plumbing.Hash {
	if hash, ok := t.refs.References[plumbing.NewBranchReferenceName(branch).String()]; ok {
		return []plumbing.Hash{hash}
	}
	var all []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	for name, hash := range t.refs.References {
		if plumbing.ReferenceName(name).IsBranch() && !seen[hash] {
			seen[hash] = true
			all = append(all, hash)
		}
	}
	return all
}
