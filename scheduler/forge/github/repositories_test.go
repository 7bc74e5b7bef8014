package github_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

func TestOrganisation(t *testing.T) {
	w := newFixture(t)
	w.Plan("acme", "enterprise")
	ctx, f := t.Context(), w.forge
	o, err := f.Organisation(ctx, "acme")
	if err != nil || o.Plan != "enterprise" || !slices.Equal(o.Scopes, []string{"repo", "workflow"}) {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := f.Organisation(ctx, "nobody"); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}
	if _, err := f.Organisation(ctx, "acme/x"); err == nil {
		t.Error("a path is taken for a name")
	}
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, w.App("kalypso", 3, 4), 0o600); err != nil {
		t.Fatal(err)
	}
	app := w.connect(t, github.Options{App: &github.App{ID: 3, Installation: 4, KeyFile: key}})
	if o, err := app.Organisation(ctx, "acme"); err != nil || o.Scopes != nil || o.Plan != "" {
		t.Errorf("as an App: %+v, %v", o, err)
	}

	for i := range 120 { // more than a page
		w.Server.Repo(fmt.Sprintf("acme/r%03d", i))
	}
	w.Server.Repo("other/r")
	w.Allow(w.bot, "acme/r007", githubfake.None)
	list, err := f.Repositories(ctx, "acme")
	if err != nil || len(list) != 119 || list[118].Name != "acme/r119" {
		t.Errorf("%d repositories, %v", len(list), err)
	}
	if _, err := f.Repositories(ctx, "nobody"); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}

	made, err := f.CreateEmpty(ctx, "acme/new", "text", github.Internal)
	if err != nil || made.Visibility != github.Internal || made.Description != "text" || made.ID == 0 {
		t.Errorf("%+v, %v", made, err)
	}
	if _, err := f.CreateEmpty(ctx, "acme/NEW", "text", github.Public); !errors.Is(err, github.ErrExists) {
		t.Error(err)
	}
	if err := f.SetTopics(ctx, "acme/new", []string{"one", "two"}); err != nil {
		t.Error(err)
	}
	if err := f.SetTopics(ctx, "acme/new", []string{"One"}); err == nil || !strings.Contains(err.Error(), "lowercase") {
		t.Error(err)
	}
	w.Server.OpenIssue(w.ann, "acme/new", "t", "b")
	found, err := f.RepositoryNamed(ctx, "acme/new")
	if err != nil || found.ID != made.ID || found.Open != 1 || !slices.Equal(found.Topics, []string{"one", "two"}) {
		t.Errorf("%+v, %v", found, err)
	}
	w.Rename("acme/new", "renamed")
	if _, err := f.RepositoryNamed(ctx, "acme/new"); !errors.Is(err, forge.ErrNotFound) || !strings.Contains(err.Error(), "acme/renamed") {
		t.Errorf("by its old name: %v", err)
	}
	if again, err := f.CreateEmpty(ctx, "acme/new", "text", github.Private); err != nil || again.ID == made.ID {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := f.CreateEmpty(ctx, "nobody/new", "text", github.Private); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}
}

func TestHooks(t *testing.T) {
	w := newFixture(t)
	w.Server.Repo("acme/app")
	ctx, f, repo := t.Context(), w.forge, "acme/app"
	h := github.Hook{URL: "https://x.example/webhook", Events: github.HookEvents(), Active: true}
	if err := f.SaveHook(ctx, repo, h, "s3cret"); err != nil {
		t.Fatal(err)
	}
	if err := f.SaveHook(ctx, repo, h, "s3cret"); err == nil || !strings.Contains(err.Error(), "already exists") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("made twice: %v", err)
	}
	all, err := f.Hooks(ctx, repo)
	if err != nil || len(all) != 1 || all[0].URL != h.URL || !all[0].Active {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := f.SaveHook(ctx, repo, all[0], "other"); err != nil {
		t.Error(err)
	}
	want := []githubfake.Hook{{ID: all[0].ID, URL: h.URL, Secret: "other", ContentType: "json", Events: h.Events, Active: true}}
	if diff := cmp.Diff(want, w.Hooks(repo)); diff != "" {
		t.Error(diff)
	}
	h.Events = []string{"pull_request_label"} // Gitea's
	if err := f.SaveHook(ctx, repo, h, ""); err == nil {
		t.Error("an event that GitHub does not know is taken")
	}
	w.Allow(w.bot, repo, githubfake.Write)
	if _, err := f.Hooks(ctx, repo); !errors.Is(err, gitclient.ErrDenied) {
		t.Errorf("without being an admin: %v", err)
	}
}

