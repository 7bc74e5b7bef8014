package gitclient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
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
	from := parent
	if request.Tree != "" && request.Tree != request.Parent {
		if from, _, err = c.snapshot(ctx, remote, "", request.Tree); err != nil {
			return "", err
		}
	}
	built, err := build(parent, from, request, c.Signing)
	if err != nil {
		return "", fmt.Errorf("commit for branch %s: %w", request.Branch, err)
	}
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, built.store, false).Encode(built.objects, 0); err != nil {
		return "", fmt.Errorf("commit for branch %s: %w", request.Branch, err)
	}
	if err := c.point(ctx, remote, request.Branch, request.Expect, built.commit, &pack); err != nil {
		return "", err
	}
	c.snapshots.Put(key(remote, built.commit.String()), built.snapshot)
	return built.commit.String(), nil
}

// Delete removes a branch; a missing one is no error.
func (c *Client) Delete(ctx context.Context, remote Remote, branch string) error {
	return c.point(ctx, remote, branch, "", plumbing.ZeroHash, nil)
}

// point makes a branch point to a commit, or to none.
func (c *Client) point(ctx context.Context, remote Remote, branch, expect string, to plumbing.Hash, pack io.Reader) error {
	name := plumbing.NewBranchReferenceName(branch)
	return c.push(ctx, remote, pack, func(refs map[string]plumbing.Hash) ([]*packp.Command, error) {
		old := refs[name.String()]
		if expect != "" && old.String() != expect {
			return nil, fmt.Errorf("branch %s of repository %s is at %s, not %s: %w", branch, remote.name(), old, expect, forge.ErrMoved)
		}
		if old == to {
			return nil, nil
		}
		return []*packp.Command{{Name: name, Old: old, New: to}}, nil
	})
}

// Branches returns where every branch is; an empty repository has none. The
// account must be one that may push.
func (c *Client) Branches(ctx context.Context, remote Remote) (map[string]string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	ctx, b := withBudget(ctx)
	defer b.release()
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

// Create makes those of the branches that do not exist, all of them or none.
// Existing ones stay as they are, wherever they are. It is all one push, of
// everything that the store holds.
func (c *Client) Create(ctx context.Context, remote Remote, store *memory.Storage, branches map[plumbing.ReferenceName]plumbing.Hash) error {
	objects := slices.SortedFunc(maps.Keys(store.Objects), func(a, b plumbing.Hash) int { return slices.Compare(a[:], b[:]) })
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, store, false).Encode(objects, 0); err != nil {
		return fmt.Errorf("branches of repository %s: %w", remote.name(), err)
	}
	return c.push(ctx, remote, &pack, func(refs map[string]plumbing.Hash) (commands []*packp.Command, _ error) {
		for _, name := range slices.Sorted(maps.Keys(branches)) {
			if _, exists := refs[name.String()]; !exists {
				commands = append(commands, &packp.Command{Name: name, New: branches[name]})
			}
		}
		return commands, nil
	})
}

// push carries out the commands that are made for what the server has, all of
// them or none where it can do that. The server compares the old values again
// under its lock, so a branch that moves between the advertisement and the update
// is not overwritten: that is the lease.
func (c *Client) push(ctx context.Context, remote Remote, pack io.Reader, commands func(refs map[string]plumbing.Hash) ([]*packp.Command, error)) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	ctx, b := withBudget(ctx)
	defer b.release()
	session, refs, err := c.openPush(ctx, remote)
	if err != nil {
		return err
	}
	request := packp.NewReferenceUpdateRequestFromCapabilities(refs.Capabilities)
	if request.Commands, err = commands(refs.References); err != nil || len(request.Commands) == 0 {
		return err
	}
	what := "branch " + request.Commands[0].Name.Short()
	if n := len(request.Commands); n > 1 {
		what = fmt.Sprintf("%d branches", n)
		if refs.Capabilities.Supports(capability.Atomic) {
			err = request.Capabilities.Set(capability.Atomic)
		}
	}
	if pack != nil {
		request.Packfile = io.NopCloser(pack)
	} else {
		err = request.Capabilities.Set(capability.DeleteRefs)
	}
	if err != nil {
		return err
	}
	var said remoteText
	if refs.Capabilities.Supports(capability.Sideband64k) {
		request.Progress = &said
		if err := request.Capabilities.Set(capability.Sideband64k); err != nil {
			return err
		}
	}
	report, err := session.ReceivePack(ctx, request)
	if err == nil {
		return nil
	}
	if report != nil && strings.Contains(err.Error(), "declined") { // in the words of git and of all forges
		err = fmt.Errorf("%w: %w%s", ErrRefused, err, said.text())
	}
	return c.outcome(ctx, remote, request.Commands, fmt.Errorf("pushing %s: %w", what, remote.failure(ctx, err)))
}

// remoteText is what a server says during a push, which git shows after
// "remote:". It is there for users, so that a part of a long text will do.
type remoteText struct{ bytes.Buffer }

const maxRemoteText = 4 << 10

func (t *remoteText) Write(p []byte) (int, error) {
	t.Buffer.Write(p[:min(len(p), maxRemoteText-t.Len())])
	return len(p), nil
}

// text returns the lines as one, to follow on an error.
func (t *remoteText) text() (text string) {
	for line := range strings.FieldsFuncSeq(t.String(), func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
		if line != "" {
			text += "; remote: " + line
		}
	}
	return text
}

// outcome looks what became of a push that failed with err. It was carried out
// when only its answer was lost; and it was refused because a branch has moved:
// the texts of servers differ too much to decide by them.
func (c *Client) outcome(ctx context.Context, remote Remote, commands []*packp.Command, err error) error {
	_, refs, failed := c.openPush(ctx, remote)
	if failed != nil {
		return err
	}
	for _, command := range commands {
		switch now := refs.References[command.Name.String()]; now {
		case command.New:
		case command.Old:
			return err
		default:
			return fmt.Errorf("branch %s of repository %s went from %s to %s meanwhile: %w",
				command.Name.Short(), remote.name(), command.Old, now, forge.ErrMoved)
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
