package githttp

import (
	"context"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/storage/memory"
)

// download asks for commits and stores what comes. Depth 0 brings the whole
// history.
func (t *conversation) download(ctx context.Context, store *memory.Storage, wants []plumbing.Hash, depth int) (err error) {
	request := packp.NewUploadPackRequestFromCapabilities(t.refs.Capabilities)
	request.Wants = wants
	if depth > 0 && t.refs.Capabilities.Supports(capability.Shallow) {
		request.Depth = packp.DepthCommits(depth)
		if err := request.Capabilities.Set(capability.Shallow); err != nil {
			return err
		}
	}
	if t.refs.Capabilities.Supports(capability.NoProgress) {
		if err := request.Capabilities.Set(capability.NoProgress); err != nil {
			return err
		}
	}
	response, err := t.session.UploadPack(ctx, request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Close()) }()
	var pack io.Reader = response
	switch {
	case request.Capabilities.Supports(capability.Sideband64k):
		pack = sideband.NewDemuxer(sideband.Sideband64k, response)
	case request.Capabilities.Supports(capability.Sideband):
		pack = sideband.NewDemuxer(sideband.Sideband, response)
	}
	return packfile.UpdateObjectStorage(store, pack)
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