func TestHasVariable(t *testing.T) {
	w := newFixture(t)
	w.Server.Repo("acme/app")
	ctx, f, repo := t.Context(), w.forge, "acme/app"
	has := func() string {
		t.Helper()
		environment, err := f.HasEnvironment(ctx, repo, "dev")
		in, err2 := f.HasVariable(ctx, repo, "dev", "NEXT")
		outside, err3 := f.HasVariable(ctx, repo, "", "NEXT")
		if err := errors.Join(err, err2, err3); err != nil {
			t.Error(err)
		}
		return fmt.Sprint(environment, in, outside)
	}
	for i, step := range []func() error{
		func() error { return nil },
		func() error { return f.CreateEnvironment(ctx, repo, "dev") },
		func() error { return f.SetVariable(ctx, repo, "dev", "NEXT", "qa") },
		func() error { return f.SetVariable(ctx, repo, "", "NEXT", "qa") },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(has(), "true"); got != i {
			t.Errorf("after step %d there are %s", i, has())
		}
	}
	w.Plan("acme", "free")
	if err := f.CreateEnvironment(ctx, repo, "qa"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("on the plan Free: %v", err)
	}
}

// TestBranches is about a first push, and about those that are there.
func TestBranches(t *testing.T) {
	w := newFixture(t)
	w.FirstBranch("acme", "trunk")
	ctx, f, repo := t.Context(), w.forge, "acme/app"
	if _, err := f.Branches(ctx, repo); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}
	w.Server.Repo(repo)
	if all, err := f.Branches(ctx, repo); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
	store, branches := first(t, "one", "two")
	// the answer is lost
	w.Fail(githubfake.Fault{On: githubfake.Kinds("push"), Late: true, Answer: githubfake.Reset()})
	if err := f.CreateBranches(ctx, repo, store, branches); err != nil {
		t.Fatal(err)
	}
	all, err := f.Branches(ctx, repo)
	if err != nil || len(all) != 2 || all["two"] != branches["refs/heads/two"].String() {
		t.Errorf("%v, %v", all, err)
	}
	if r, err := f.RepositoryNamed(ctx, repo); err != nil || r.DefaultBranch != "one" {
		t.Errorf("the default branch is %s, %v", r.DefaultBranch, err)
	}
	theirs := w.Push(repo, "two", map[string]string{"a": "b"})
	store, branches = first(t, "one", "two", "three")
	if err := f.CreateBranches(ctx, repo, store, branches); err != nil {
		t.Fatal(err)
	}
	if all, err := f.Branches(ctx, repo); err != nil || len(all) != 3 || all["two"] != theirs {
		t.Errorf("%v, %v", all, err)
	}
	commits, more, err := f.Commits(ctx, repo, "two")
	if err != nil || more || len(commits) != 2 || commits[0].ID != theirs || commits[1].Author != "bot@example.com" || commits[1].When.Unix() != 0 {
		t.Errorf("%+v, %t, %v", commits, more, err)
	}
	if _, _, err := f.Commits(ctx, repo, "none"); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}
	w.Allow(w.bot, repo, githubfake.Read)
	if err := f.CreateBranches(ctx, repo, store, branches); !errors.Is(err, gitclient.ErrDenied) {
		t.Errorf("who may only read: %v", err)
	}
}

// first is a commit without files, and branches that point to it.
func first(t *testing.T, names ...string) (*memory.Storage, map[plumbing.ReferenceName]plumbing.Hash) {
	t.Helper()
	store := memory.NewStorage()
	put := func(o interface {
		Encode(plumbing.EncodedObject) error
	}) plumbing.Hash {
		e := store.NewEncodedObject()
		if err := o.Encode(e); err != nil {
			t.Fatal(err)
		}
		hash, err := store.SetEncodedObject(e)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	who := object.Signature{Name: "bot", Email: "bot@example.com", When: time.Unix(0, 0)}
	commit := put(&object.Commit{Author: who, Committer: who, Message: "first\n", TreeHash: put(&object.Tree{})})
	branches := map[plumbing.ReferenceName]plumbing.Hash{}
	for _, name := range names {
		branches[plumbing.NewBranchReferenceName(name)] = commit
	}
	return store, branches
}

func TestRegistry(t *testing.T) {
	for url, want := range map[string]string{
		"": "ghcr.io", "https://github.com": "ghcr.io", "https://github.example.com": "containers.github.example.com", "https://acme.ghe.com": "containers.acme.ghe.com",
	} {
		f, err := github.New(github.Options{URL: url, Token: "t"})
		if err != nil || f.Registry() != want {
			t.Errorf("%s: %s, %v", url, f.Registry(), err)
		}
	}
}
