package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

func TestPublishesAndStaysQuiet(t *testing.T) {
	f := newPlatform("dev")
	bubble(t, f, nil, func(r *running) {
		s := r.status("dev")
		if s.State != Synced || s.Targets != 1 || s.Assignments != 1 || s.PullRequest == nil || s.PullRequest.Number != 1 || s.Runs != 1 {
			t.Fatalf("status %+v", s)
		}
		if s.Commit != f.Branch(platform, "dev") {
			t.Errorf("commit %s", s.Commit)
		}
		files := f.Files(gitOps, "kalypso/dev")
		if files["drone/web-dev/platform-config.yaml"] == "" || !strings.Contains(files["drone/web-dev/namespace.yaml"], "dev-drone-web-dev") {
			t.Errorf("files %v", files)
		}
		f.Calls()
		r.pass(9 * DefaultPoll)
		for _, c := range f.Calls() {
			if c.Method != "Head" {
				t.Errorf("a quiet poll calls %s", c)
			}
		}
		r.pass(12 * DefaultPoll)
		if s := r.status("dev"); s.Runs != 2 {
			t.Errorf("%d runs after the time of a resync", s.Runs)
		}
		if w := f.Writes(); len(w) > 0 {
			t.Errorf("writes without a change: %v", w)
		}
	})
}

func TestEventsWakeWhatTheyConcern(t *testing.T) {
	for _, test := range []struct {
		kind, repo, branch string
		dev, stage         int // runs
	}{
		{"push", platform, "dev", 1, 0},
		{"push", platform, "stage", 0, 1},
		{"push", platform, "main", 1, 1}, // both take their base from its head
		{"push", app, "main", 1, 1},
		{"push", app, "feature", 0, 0},
		{"push", "acme/else", "main", 0, 0},
		{"push", gitOps, "dev", 1, 0},
		{"push", gitOps, "kalypso/dev", 0, 0}, // the scheduler's own
		{"delete", app, "main", 1, 1},
		{"create", gitOps, "stage", 0, 1},
		{"pull_request", gitOps, "dev", 1, 0},
		{"pull_request", app, "main", 0, 0},
		{"issues", gitOps, "", 1, 1},
		{"issue_comment", gitOps, "dev", 0, 0},
		{"star", gitOps, "dev", 0, 0},
	} {
		t.Run(fmt.Sprint(test.kind, " ", test.repo, " ", test.branch), func(t *testing.T) {
			bubble(t, newPlatform("dev", "stage"), nil, func(r *running) {
				r.notify(test.kind, test.repo, test.branch)
				if got := [2]int{r.status("dev").Runs - 1, r.status("stage").Runs - 1}; got != [2]int{test.dev, test.stage} {
					t.Errorf("runs %v, want %d and %d", got, test.dev, test.stage)
				}
			})
		})
	}
}

// TestWorkloadOnABranchLikeOurs keeps a workload on a branch that is named as
// the scheduler's is elsewhere.
func TestWorkloadOnABranchLikeOurs(t *testing.T) {
	f := newPlatform("dev")
	f.Push(app, "kalypso/dev", map[string]string{"workload.yaml": workload("dev")})
	f.Push(platform, "main", map[string]string{"registrations/web.yaml": object("WorkloadRegistration", "web", "", "{workload: {"+folder(app, "kalypso/dev")+"}, workspace: team}")})
	bubble(t, f, nil, func(r *running) {
		r.notify("push", app, "kalypso/dev")
		if s := r.status("dev"); s.Runs != 2 {
			t.Errorf("%d runs", s.Runs)
		}
	})
}

// TestFault11WebhookWithinASecond has no poll that could help: the webhook
// alone brings the change to the pull request, and no time passes meanwhile.
func TestFault11WebhookWithinASecond(t *testing.T) {
	f := newPlatform("dev")
	bubble(t, f, func(o *Options) { o.Poll = 1000 * time.Hour }, func(r *running) {
		before := time.Now()
		r.push(platform, "dev", map[string]string{"config.yaml": config("west")})
		if s := r.status("dev"); s.Runs != 1 {
			t.Fatalf("%d runs before the webhook", s.Runs)
		}
		r.notify("push", platform, "dev")
		if got := f.Files(gitOps, "kalypso/dev")["drone/web-dev/platform-config.yaml"]; !strings.Contains(got, "west") {
			t.Errorf("platform config %q", got)
		}
		if s := r.status("dev"); s.Runs != 2 || s.State != Synced {
			t.Errorf("dev: %+v", s)
		}
		if !time.Now().Equal(before) {
			t.Error("it waited")
		}
	})
}

