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
	w := newFixture(t)
	ctx, f := t.Context(), w.forge
	made, err := f.CreateEmpty(ctx, "acme/new", "made by kalypso init", github.Private)
	if !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("of an organisation that is not there: %+v, %v", made, err)
	}
	w.Org("acme")
	if made, err = f.CreateEmpty(ctx, "acme/new", "made by kalypso init", github.Private); err != nil || made.URL != w.CloneURL("acme/new") || made.Visibility != github.Private {
		t.Fatalf("%+v, %v", made, err)
	}
	w.Push("acme/new", "main", map[string]string{"README.md": "x"})
	next := w.Push("acme/new", "dev", map[string]string{"x": "x"})
	if got, err := f.RepositoryNamed(ctx, "acme/new"); err != nil || got.Description != "made by kalypso init" {
		t.Errorf("%+v, %v", got, err)
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
	w := newFixture(t)
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
	}
	w.Fail(githubfake.Fault{On: githubfake.Kinds("PUT"), Answer: githubfake.Status(422, "no")})
	if err := f.SetSecret(ctx, repo, "", "TOKEN", "s3cret"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v", err)
	}
	if err := f.SetVariable(ctx, repo, "none", "START", "x"); !errors.Is(err, forge.ErrNotFound) {
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
	w := newFixture(t)
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
	if _, err := f.Merge(ctx, repo, pr.Number, head); !errors.Is(err, forge.ErrNotYet) {
		t.Errorf("merging a draft: %v", err)
	}
	pr.Draft = false
	if _, err := f.SavePullRequest(ctx, repo, pr); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Merge(ctx, repo, pr.Number, base); err == nil || errors.Is(err, forge.ErrNotYet) {
		t.Errorf("merging another head: %v", err)
	}
	w.Fail(githubfake.Fault{On: githubfake.Kinds("PUT"), Late: true, Answer: githubfake.Reset()})
	commit, err := f.Merge(ctx, repo, pr.Number, head)
	if err != nil || commit != w.Branch(repo, "dev") || commit == base {
		t.Errorf("merged as %q, %v", commit, err)
	}
}
