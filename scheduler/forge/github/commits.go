package github

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/memory"
	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Read implements model.Reader.
func (f *Forge) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	var tree *model.Tree
	err := f.from(ctx, ref.Repo, func(remote gitclient.Remote) (err error) {
		tree, err = f.git.Tree(ctx, remote, ref.Branch, ref.Commit)
		return err
	})
	if err != nil {
		return nil, err
	}
	tree.Repo = ref.Repo
	return tree, nil
}

// History reads the newest commits of a branch, see [gitclient.Client.History].
func (f *Forge) History(ctx context.Context, cloneURL, branch string, folders []string) (h *gitclient.History, err error) {
	err = f.from(ctx, cloneURL, func(remote gitclient.Remote) error {
		h, err = f.git.History(ctx, remote, branch, folders)
		return err
	})
	return h, err
}

// BranchesBelow returns where the branches are whose names begin with a prefix.
func (f *Forge) BranchesBelow(ctx context.Context, cloneURL, prefix string) (all map[string]string, err error) {
	read := func(remote gitclient.Remote) (err error) {
		all, err = f.git.BranchesBelow(ctx, remote, prefix)
		return err
	}
	if repo, ok := f.Repo(cloneURL); ok {
		err = f.byGit(ctx, repo, read)
	} else { // the token goes to this GitHub only
		err = f.advised(read(gitclient.Remote{URL: cloneURL}))
	}
	return all, err
}

// CommitInfo reads a commit without its files, see [gitclient.Client.CommitInfo].
func (f *Forge) CommitInfo(ctx context.Context, cloneURL, commit string) (info gitclient.CommitInfo, err error) {
	err = f.from(ctx, cloneURL, func(remote gitclient.Remote) error {
		info, err = f.git.CommitInfo(ctx, remote, commit)
		return err
	})
	return info, err
}

// Fetch brings the commits of a branch into a storage, see [gitclient.Client.Fetch].
func (f *Forge) Fetch(ctx context.Context, cloneURL, branch string, have []string, into gitclient.Storage) (head string, err error) {
	err = f.from(ctx, cloneURL, func(remote gitclient.Remote) error {
		head, err = f.git.Fetch(ctx, remote, branch, have, into)
		return err
	})
	return head, err
}

// from reads a repository by its clone URL. The token goes to those of this GitHub alone.
func (f *Forge) from(ctx context.Context, cloneURL string, read func(gitclient.Remote) error) error {
	if repo, ok := f.Repo(cloneURL); ok {
		return f.byGit(ctx, repo, read)
	}
	return f.advised(read(gitclient.Remote{URL: cloneURL}))
}

// Head implements forge.Forge. It asks the API, which answers 304 while a
// branch stays where it is.
func (f *Forge) Head(ctx context.Context, ref model.Reference) (string, error) {
	if ref.Commit != "" {
		return ref.Commit, nil
	}
	repo, ok := f.Repo(ref.Repo)
	if !ok {
		head, err := f.git.Head(ctx, gitclient.Remote{URL: ref.Repo}, ref.Branch)
		return head, f.advised(err)
	}
	what, head := "branch "+ref.Branch, ""
	err := f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
		if ref.Branch == "" {
			what = "default branch"
			sha, r, err := f.client.Repositories.GetCommitSHA1(ctx, owner, name, "HEAD", "")
			head = sha
			return r, err
		}
		at, r, err := f.client.Git.GetRef(ctx, owner, name, "heads/"+ref.Branch)
		head = at.GetObject().GetSHA()
		return r, err
	})
	if err != nil {
		return "", fmt.Errorf("%s of %s: %w", what, repo, err)
	}
	return head, nil
}

// Commit implements forge.Forge.
func (f *Forge) Commit(ctx context.Context, repo string, request forge.CommitRequest) (id string, err error) {
	err = f.byGit(ctx, repo, func(remote gitclient.Remote) error {
		id, err = f.git.Commit(ctx, remote, request)
		return err
	})
	return id, err
}

// DeleteBranch implements forge.Forge.
func (f *Forge) DeleteBranch(ctx context.Context, repo, branch string) error {
	if !forge.OwnBranch(branch) {
		return fmt.Errorf("branch %s is not below %s: the scheduler deletes only its own branches", branch, forge.BranchPrefix)
	}
	err := f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
		return f.client.Git.DeleteRef(ctx, owner, name, "heads/"+branch)
	})
	if refusedAs(err, http.StatusUnprocessableEntity, "reference does not exist") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting branch %s of %s: %w", branch, repo, err)
	}
	return nil
}