func TestPollFindsLostEvents(t *testing.T) {
	f := newPlatform("dev")
	bubble(t, f, nil, func(r *running) {
		r.push(app, "main", map[string]string{"workload.yaml": workload("dev", "dev")})
		r.pass(DefaultPoll + time.Second)
		if s := r.status("dev"); s.Runs != 2 {
			t.Errorf("%d runs", s.Runs)
		}
	})
}

func TestEventsDuringARunMakeOneMore(t *testing.T) {
	f := newPlatform("dev", "stage")
	bubble(t, f, nil, func(r *running) {
		hold, entered := make(chan struct{}), 0
		f.OnCall(func(c forgefake.Call) {
			if c.Method == "PullRequests" && c.Detail == "kalypso/dev" {
				if entered++; entered == 1 {
					<-hold
				}
			}
		})
		r.notify("push", platform, "dev")
		for range 5 {
			r.notify("push", app, "main")
		}
		if s := r.status("dev"); s.State != Planning || s.Runs != 1 {
			t.Errorf("dev: %+v", s)
		}
		if s := r.status("stage"); s.State != Synced || s.Runs < 2 {
			t.Errorf("stage waits for dev: %+v", s)
		}
		close(hold)
		synctest.Wait()
		if s := r.status("dev"); s.Runs != 3 || s.State != Synced {
			t.Errorf("%d runs, want the first, the held one and one for all later events", s.Runs)
		}
	})
}

func TestErrorsAreRetriedWithBackoff(t *testing.T) {
	f := newPlatform("dev")
	var broken atomic.Bool
	broken.Store(true)
	f.OnCall(func(c forgefake.Call) {
		if broken.Load() && c.Method == "PullRequests" {
			f.FailAt(1, false)
		}
	})
	bubble(t, f, nil, func(r *running) {
		at := func(after time.Duration, runs int) {
			t.Helper()
			r.pass(after)
			if s := r.status("dev"); s.Runs != runs || s.State != Failed || s.ErrorSince == nil || !strings.Contains(s.Error, "injected fault") {
				t.Errorf("after %s more: %+v", after, s)
			}
		}
		start := time.Now()
		at(500*time.Millisecond, 1)
		at(time.Second, 2)
		at(2*time.Second, 3)
		at(4*time.Second, 4)
		at(8*time.Second, 5)
		at(16*time.Second, 6)
		at(32*time.Second, 7)
		at(time.Minute, 8)
		at(time.Minute, 9)
		if since := r.status("dev").ErrorSince; !since.Equal(start) {
			t.Errorf("error since %s, want %s", since, start)
		}
		r.notify("push", platform, "dev") // an event starts the backoff anew
		at(0, 10)
		at(1100*time.Millisecond, 11)
		broken.Store(false)
		r.pass(time.Minute)
		if s := r.status("dev"); s.State != Synced || s.Error != "" || s.ErrorSince != nil {
			t.Errorf("not recovered: %+v", s)
		}
		if n := strings.Count(r.log.String(), "level=ERROR"); n != 1 {
			t.Errorf("the same error was logged %d times:\n%s", n, r.log)
		}
	})
}

func TestProblemsAreLoggedOnce(t *testing.T) {
	f := newPlatform("dev")
	bubble(t, f, nil, func(r *running) {
		r.push(platform, "dev", map[string]string{"broken.yaml": "a: [\n"})
		r.notify("push", platform, "dev")
		r.notify("push", platform, "dev")
		s := r.status("dev")
		if len(s.Problems) == 0 || !strings.Contains(s.Problems[0], "broken.yaml:") {
			t.Fatalf("problems %q", s.Problems)
		}
		if n := strings.Count(r.log.String(), "problem: "); n != len(s.Problems) {
			t.Errorf("%d lines for %d problems:\n%s", n, len(s.Problems), r.log)
		}
		r.push(platform, "dev", map[string]string{"broken.yaml": ""})
		r.notify("push", platform, "dev")
		if n := strings.Count(r.log.String(), "problem is gone: "); n != len(s.Problems) {
			t.Errorf("%d lines for %d problems that are gone:\n%s", n, len(s.Problems), r.log)
		}
		if s := r.status("dev"); len(s.Problems) != 0 {
			t.Errorf("problems %q", s.Problems)
		}
	})
}

