package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// TestGitea takes one change all the way on a real server: push, webhook,
// plan, pull request, merge.
func TestGitea(t *testing.T) {
	url, token := strings.TrimSuffix(os.Getenv("KALYPSO_TEST_GITEA_URL"), "/"), os.Getenv("KALYPSO_TEST_GITEA_TOKEN")
	if url == "" || token == "" {
		t.Skip("KALYPSO_TEST_GITEA_URL and KALYPSO_TEST_GITEA_TOKEN name no Gitea server")
	}
	api, err := sdk.NewClient(url, sdk.SetToken(token))
	if err != nil {
		t.Fatal(err)
	}
	f, err := gitea.New(gitea.Options{URL: url, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	org := fmt.Sprintf("w%08x", rand.Uint32())
	if _, _, err := api.CreateOrg(sdk.CreateOrgOption{Name: org}); err != nil {
		t.Fatal(err)
	}

	// The repositories of the tests without a server, copied to this one.
	offline := newPlatform("dev", "stage")
	repos := map[string][]string{platform: {"dev", "stage", "main"}, app: {"main"}, gitOps: {"dev", "stage"}}
	name := func(repo string) string { return strings.TrimPrefix(repo, "acme/") }
	push := func(repo, branch string, files map[string]string) {
		t.Helper()
		dir := t.TempDir()
		gitkit.Run(t, dir, "init", "-q", "-b", "work")
		for path, content := range files {
			content = strings.ReplaceAll(content, strings.TrimSuffix(forgefake.URL("acme/"), ".git"), url+"/"+org+"/")
			file := filepath.Join(dir, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		gitkit.Run(t, dir, "add", "-A")
		gitkit.Run(t, dir, "commit", "-q", "-m", "work")
		gitkit.Run(t, dir, "push", "-q", "-f", strings.Replace(url, "://", "://x:"+token+"@", 1)+"/"+org+"/"+name(repo)+".git", "HEAD:refs/heads/"+branch)
	}
	for repo, branches := range repos {
		if _, _, err := api.CreateOrgRepo(org, sdk.CreateRepoOption{Name: name(repo), DefaultBranch: branches[0]}); err != nil {
			t.Fatal(err)
		}
		for _, branch := range branches {
			push(repo, branch, offline.Files(repo, branch))
		}
	}

	log := &safeBuffer{}
	w, err := New(Options{
		Forge: f, ControlPlane: model.Reference{Repo: url + "/" + org + "/platform"}, PromoteTo: "dev",
		Poll: time.Hour, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(serverOf(w).Handler())
	defer server.Close()
	for repo := range repos {
		if _, _, err := api.CreateRepoHook(org, name(repo), sdk.CreateHookOption{
			Type: sdk.HookTypeGitea, Active: true, Events: []string{"push", "create", "delete", "pull_request", "pull_request_label", "issues"},
			Config: map[string]string{"url": server.URL + "/webhook", "content_type": "json", "secret": secretly},
		}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	defer func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Log(log.String())
		}
	}()

	until := func(what string, done func(EnvironmentStatus) bool) {
		t.Helper()
		start := time.Now()
		var last EnvironmentStatus
		for !done(last) {
			if time.Since(start) > 30*time.Second {
				t.Fatalf("waited 30 s until %s; dev is %+v", what, last)
			}
			time.Sleep(5 * time.Millisecond)
			for _, s := range w.Status().Environments {
				if s.Name == "dev" {
					last = s
				}
			}
		}
		t.Logf("%s after %s (last run: %+v ms)", what, time.Since(start).Round(time.Millisecond), last.Durations.Total.Duration().Milliseconds())
	}
	pr := func(s EnvironmentStatus) PullRequestStatus {
		if s.PullRequest == nil || s.State != Synced {
			return PullRequestStatus{}
		}
		return *s.PullRequest
	}
	number := 0
	until("dev has a pull request", func(s EnvironmentStatus) bool { number = pr(s).Number; return number != 0 })
	repo := org + "/gitops"
	list, err := f.PullRequests(ctx, repo, "kalypso/dev", "dev")
	if err != nil || len(list) != 1 || len(list[0].Labels) != 1 || list[0].Labels[0] != forge.LabelPromoted {
		t.Fatalf("pull requests %+v, %v", list, err)
	}
	t.Logf("%s\n%s", list[0].Title, list[0].Body)

	config := offline.Files(platform, "dev")
	config["config.yaml"] = strings.ReplaceAll(config["config.yaml"], "east", "west")
	head, err := f.Head(ctx, model.Reference{Repo: url + "/" + org + "/platform", Branch: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	base, err := f.Read(ctx, model.Reference{Repo: url + "/" + org + "/platform", Commit: head})
	if err != nil {
		t.Fatal(err)
	}
	config["base-repo.yaml"] = string(base.Files["base-repo.yaml"]) // as promoted
	push(platform, "dev", config)
	until("the pull request holds the change", func(s EnvironmentStatus) bool {
		tree, err := f.Read(ctx, model.Reference{Repo: url + "/" + repo, Branch: "kalypso/dev"})
		return err == nil && strings.Contains(string(tree.Files["drone/web-dev/platform-config.yaml"]), "west") && pr(s).Number == number
	})

	deadline := time.Now().Add(10 * time.Second)
	for merged := false; !merged; time.Sleep(20 * time.Millisecond) {
		merged, _, err = api.MergePullRequest(org, "gitops", int64(number), sdk.MergePullRequestOption{Style: sdk.MergeStyleMerge})
		if time.Now().After(deadline) {
			t.Fatalf("not merged after 10 s: %v", err)
		}
	}
	until("dev is synced without a pull request", func(s EnvironmentStatus) bool { return s.State == Synced && s.PullRequest == nil })

	config["config.yaml"] = strings.ReplaceAll(config["config.yaml"], "region", "area")
	push(platform, "dev", config)
	until("the bad change has an issue", func(s EnvironmentStatus) bool { return s.State == Synced && len(s.Issues) == 1 })
	config["config.yaml"] = strings.ReplaceAll(config["config.yaml"], "area", "region")
	push(platform, "dev", config)
	until("the issue is closed", func(s EnvironmentStatus) bool { return s.State == Synced && len(s.Issues) == 0 })

	runs := 0
	for _, s := range w.Status().Environments {
		runs += s.Runs
	}
	if strings.Contains(log.String(), "level=ERROR") {
		t.Error("errors were logged")
	}
	t.Logf("%d runs in all", runs)
}