// Branches returns where every branch of a repository is; an empty one has
// none. The account must be one that may push.
func (f *Forge) Branches(ctx context.Context, repo string) (all map[string]string, err error) {
	err = f.byGit(ctx, repo, func(remote gitclient.Remote) error {
		all, err = f.git.Branches(ctx, remote)
		return err
	})
	return all, err
}

// CreateBranches makes those of the branches that do not exist, all of them or
// none, by one push of everything that the store holds. The others stay as they
// are.
func (f *Forge) CreateBranches(ctx context.Context, repo string, store *memory.Storage, branches map[plumbing.ReferenceName]plumbing.Hash) error {
	return f.byGit(ctx, repo, func(remote gitclient.Remote) error {
		return f.git.Create(ctx, remote, store, branches)
	})
}

// byGit does something with a repository by git; once again where an App's token
// is not taken and there is a new one.
func (f *Forge) byGit(ctx context.Context, repo string, do func(gitclient.Remote) error) error {
	if _, _, err := forge.SplitRepo(repo); err != nil {
		return err
	}
	remote, err := f.ownRemote(ctx, repo)
	if err != nil {
		return err
	}
	err = do(remote)
	if errors.Is(err, transport.ErrAuthenticationRequired) && f.account.refused(remote.Auth.Password) {
		if remote, err = f.ownRemote(ctx, repo); err != nil {
			return err
		}
		err = do(remote)
	}
	return f.advised(err)
}

// Commit is a commit and its author.
type Commit struct {
	ID     string
	Author string // e-mail address
	When   time.Time
}

// Commits returns the newest commits of a branch, a page of them, and whether
// there are more.
func (f *Forge) Commits(ctx context.Context, repo, branch string) (all []Commit, more bool, err error) {
	err = f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
		list, r, err := f.client.Repositories.ListCommits(ctx, owner, name, &sdk.CommitsListOptions{
			SHA: branch, ListOptions: sdk.ListOptions{PerPage: pageSize},
		})
		for _, c := range list {
			author := c.GetCommit().GetAuthor()
			all = append(all, Commit{c.GetSHA(), author.GetEmail(), author.GetDate().UTC()})
		}
		more = err == nil && r.NextPage != 0
		return r, err
	})
	return all, more, err
}

// maxStatusText is the number of characters of a description that GitHub takes.
const maxStatusText = 140

// Statuses implements forge.Forge.
func (f *Forge) Statuses(ctx context.Context, repo, commit string) ([]forge.Status, error) {
	owner, name, err := forge.SplitRepo(repo)
	if err != nil {
		return nil, err
	}
	found := map[string]forge.Status{}
	err = f.pages(ctx, func(page sdk.ListOptions) (*sdk.Response, bool, error) {
		all, r, err := f.client.Repositories.GetCombinedStatus(ctx, owner, name, commit, &page)
		for _, s := range all.GetStatuses() {
			found[s.GetContext()] = forge.Status{Context: s.GetContext(), State: statusState(s.GetState()), Description: s.GetDescription(), URL: s.GetTargetURL()}
		}
		return r, false, err
	})
	if err != nil {
		return nil, fmt.Errorf("statuses of commit %s of %s: %w", commit, repo, err)
	}
	list := slices.Collect(maps.Values(found))
	slices.SortFunc(list, func(a, b forge.Status) int { return strings.Compare(a.Context, b.Context) })
	return list, nil
}

// SetStatus implements forge.Forge.
func (f *Forge) SetStatus(ctx context.Context, repo, commit string, status forge.Status) error {
	s := sdk.RepoStatus{State: new(string(status.State)), Context: &status.Context}
	if status.Description != "" {
		s.Description = new(shortened(status.Description, maxStatusText))
	}
	if status.URL != "" {
		s.TargetURL = &status.URL
	}
	err := f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
		_, r, err := f.client.Repositories.CreateStatus(ctx, owner, name, commit, s)
		return r, err
	})
	if err != nil {
		return fmt.Errorf("status %q of commit %s of %s: %w", status.Context, commit, repo, err)
	}
	return nil
}

// statusState maps GitHub's states to the scheduler's three.
func statusState(s string) forge.StatusState {
	switch s {
	case "success":
		return forge.Success
	case "pending":
		return forge.Pending
	}
	return forge.Failure
}

// shortened is a text of at most so many characters.
func shortened(s string, limit int) string {
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	return string(runes[:limit-1]) + "…"
}