func TestEnvironmentsComeAndGo(t *testing.T) {
	f := newPlatform("dev", "stage")
	f.Push(platform, "main", map[string]string{".environments/stage.yaml": ""})
	bubble(t, f, nil, func(r *running) {
		if s := r.status("stage"); s.Name != "" {
			t.Fatalf("stage is followed: %+v", s)
		}
		r.push(platform, "main", map[string]string{".environments/stage.yaml": environmentFile("stage")})
		r.notify("push", platform, "main")
		if s := r.status("stage"); s.State != Synced {
			t.Errorf("stage: %+v", s)
		}
		// A file that cannot be read may be the one with the environment.
		whole := environmentFile("stage")
		for _, broken := range []string{
			"\n", "# stage\n", "\x00GITCRYPT\x00\x01", whole[:12],
			strings.Replace(whole, "kind: Environment", "kind: environment", 1),
			strings.Replace(whole, "scheduler.kalypso.io", "schedular.kalypso.io", 1),
			strings.Replace(whole, "apiVersion: scheduler.kalypso.io/v1alpha1\n", "", 1),
			"apiVersion: scheduler.kalypso.io/v1alpha1\na: [\n",
		} {
			r.push(platform, "main", map[string]string{".environments/stage.yaml": broken})
			r.notify("push", platform, "main")
			if s := r.status("stage"); s.Name == "" {
				t.Fatalf("stage was given up over %q", broken)
			}
			if p := r.Status().ControlPlane.Problems; len(p) == 0 && strings.TrimLeft(broken, "#\n") == broken {
				t.Errorf("the file is not in the status: %q", broken)
			}
		}
		// nor is a mistake in what has not been promoted kept from anybody
		r.push(platform, "main", map[string]string{"templates/odd.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: odd}\nspec: {}\n"})
		r.notify("push", platform, "main")
		if p := r.Status().ControlPlane.Problems; !slices.ContainsFunc(p, func(line string) bool { return strings.Contains(line, "templates/odd.yaml:4:") }) {
			t.Errorf("problems of the control plane: %q", p)
		}
		r.push(platform, "main", map[string]string{".environments/stage.yaml": ""})
		r.notify("push", platform, "main")
		if s := r.status("stage"); s.Name != "" {
			t.Errorf("stage is still followed: %+v", s)
		}
	})
}

func TestControlPlaneAppearsLater(t *testing.T) {
	f := forgefake.New()
	bubble(t, f, nil, func(r *running) {
		if c := r.Status().ControlPlane; !strings.Contains(c.Error, "not found") || c.ErrorSince == nil {
			t.Errorf("control plane %+v", c)
		}
		f.Push(platform, "main", map[string]string{".environments/dev.yaml": environmentFile("dev")})
		r.notify("push", platform, "main")
		if c := r.Status().ControlPlane; c.Error != "" {
			t.Errorf("control plane %+v", c)
		}
		if s := r.status("dev"); s.State != Failed {
			t.Errorf("dev without a branch: %+v", s)
		}
	})
}

func TestPromotesTheFirstEnvironment(t *testing.T) {
	f := newPlatform("dev", "stage")
	promote := func(o *Options) { o.PromoteTo = "dev" }
	bubble(t, f, promote, func(r *running) {
		head := f.Branch(platform, "main")
		s := r.status("dev")
		if s.Promoted != head || s.State != Synced {
			t.Errorf("dev: %+v", s)
		}
		if s := r.status("stage"); s.Promoted != "" {
			t.Errorf("stage: %+v", s)
		}
		if pr := f.AllPullRequests(gitOps)[0]; pr.Base == "dev" && (len(pr.Labels) != 1 || pr.Labels[0] != forge.LabelPromoted) {
			t.Errorf("labels %v", pr.Labels)
		}
		if got := f.AllStatuses(platform, head); len(got) != 1 || got[0].Context != "dev environment" {
			t.Errorf("statuses %v", got)
		}
		r.push(platform, "main", map[string]string{"templates/n.yaml": template("other", "kind: x")})
		r.notify("push", platform, "main")
		if s := r.status("dev"); s.Promoted != f.Branch(platform, "main") {
			t.Errorf("dev pins %s", s.Promoted)
		}
	})
}

// TestEventsDuringTheFirstRun pushes to a repository that the run has read
// already, when no run has ended yet.
func TestEventsDuringTheFirstRun(t *testing.T) {
	f := newPlatform("dev")
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		f.OnCall(func(c forgefake.Call) {
			if c.Method == "PullRequests" {
				<-hold
			}
		})
		w, err := New(Options{
			Forge: f, ControlPlane: model.Reference{Repo: forgefake.URL(platform)},
			Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		synctest.Wait()
		r := &running{t, w, serverOf(w), f, nil}
		r.notify("push", app, "main")
		close(hold)
		synctest.Wait()
		if s := r.status("dev"); s.Runs != 2 {
			t.Errorf("%d runs", s.Runs)
		}
		cancel()
		<-ended
	})
}
