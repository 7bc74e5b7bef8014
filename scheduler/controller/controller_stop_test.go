package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// TestStoppedAnywhere stops a Controller at every single call of its work, and
// starts another, which knows nothing: it must leave the forge as if the first
// had never been stopped, whatever events got lost between.
func TestStoppedAnywhere(t *testing.T) {
	change := func(f *forgefake.Forge) {
		f.Push(platform, "dev", map[string]string{"config.yaml": config("west")})
		f.Push(platform, "main", map[string]string{"templates/n.yaml": template("other", "kind: x")})
	}
	promoting := func(o *Options) { o.PromoteTo = "dev" }
	undisturbed := func() ([]string, int) {
		f, calls := newPlatform("dev", "stage"), 0
		bubble(t, f, promoting, func(r *running) {
			change(f)
			f.Calls()
			r.notify("push", platform, "dev")
			r.notify("push", platform, "main")
			calls = len(f.Calls())
		})
		return seen(f), calls
	}
	want, calls := undisturbed()
	if calls < 10 {
		t.Fatalf("%d calls", calls)
	}
	for n := range calls {
		f := newPlatform("dev", "stage")
		synctest.Test(t, func(t *testing.T) {
			r, stop := start(t, f, promoting)
			synctest.Wait()
			change(f)
			made, reached := 0, make(chan struct{})
			var once sync.Mutex
			f.OnCall(func(forgefake.Call) {
				once.Lock()
				made++
				last := made == n+1
				once.Unlock()
				if last {
					close(reached)
					time.Sleep(time.Second) // what came before it goes on, and is stopped at its next call
				}
			})
			for _, branch := range []string{"dev", "main"} {
				body := webhook(t, "push", platform, branch)
				post(r.Webhook(), "push", body, sign(secretly, body))
			}
			<-reached
			stop()
			f.OnCall(nil)
			_, stop = start(t, f, promoting)
			synctest.Wait()
			stop()
		})
		if diff := cmp.Diff(want, seen(f)); diff != "" {
			t.Fatalf("stopped at call %d (-want +got):\n%s", n+1, diff)
		}
	}
}

// seen is everything but what depends on the order of two environments.
func seen(f *forgefake.Forge) (lines []string) {
	for _, pr := range f.AllPullRequests(gitOps) {
		body, _, _ := strings.Cut(pr.Body, " base=") // commits of another time
		lines = append(lines, fmt.Sprint(pr.Title, pr.Head, pr.Base, pr.State, pr.Labels, body, f.Comments(gitOps, pr.Number)))
	}
	for _, branch := range []string{"dev", "stage", "kalypso/dev", "kalypso/stage"} {
		files := f.Files(gitOps, branch)
		lines = append(lines, fmt.Sprint(branch, files, len(f.Log(gitOps, branch))))
	}
	for _, branch := range []string{"dev", "stage"} {
		lines = append(lines, fmt.Sprint(branch, f.Files(platform, branch)))
	}
	for _, s := range f.AllStatuses(platform, f.Branch(platform, "main")) {
		lines = append(lines, fmt.Sprint(s))
	}
	slices.Sort(lines)
	return lines
}

