package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
)

// followers are two clusters that have what their branches hold at once.
type followers struct{ forge *forgefake.Forge }

func (f followers) Inventory(context.Context) (fleet.Snapshot, error) {
	var s fleet.Snapshot
	for name, wave := range map[string]string{"a": "canary", "b": "all"} {
		branch := rollout.Branch("dev", "drone", wave)
		s.Clusters = append(s.Clusters, fleet.Cluster{Name: name, Subscriptions: []fleet.Subscription{{
			Kind: fleet.Application, Ref: fleet.Ref{Name: "dev"}, Repo: forgefake.URL(gitOps), Branch: branch, Path: "drone", Commit: f.forge.Branch(gitOps, branch), State: fleet.Compliant,
		}}})
	}
	return s, nil
}

const twoWaves = "{clusterType: drone, waves: [{name: canary, clusters: 1, soak: 5m}, {name: all}]}"

// TestRollouts merges something, and looks at it as time goes by.
func TestRollouts(t *testing.T) {
	f := newPlatform("dev")
	f.Push(platform, "dev", map[string]string{"rollout.yaml": object("Rollout", "drone", "", twoWaves)})
	bubble(t, f, func(o *Options) { o.Fleet = followers{f} }, func(r *running) {
		of := func(wave string) string { return f.Files(gitOps, rollout.Branch("dev", "drone", wave))["drone/x.yaml"] }
		status := func() rollout.Status {
			t.Helper()
			e := r.Controller.Status().Environments[0]
			if len(e.Rollouts) != 1 || e.RolloutError != "" || e.State != Synced {
				t.Fatalf("%+v", e)
			}
			return e.Rollouts[0]
		}
		if s := status(); s.Phase != rollout.Complete || s.Waves[0].Size != 1 || s.Waves[0].Clusters != nil {
			t.Errorf("%+v", s)
		}
		f.Push(gitOps, "dev", map[string]string{"drone/x.yaml": "1\n"})
		time.Sleep(2 * time.Minute)
		if s := status(); s.Phase != rollout.Progressing || s.Wave != "canary" || of("canary") != "1\n" || of("all") != "" {
			t.Errorf("%+v, %q, %q", s, of("canary"), of("all"))
		}
		f.Calls()
		time.Sleep(time.Minute)
		if w := f.Writes(); len(w) > 0 {
			t.Errorf("a wave that soaks makes %v", w)
		}
		time.Sleep(4 * time.Minute)
		if s := status(); s.Phase != rollout.Complete || of("all") != "1\n" {
			t.Errorf("%+v, %q", s, of("all"))
		}
		f.Calls()
		time.Sleep(time.Minute)
		for _, c := range f.Calls() {
			if strings.HasPrefix(c.Detail, rollout.BranchPrefix) {
				t.Errorf("a rollout that is complete makes the call %s", c)
			}
		}
		f.Down(func(c forgefake.Call) error {
			if strings.HasPrefix(c.Detail, rollout.BranchPrefix) {
				return errors.New("down")
			}
			return nil
		})
		f.Push(gitOps, "dev", map[string]string{"drone/x.yaml": "2\n"})
		time.Sleep(2 * time.Minute)
		if e := r.Controller.Status().Environments[0]; e.RolloutError == "" || e.State != Synced {
			t.Errorf("rollouts that cannot be read: %+v", e)
		}
		f.Down(nil)
		time.Sleep(15 * time.Minute)
		if s := status(); s.Phase != rollout.Complete || of("all") != "2\n" {
			t.Errorf("%+v, %q", s, of("all"))
		}
	})
}

// TestRolloutCommands has a user pause a rollout, whose push the scheduler is told of.
func TestRolloutCommands(t *testing.T) {
	f := newPlatform("dev")
	f.Push(platform, "dev", map[string]string{"rollout.yaml": object("Rollout", "drone", "", twoWaves)})
	bubble(t, f, func(o *Options) { o.Fleet = followers{f} }, func(r *running) {
		f.Push(gitOps, "dev", map[string]string{"drone/x.yaml": "1\n"})
		time.Sleep(2 * time.Minute)
		r.Controller.mu.Lock()
		env := r.Controller.environments["dev"].rollouts
		r.Controller.mu.Unlock()
		d := driver.New(driver.Options{Forge: f})
		give := func(c rollout.Command, phase rollout.Phase) {
			t.Helper()
			if _, err := d.Give(t.Context(), c, env, env.Rollouts[0], rollout.Order{By: "ann", At: time.Now()}); err != nil && !errors.Is(err, forge.ErrMoved) {
				t.Fatal(err)
			}
			r.Controller.deliver(event{forgefake.URL(gitOps), rollout.StateBranch("dev", "drone"), branchEvent})
			time.Sleep(time.Second)
			if s := r.Controller.Status().Environments[0].Rollouts[0]; s.Phase != phase {
				t.Errorf("after %s: %+v", c, s)
			}
		}
		give(rollout.Pause, rollout.Paused)
		time.Sleep(time.Hour)
		if s := r.Controller.Status().Environments[0].Rollouts[0]; s.Wave != "canary" {
			t.Errorf("a rollout that is paused: %+v", s)
		}
		give(rollout.Abort, rollout.Aborted)
		if x := f.Files(gitOps, rollout.Branch("dev", "drone", "canary"))["drone/x.yaml"]; x != "" {
			t.Errorf("the first wave has %q", x)
		}
	})
}

// TestRolloutOnce does one round, of a scheduler that no fleet is named to.
func TestRolloutOnce(t *testing.T) {
	f := newPlatform("dev")
	f.Push(platform, "dev", map[string]string{"rollout.yaml": object("Rollout", "drone", "", twoWaves)})
	c, err := New(Options{Forge: f, ControlPlane: model.Reference{Repo: forgefake.URL(platform)}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		report, err := c.RunOnce(t.Context(), "")
		if err != nil || len(report.Environments[0].Rollouts) != 1 || report.Environments[0].Rollouts[0].Phase != rollout.Complete {
			t.Fatalf("%+v, %v", report, err)
		}
		if i == 0 && !report.Changed() || i == 1 && report.Changed() {
			t.Errorf("round %d: %+v", i, report)
		}
	}
	f.Push(gitOps, "dev", map[string]string{"drone/x.yaml": "1\n"})
	report, err := c.RunOnce(t.Context(), "")
	if s := report.Environments[0].Rollouts[0]; err != nil || s.Phase != rollout.Progressing || len(s.Notes) == 0 || f.Files(gitOps, rollout.Branch("dev", "drone", "canary"))["drone/x.yaml"] != "" {
		t.Errorf("%+v, %v", s, err)
	}
}
