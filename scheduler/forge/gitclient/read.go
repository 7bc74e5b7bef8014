package gitclient

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

var fullID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// lookAgain bounds how often a branch is looked up anew because it was
// overwritten between the server's two answers.
const lookAgain = 3

// Tree returns the files of a commit, or of the branch's head when commit is
// empty. A commit that was read before costs no request. It is all of the
// commit or an error, never a part.
func (c *Client) Tree(ctx context.Context, remote Remote, branch, commit string) (*model.Tree, error) {
	s, commit, err := c.snapshot(ctx, remote, branch, commit)
	if err != nil {
		return nil, err
	}
	own := s.email == forge.AuthorEmail || c.Signing != nil && s.email == c.Signing.Email
	return &model.Tree{Repo: remote.URL, Branch: branch, Commit: commit, Own: own, Files: s.files, Skipped: s.skipped}, nil
}

func (c *Client) snapshot(ctx context.Context, remote Remote, branch, commit string) (*snapshot, string, error) {
	if commit == "" {
		return c.branch(ctx, remote, branch)
	}
	if !fullID.MatchString(commit) {
		return nil, "", fmt.Errorf("commit %q of repository %s is not a full commit ID: %w", commit, remote.name(), forge.ErrNotFound)
	}
	s, err := c.commit(ctx, remote, branch, plumbing.NewHash(commit), nil)
	return s, commit, err
}

// branch reads the head of a branch. Where that is, every call asks for
// itself: an answer that is under way may be older than the push that the call
// was made for.
func (c *Client) branch(ctx context.Context, remote Remote, branch string) (*snapshot, string, error) {
	for attempt := 1; ; attempt++ {
		conv, err := c.openBounded(ctx, remote)
		if err != nil {
			return nil, "", err
		}
		want, err := resolve(conv.refs, remote.URL, branch)
		if err != nil {
			return nil, "", err
		}
		// the list of branches may be long, and waits for others that read
		conv.refs.References, conv.refs.Peeled, conv.refs.Head = nil, nil, &want
		s, err := c.commit(ctx, remote, branch, want, conv)
		switch {
		case !errors.Is(err, forge.ErrNotFound):
			return s, want.String(), err
		case attempt == lookAgain:
			return nil, "", fmt.Errorf("branch %s of repository %s: the server lists commit %s and does not have it", branch, remote.name(), want)
		}
	}
}

func (c *Client) openBounded(ctx context.Context, remote Remote) (*conversation, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	ctx, b := withBudget(ctx)
	defer b.release()
	return c.open(ctx, remote)
}

// commit returns a commit that was read before, or reads it; in a conversation
// of its own when conv is nil. Environments share repositories and wake
// together, so those who ask for a commit at the same time share one read. It
// is cut loose from the caller that happened to be first, so that its giving
// up does not fail the others.
func (c *Client) commit(ctx context.Context, remote Remote, branch string, want plumbing.Hash, conv *conversation) (*snapshot, error) {
	if s, ok := c.snapshots.Get(key(remote, want.String())); ok {
		return s, s.tooLarge
	}
	shared := c.reads.DoChan(key(remote, want.String())+"\x00"+branch, func() (any, error) {
		ctx, cancel := bounded(context.WithoutCancel(ctx))
		defer cancel()
		return c.fetch(ctx, remote, branch, want, conv)
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("reading repository %s: %w", remote.name(), context.Cause(ctx))
	case r := <-shared:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*snapshot), nil
	}
}

// fetch gets one commit without its history, where the server allows it. What
// a server sends is not trusted: when it makes the git library panic, only
// this read fails.
func (c *Client) fetch(ctx context.Context, remote Remote, branch string, want plumbing.Hash, conv *conversation) (s *snapshot, err error) {
	defer func() {
		if v := recover(); v != nil {
			s, err = nil, fmt.Errorf("commit %s of repository %s: what the server sends cannot be read: %v", want, remote.name(), v)
		}
	}()
	ctx, b := withBudget(ctx)
	defer b.release()
	if conv == nil {
		if conv, err = c.open(ctx, remote); err != nil {
			return nil, err
		}
	}
	whole := request{wants: []plumbing.Hash{want}, depth: 1, filter: withoutLarge}
	if !conv.advertises(want) && !conv.allowsAnyCommit() {
		whole.wants, whole.depth = conv.tips(branch), 0
	}
	if len(whole.wants) == 0 {
		return nil, fmt.Errorf("commit %s of repository %s: %w", want, remote.name(), forge.ErrNotFound)
	}
	conv.refs.References, conv.refs.Peeled = nil, nil
	b.give(b.bytes)
	s, err = c.read(ctx, b, remote.URL, conv, want, whole)
	switch {
	case err == nil:
	case errors.Is(err, errNoCommit) && whole.depth == 0: // it is not in the history that was searched
		return nil, fmt.Errorf("commit %s of repository %s: %w", want, remote.name(), forge.ErrNotFound)
	case unknownObject(err):
		return nil, fmt.Errorf("commit %s of repository %s: %w", want, remote.name(), forge.ErrNotFound)
	default:
		err = fmt.Errorf("commit %s: %w", want, remote.failure(ctx, err))
		var limit *model.LimitError
		if errors.As(err, &limit) {
			limit.Commit = want.String()
			c.snapshots.Put(key(remote, want.String()), &snapshot{tooLarge: err, size: entryBytes})
		}
		return nil, err
	}
	for name, content := range s.files {
		s.files[name] = c.Addresses.Replace(content)
	}
	c.snapshots.Put(key(remote, want.String()), s)
	return s, nil
}