// TestNotifiedBeforeRun posts a webhook to a Controller that does not run yet.
func TestNotifiedBeforeRun(t *testing.T) {
	f := newPlatform("dev")
	synctest.Test(t, func(t *testing.T) {
		w, err := New(Options{
			Forge: f, ControlPlane: model.Reference{Repo: forgefake.URL(platform)}, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		body := webhook(t, "push", platform, "main")
		if code := post(serverOf(w).Webhook(), "push", body, sign(secretly, body)); code != http.StatusAccepted {
			t.Errorf("answered %d", code)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		synctest.Wait()
		cancel()
		<-ended
		if len(f.AllPullRequests(gitOps)) != 1 {
			t.Error("nothing was published")
		}
	})
}

// TestWebhookBurst posts many webhooks at once, more than there is anything to
// do for.
func TestWebhookBurst(t *testing.T) {
	f := newPlatform("dev", "stage")
	bubble(t, f, nil, func(r *running) {
		r.push(platform, "dev", map[string]string{"config.yaml": config("west")})
		f.OnCall(func(c forgefake.Call) { time.Sleep(10 * time.Millisecond) })
		body := webhook(t, "push", app, "main")
		signature := sign(secretly, body)
		var all sync.WaitGroup
		for range 500 {
			all.Go(func() {
				if code := post(r.Webhook(), "push", body, signature); code != http.StatusAccepted {
					t.Errorf("answered %d", code)
				}
			})
		}
		all.Wait()
		r.pass(10 * time.Second)
		for _, e := range []string{"dev", "stage"} {
			if s := r.status(e); s.Runs > 3 || s.Runs < 2 || s.State != Synced {
				t.Errorf("%s: %d runs, want the first, one at once and one for all that came meanwhile", e, s.Runs)
			}
		}
	})
}

// TestReplayedWebhook posts a webhook again that was signed long ago. It says
// where to look and no more, so that it costs a look and changes nothing.
func TestReplayedWebhook(t *testing.T) {
	f := newPlatform("dev")
	bubble(t, f, nil, func(r *running) {
		r.push(platform, "dev", map[string]string{"config.yaml": config("west")})
		body := webhook(t, "push", platform, "dev")
		signature := sign(secretly, body)
		post(r.Webhook(), "push", body, signature)
		synctest.Wait()
		state := everything(f)
		f.Calls()
		for range 20 {
			if code := post(r.Webhook(), "push", body, signature); code != http.StatusAccepted {
				t.Errorf("answered %d", code)
			}
			r.pass(time.Hour)
		}
		if w := f.Writes(); len(w) > 0 {
			t.Errorf("writes %v", w)
		}
		if diff := cmp.Diff(state, everything(f)); diff != "" {
			t.Errorf("forge (-before +after):\n%s", diff)
		}
	})
}

// TestGivenUpAndTakenUp removes an environment from the control plane and puts
// it back while its last run hangs: there is never more than one run of it.
func TestGivenUpAndTakenUp(t *testing.T) {
	f := newPlatform("dev")
	bubble(t, f, nil, func(r *running) {
		hold := make(chan struct{})
		var mu sync.Mutex
		entered := 0
		f.OnCall(func(c forgefake.Call) {
			if c.Method == "PullRequests" {
				mu.Lock()
				entered++
				mu.Unlock()
				<-hold
			}
		})
		r.notify("push", platform, "dev")
		r.push(platform, "main", map[string]string{".environments/dev.yaml": ""})
		r.notify("push", platform, "main")
		if s := r.status("dev"); s.Name != "" {
			t.Errorf("dev: %+v", s)
		}
		r.push(platform, "main", map[string]string{".environments/dev.yaml": environmentFile("dev")})
		r.notify("push", platform, "main")
		if s := r.status("dev"); s.Name == "" || entered != 1 {
			t.Errorf("dev: %+v, %d runs at a time", s, entered)
		}
		close(hold)
		synctest.Wait()
		if s := r.status("dev"); s.State != Synced || entered != 2 {
			t.Errorf("dev: %+v, %d runs", s, entered)
		}
	})
}

// stoppingForge calls stop when a repository has been read.
type stoppingForge struct {
	forge.Forge
	repo string
	stop func()
}

func (f *stoppingForge) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	tree, err := f.Forge.Read(ctx, ref)
	if ref.Repo == f.repo {
		f.stop()
	}
	return tree, err
}

// TestStoppedWhilePlanning stops a run between its last look at the forge and
// its plan. Nothing is planned or published.
func TestStoppedWhilePlanning(t *testing.T) {
	f := newPlatform("dev")
	synctest.Test(t, func(t *testing.T) {
		w, err := New(Options{
			Forge: f, ControlPlane: model.Reference{Repo: forgefake.URL(platform)}, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		e := newEnvironment("dev", model.Reference{Repo: forgefake.URL(platform), Branch: "dev"})
		var o outcome
		err = w.steps(ctx, e, e.ref, &recordingReader{Forge: &stoppingForge{f, forgefake.URL(gitOps), cancel}}, &o)
		if !errors.Is(err, context.Canceled) || o.plan != nil || len(f.Writes()) > 0 {
			t.Errorf("error %v, a plan: %t, writes %v", err, o.plan != nil, f.Writes())
		}
	})
}

// TestStopWaitsForNothing stops while something does not end.
func TestStopWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		defer close(hold)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, cancel)
		start := time.Now()
		err := awaited(ctx, func() error { <-hold; return nil }, slog.New(slog.DiscardHandler))
		if !errors.Is(err, context.Canceled) || time.Since(start) != time.Hour+stopTime {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}
