package github_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

func TestRepositories(t *testing.T) {
	w := newWorld(t, false)
	w.Org("acme")
	ctx, f := t.Context(), w.forge
	want := github.Repository{Name: "acme/new", Description: "made by kalypso init", Private: true}
	made, err := f.CreateRepository(ctx, want)
	if err != nil || made.URL != w.CloneURL("acme/new") || !made.Private || made.DefaultBranch != "main" {
		t.Fatalf("%+v, %v", made, err)
	}
	if _, err := f.CreateRepository(ctx, want); !errors.Is(err, github.ErrExists) {
		t.Errorf("made twice: %v", err)
	}
	if _, err := f.CreateRepository(ctx, github.Repository{Name: "nobody/new"}); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("of an organisation that is not there: %v", err)
	}
	if mine, err := f.CreateRepository(ctx, github.Repository{Name: "kalypso-bot/own"}); err != nil || mine.Private {
		t.Errorf("of the account itself: %+v, %v", mine, err)
	}
	got, err := f.Repository(ctx, "acme/new")
	if err != nil || got.Empty || got.Description != want.Description {
		t.Errorf("%+v, %v", got, err)
	}
	w.Server.Repo("acme/empty")
	if got, err := f.Repository(ctx, "acme/empty"); err != nil || !got.Empty {
		t.Errorf("%+v, %v", got, err)
	}

	// the first commits, on two branches
	head, err := f.Head(ctx, model.Reference{Repo: made.URL})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.CreateBranch(ctx, "acme/new", "dev", head); err != nil {
			t.Error(err)
		}
	}
	next, err := f.Commit(ctx, "acme/new", forge.CommitRequest{
		Branch: "dev", Parent: head, Expect: head, FastForward: true, Message: "m", Changes: []forge.Change{{Path: "x", Content: []byte("x")}, {Path: "README.md"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.CreateBranch(ctx, "acme/new", "dev", head); !errors.Is(err, forge.ErrMoved) {
		t.Errorf("a branch that is elsewhere: %v", err)
	}
	if err := f.SetDefaultBranch(ctx, "acme/new", "dev"); err != nil {
		t.Error(err)
	}
	if got, err := f.Head(ctx, model.Reference{Repo: made.URL}); err != nil || got != next {
		t.Errorf("default branch at %s, %v", got, err)
	}

	if err := f.DeleteRepository(ctx, "acme/new"); !errors.Is(err, gitclient.ErrDenied) || !strings.Contains(err.Error(), "delete_repo") {
		t.Errorf("without the scope: %v", err)
	}
	admin := w.User("root", "repo", "delete_repo")
	f = w.connect(t, github.Options{Token: admin.Token})
	for range 2 {
		if err := f.DeleteRepository(ctx, "acme/new"); err != nil {
			t.Error(err)
		}
	}
	for _, repo := range w.Repos() {
		if repo == "acme/new" {
			t.Error("it is still there")
		}
	}
}

func TestActions(t *testing.T) {
	w := newWorld(t, false)
	ctx, f, repo := t.Context(), w.forge, "acme/app"
	w.Push(repo, "main", map[string]string{
		".github/workflows/cd.yaml": "on: {workflow_dispatch: {inputs: {environment: {}}}}\n",
		".github/workflows/ci.yaml": "on: push\n",
	})
	if err := f.CreateEnvironment(ctx, repo, "dev env"); err != nil {
		t.Fatal(err)
	}
	for _, environment := range []string{"", "dev env"} {
		for _, value := range []string{"s3cret é", "other"} {
			if err := f.SetSecret(ctx, repo, environment, "TOKEN", value); err != nil || w.Secret(repo, environment, "TOKEN") != value {
				t.Errorf("secret in %q: %q, %v", environment, w.Secret(repo, environment, "TOKEN"), err)
			}
			if err := f.SetVariable(ctx, repo, environment, "START", value); err != nil || w.Variable(repo, environment, "START") != value {
				t.Errorf("variable in %q: %q, %v", environment, w.Variable(repo, environment, "START"), err)
			}
		}
		for range 2 {
			if err := errors.Join(f.DeleteSecret(ctx, repo, environment, "TOKEN"), f.DeleteVariable(ctx, repo, environment, "START")); err != nil {
				t.Error(err)
			}
		}
		if w.Secret(repo, environment, "TOKEN")+w.Variable(repo, environment, "START") != "" {
			t.Errorf("%q: they are still there", environment)
		}
	}
	w.Fail(githubfake.Fault{On: githubfake.Kinds("PUT"), Answer: githubfake.Status(422, "no")})
	if err := f.SetSecret(ctx, repo, "", "TOKEN", "s3cret"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v", err)
	}
	for range 2 {
		if err := f.DeleteEnvironment(ctx, repo, "dev env"); err != nil {
			t.Error(err)
		}
	}
	if err := f.SetVariable(ctx, repo, "dev env", "START", "x"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("in an environment that is not there: %v", err)
	}

	if err := f.StartWorkflow(ctx, repo, "cd.yaml", "main", map[string]string{"environment": "dev"}); err != nil {
		t.Error(err)
	}
	if d := w.Dispatches(repo); len(d) != 1 || d[0].File != "cd.yaml" || d[0].Inputs["environment"] != "dev" {
		t.Errorf("started %+v", d)
	}
	for want, err := range map[string]error{
		"Not Found":           f.StartWorkflow(ctx, repo, "none.yaml", "main", nil),
		"No ref found":        f.StartWorkflow(ctx, repo, "cd.yaml", "none", nil),
		"'workflow_dispatch'": f.StartWorkflow(ctx, repo, "ci.yaml", "main", nil),
		"Unexpected inputs":   f.StartWorkflow(ctx, repo, "cd.yaml", "main", map[string]string{"x": "y"}),
		"name of its file":    f.StartWorkflow(ctx, repo, "../cd", "main", nil),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestMergeAndLabel(t *testing.T) {
	w := newWorld(t, false)
	ctx, f, repo := t.Context(), w.forge, "acme/gitops"
	base := w.Push(repo, "dev", map[string]string{"a": "b"})
	head, err := f.Commit(ctx, repo, forge.CommitRequest{Branch: "kalypso/dev", Parent: base, Message: "m", Changes: []forge.Change{{Path: "x", Content: []byte("x")}}})
	if err != nil {
		t.Fatal(err)
	}
	pr, err := f.SavePullRequest(ctx, repo, forge.PullRequest{Title: "t", Head: "kalypso/dev", Base: "dev", State: forge.Open, Draft: true, Labels: []string{forge.LabelPromoted}})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.LabelColor(repo, forge.LabelPromoted); got != "0e8a16" {
		t.Errorf("colour %q", got)
	}
	if err := f.Label(ctx, repo, pr.Number, []string{"canary"}); err != nil || len(w.Pulls(repo)[0].Labels) != 2 {
		t.Errorf("labels %q, %v", w.Pulls(repo)[0].Labels, err)
	}
	var notYet *github.NotYetError
	if _, err := f.Merge(ctx, repo, pr.Number, head); !errors.As(err, &notYet) {
		t.Errorf("merging a draft: %v", err)
	}
	pr.Draft = false
	if _, err := f.SavePullRequest(ctx, repo, pr); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Merge(ctx, repo, pr.Number, base); err == nil || errors.As(err, &notYet) {
		t.Errorf("merging another head: %v", err)
	}
	w.Fail(githubfake.Fault{On: githubfake.Kinds("PUT"), Late: true, Answer: githubfake.Reset()})
	commit, err := f.Merge(ctx, repo, pr.Number, head)
	if err != nil || commit != w.Branch(repo, "dev") || commit == base {
		t.Errorf("merged as %q, %v", commit, err)
	}
}