// withoutLarge leaves files out whose contents are not kept.
var withoutLarge = packp.FilterBlobLimit(model.MaxFile+1, packp.BlobLimitPrefixNone)

// read gets a commit whole, and one that is too large for that in part, where
// the server can do so: its folders first, then the files that matter.
func (c *Client) read(ctx context.Context, b *budget, url string, conv *conversation, want plumbing.Hash, whole request) (*snapshot, error) {
	if _, known := c.large.Load(url); !known || !conv.givesFiles() {
		p, err := conv.download(ctx, b, whole)
		if err == nil {
			var s *snapshot
			if s, err = load(p, want, conv.filters()); err == nil {
				return s, nil
			}
		}
		if b.exceeded == nil && !errors.As(err, new(*model.LimitError)) || !conv.givesFiles() {
			return nil, err
		}
		c.large.Store(url, true)
		b.exceeded = nil
		b.give(b.bytes)
	}
	folders := whole
	folders.filter = packp.FilterBlobNone()
	p, err := conv.download(ctx, b, folders)
	if err != nil {
		return nil, err
	}
	l, err := walk(p, want)
	if err != nil {
		return nil, err
	}
	notAsked := func(name string) bool { return !model.MayMatter(name) }
	wants := l.matters()
	if len(wants) == 0 {
		return l.snapshot, l.contents(new(pack), notAsked)
	}
	if len(wants) > maxWants {
		return nil, &model.LimitError{What: "files that may be the platform's", Max: maxWants, Hint: smaller}
	}
	p, err = conv.download(ctx, b, request{wants: wants})
	switch {
	case err != nil && unknownObject(err): // it announces single files, and sends only commits
		return nil, &model.LimitError{What: "compressed bytes in it", Max: maxPack, Hint: smaller}
	case err != nil:
		return nil, err
	}
	return l.snapshot, l.contents(p, notAsked)
}

// maxWants bounds how many files are asked for by their IDs, at 50 bytes each.
const maxWants = 50_000

// request is what is asked of a server.
type request struct {
	wants  []plumbing.Hash
	depth  int          // of history; 0 for all of it
	filter packp.Filter // what is left out, where the server can leave something out
}

// download asks for objects and indexes what comes.
func (c *conversation) download(ctx context.Context, b *budget, r request) (_ *pack, err error) {
	message := packp.NewUploadPackRequestFromCapabilities(c.refs.Capabilities)
	message.Wants = r.wants
	set := func(name capability.Capability) {
		if err == nil && c.refs.Capabilities.Supports(name) {
			err = message.Capabilities.Set(name)
		}
	}
	if r.depth > 0 && c.refs.Capabilities.Supports(capability.Shallow) {
		message.Depth = packp.DepthCommits(r.depth)
		set(capability.Shallow)
	}
	if c.filters() {
		message.Filter = r.filter
		set(capability.Filter)
	}
	set(capability.NoProgress)
	if err != nil {
		return nil, err
	}
	response, err := c.session.UploadPack(ctx, message)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Close()) }()
	received := new(spool)
	if _, err := received.ReadFrom(demultiplexed(message.Capabilities, response)); err != nil {
		return nil, err
	}
	return openPack(ctx, b, received)
}

// filters reports whether the server can leave objects out of what it sends.
func (c *conversation) filters() bool { return c.refs.Capabilities.Supports(capability.Filter) }

// givesFiles reports whether the server may be asked for single files by their IDs.
func (c *conversation) givesFiles() bool {
	return c.filters() && c.allowsAnyCommit() && c.refs.Capabilities.Supports(capability.AllowTipSHA1InWant)
}

func (c *conversation) advertises(commit plumbing.Hash) bool {
	for _, hash := range c.refs.References {
		if hash == commit {
			return true
		}
	}
	return c.refs.Head != nil && *c.refs.Head == commit
}

func (c *conversation) allowsAnyCommit() bool {
	return c.refs.Capabilities.Supports(capability.AllowReachableSHA1InWant)
}

// tips are the commits whose history is searched for one that cannot be asked
// for by its ID: the branch that it should be on, else every branch.
func (c *conversation) tips(branch string) []plumbing.Hash {
	if hash, ok := c.refs.References[plumbing.NewBranchReferenceName(branch).String()]; ok {
		return []plumbing.Hash{hash}
	}
	var all []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	for name, hash := range c.refs.References {
		if plumbing.ReferenceName(name).IsBranch() && !seen[hash] {
			seen[hash] = true
			all = append(all, hash)
		}
	}
	return all
}
