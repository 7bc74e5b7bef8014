package controller

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// withPassword is the clone URL of a repository with a password in it.
func withPassword(repo string) string {
	return strings.Replace(forgefake.URL(repo), "://", "://user:hush@", 1)
}

// TestPasswordsInURLs gives every address of a platform a password. All that the
// scheduler writes is without it, whether it can read the repositories or not.
func TestPasswordsInURLs(t *testing.T) {
	for name, down := range map[string]func(forgefake.Call) error{
		"all well": nil,
		"a workload's server fails": func(c forgefake.Call) error {
			if strings.Contains(c.Repo, app) && c.Method == "Read" {
				return &url.Error{Op: "Get", URL: withPassword(app), Err: fmt.Errorf("status 500 of %s", withPassword(app))}
			}
			return nil
		},
		"all fails": func(c forgefake.Call) error { return fmt.Errorf("no answer from %s", withPassword(c.Repo)) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newPlatform("dev", "qa")
			for repo, branches := range map[string][]string{platform: {"main", "dev", "qa"}, app: {"main"}} {
				for _, branch := range branches {
					files := f.Files(repo, branch)
					for file, content := range files {
						files[file] = strings.ReplaceAll(content, "://", "://user:hush@")
					}
					f.Push(repo, branch, files)
				}
			}
			// what is not there, and what is no URL
			f.Push(platform, "main", map[string]string{
				"registrations/gone.yaml": object("WorkloadRegistration", "gone", "", `{workload: {repo: "`+withPassword("acme/gone")+`", branch: main, path: .}, workspace: team}`),
			})
			f.Push(platform, "qa", map[string]string{
				"broken.yaml": object("ClusterType", "large", "", `{reconciler: "`+withPassword("x")+`", namespaceService: namespace, configType: config}`),
			})
			f.Down(down)
			log := &safeBuffer{}
			c, err := New(Options{
				Forge: f, ControlPlane: model.Reference{Repo: withPassword(platform)}, PromoteTo: "dev",
				Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			if err != nil {
				t.Fatal(err)
			}
			report, failure := c.RunOnce(t.Context(), "")
			c.poll(t.Context())
			f.Down(nil)
			metrics := httptest.NewRecorder()
			serverOf(c).Handler().ServeHTTP(metrics, httptest.NewRequest("GET", "/metrics", nil))
			seen, err := json.Marshal([]any{report, c.Status(), f.AllPullRequests(gitOps), f.AllIssues(gitOps), f.Log(gitOps, "dev"), f.Log(platform, "dev")})
			if err != nil {
				t.Fatal(err)
			}
			if down == nil && len(f.AllPullRequests(gitOps)) == 0 {
				t.Errorf("nothing was published: %v", failure)
			}
			for _, pr := range f.AllPullRequests(gitOps) {
				seen = append(seen, fmt.Sprint(f.Files(gitOps, pr.Head))...)
				for _, comment := range f.Comments(gitOps, pr.Number) {
					seen = append(seen, comment.Body...)
				}
			}
			for what, text := range map[string]string{
				"the log": log.String(), "the metrics": metrics.Body.String(), "what is published": string(seen),
			} {
				if i := strings.Index(text, "hush"); i >= 0 {
					t.Errorf("%s: %s", what, text[max(0, i-200):min(len(text), i+50)])
				}
			}
		})
	}
}
