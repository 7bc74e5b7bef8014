package github

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// commitByAPI makes a commit by the Git data API: one tree, one commit, and the
// branch. The objects are named by their content, so that making them again
// after an answer was lost changes nothing.
func (f *Forge) commitByAPI(ctx context.Context, repo string, request forge.CommitRequest) (string, error) {
	if err := request.Validate(); err != nil {
		return "", err
	}
	parent, err := f.list(ctx, repo, request.Parent)
	if err != nil {
		return "", err
	}
	after, entries, err := f.entries(ctx, repo, parent, request.Changes)
	if err == nil && len(entries) == 0 && !request.AllowEmpty {
		err = errors.New("the changes change nothing")
	}
	if err != nil {
		return "", fmt.Errorf("commit for branch %s: %w", request.Branch, err)
	}
	present, err := f.present(ctx, repo, request)
	if err != nil {
		return "", err
	}
	commit, err := f.objects(ctx, repo, request, parent.root, entries, after)
	if err != nil {
		return "", fmt.Errorf("commit for branch %s of %s: %w", request.Branch, repo, err)
	}
	if err := f.point(ctx, repo, request, present, commit); err != nil {
		return "", fmt.Errorf("branch %s of %s: %w", request.Branch, repo, err)
	}
	f.blobs.keep(repo, commit, after)
	return commit, nil
}

// entries are the changes as the API takes them, without those that change
// nothing: GitHub refuses to remove a file that is not there. It also returns
// what the commit will hold; its tree's ID is not known yet.
func (f *Forge) entries(ctx context.Context, repo string, parent *listing, changes []forge.Change) (*listing, []*sdk.TreeEntry, error) {
	after := &listing{leaves: maps.Clone(parent.leaves)}
	var entries []*sdk.TreeEntry
	for _, c := range changes {
		old, there := parent.leaves[c.Path]
		if c.Content == nil {
			if there {
				delete(after.leaves, c.Path)
				entries = append(entries, &sdk.TreeEntry{Path: new(c.Path), Mode: new(old.mode), Type: new("blob")})
			}
			continue
		}
		next := leaf{modeFile, blobID(c.Content), len(c.Content)}
		if old.mode == modeExecutable {
			next.mode = modeExecutable
		}
		if there && old.mode == next.mode && old.id == next.id {
			continue
		}
		after.leaves[c.Path] = next
		f.blobs.put(next.id, slices.Clone(c.Content))
		e := &sdk.TreeEntry{Path: new(c.Path), Mode: new(next.mode), Type: new("blob")}
		if len(c.Content) > 0 && utf8.Valid(c.Content) {
			e.Content = new(string(c.Content))
		} else {
			if err := f.upload(ctx, repo, c.Content); err != nil {
				return nil, nil, fmt.Errorf("file %s: %w", c.Path, err)
			}
			e.SHA = new(next.id)
		}
		entries = append(entries, e)
	}
	for path := range after.leaves {
		for i := strings.IndexByte(path, '/'); i >= 0; {
			if _, ok := after.leaves[path[:i]]; ok {
				return nil, nil, fmt.Errorf("path %s would be a file and a folder", path[:i])
			}
			next := strings.IndexByte(path[i+1:], '/')
			if next < 0 {
				break
			}
			i += 1 + next
		}
	}
	return after, entries, nil
}

// upload makes a blob of what a tree's entry cannot hold.
func (f *Forge) upload(ctx context.Context, repo string, content []byte) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	return f.call(ctx, func() (*sdk.Response, error) {
		_, r, err := f.client.Git.CreateBlob(ctx, owner, name, sdk.Blob{
			Content: new(base64.StdEncoding.EncodeToString(content)), Encoding: new("base64"),
		})
		return r, err
	})
}

// objects makes the tree and the commit.
func (f *Forge) objects(ctx context.Context, repo string, request forge.CommitRequest, base string, entries []*sdk.TreeEntry, after *listing) (id string, err error) {
	owner, name, err := split(repo)
	if err != nil {
		return "", err
	}
	after.root = base
	if len(entries) > 0 {
		err = f.call(ctx, func() (*sdk.Response, error) {
			t, r, err := f.client.Git.CreateTree(ctx, owner, name, base, entries)
			after.root = t.GetSHA()
			return r, err
		})
	}
	if err != nil {
		return "", fmt.Errorf("making its tree: %w", err)
	}
	who := &sdk.CommitAuthor{Name: new(forge.AuthorName), Email: new(forge.AuthorEmail), Date: &sdk.Timestamp{Time: request.When.UTC()}}
	err = f.call(ctx, func() (*sdk.Response, error) {
		c, r, err := f.client.Git.CreateCommit(ctx, owner, name, sdk.Commit{
			Author: who, Committer: who, Message: new(request.Message),
			Tree: &sdk.Tree{SHA: new(after.root)}, Parents: []*sdk.Commit{{SHA: new(request.Parent)}},
		}, nil)
		id = c.GetSHA()
		return r, err
	})
	return id, err
}
