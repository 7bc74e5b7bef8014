package git

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/kalypso-dev/kalypso/fixtures/seed"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// push sends the branches of a repository that the remote does not have yet,
// all in one push.
func push(ctx context.Context, url, user, token string, r seed.Repository) error {
	store := memory.NewStorage()
	commits, err := r.Commits(store)
	if err != nil {
		return err
	}
	client := gitclient.New(http.DefaultClient, 0)
	return client.Create(ctx, gitclient.Remote{URL: url, Auth: &gitclient.Auth{User: user, Password: token}}, store, commits)
}

// untouched tells whether a repository's folder holds nothing but first commits
// of its branches, or nothing at all.
func untouched(dir string, r seed.Repository) (bool, error) {
	store := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
	if _, err := store.Reference(plumbing.HEAD); err != nil {
		return false, fmt.Errorf("%s: %w", dir, err)
	}
	ours, err := r.Commits(memory.NewStorage())
	if err != nil {
		return false, err
	}
	refs, err := store.IterReferences()
	if err != nil {
		return false, fmt.Errorf("%s: %w", dir, err)
	}
	defer refs.Close()
	all := true
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		if ref.Type() == plumbing.HashReference && ref.Hash() != ours[ref.Name()] {
			all = false
			return storer.ErrStop
		}
		return nil
	})
	return all, err
}
