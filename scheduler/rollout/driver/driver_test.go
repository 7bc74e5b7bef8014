package driver_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

const repo = "acme/gitops"

var start = time.Date(2026, 6, 3, 12, 0, 0, 0, time.UTC)

// platform is a forge and a fleet of three clusters that follow it at once.
type platform struct {
	*testing.T
	forge  *forgefake.Forge
	now    time.Time
	broken func(cluster, commit string) bool // nil for nowhere
	asked  error
}

var members = map[string]string{"a": "canary", "b": "second", "c": "all"}

func newPlatform(t *testing.T) *platform {
	p := &platform{T: t, forge: forgefake.New(), now: start}
	p.push("1")
	return p
}

// push changes what the clusters have to apply.
func (p *platform) push(version string) string {
	return p.forge.Push(repo, "dev", map[string]string{"large/app/x.yaml": "version: " + version + "\n", "small/app/x.yaml": "a\n", "README.md": "x"})
}

func environment() driver.Environment {
	r := model.Rollout{Metadata: v1alpha1.Metadata{Name: "large"}}
	r.Spec.ClusterType = "large"
	r.Spec.Waves = []v1alpha1.RolloutWave{
		{Name: "canary", Clusters: v1alpha1.Amount{Number: 1, Given: true}, Soak: v1alpha1.Duration(time.Minute)}, {Name: "second", Clusters: v1alpha1.Amount{Number: 1, Given: true}}, {Name: "all"},
	}
	return driver.Environment{Name: "dev", GitOps: model.Reference{Repo: forgefake.URL(repo), Branch: "dev"}, Types: []string{"large", "small"}, Rollouts: []model.Rollout{r}}
}

// Inventory implements fleet.Reader.
func (p *platform) Inventory(context.Context) (fleet.Snapshot, error) {
	s := fleet.Snapshot{At: p.now}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		branch := rollout.Branch("dev", "large", members[name])
		commit := p.forge.Branch(repo, branch)
		state := fleet.Compliant
		if p.broken != nil && p.broken(name, p.forge.Files(repo, branch)["large/app/x.yaml"]) {
			state = fleet.NonCompliant
		}
		c := fleet.Cluster{Name: name}
		c.Subscriptions = []fleet.Subscription{{
			Kind: fleet.Kustomization, Ref: fleet.Ref{Name: "dev"}, Source: &fleet.Ref{Name: "dev"}, Repo: forgefake.URL(repo), Branch: branch, Path: "./large",
			Commit: commit, Applied: commit, State: state, Reason: "no such image",
		}}
		s.Clusters = append(s.Clusters, c)
	}
	s.Clusters = append(s.Clusters, fleet.Cluster{Name: "other", Subscriptions: []fleet.Subscription{{Kind: fleet.Kustomization, Repo: forgefake.URL(repo), Branch: "dev", Path: "small", State: fleet.NonCompliant}}})
	return s, p.asked
}

// driver is that of a process that has just begun.
func (p *platform) driver() *driver.Driver {
	return driver.New(driver.Options{Forge: p.forge, Fleet: p, Now: func() time.Time { return p.now }, Clock: "here"})
}

func (p *platform) run() (driver.Outcome, error) { return p.driver().Run(p.Context(), environment()) }

// until runs as time goes by until a rollout is in a phase.
func (p *platform) until(phase rollout.Phase) rollout.Status {
	p.Helper()
	var status rollout.Status
	for range 100 {
		out, err := p.run()
		if err != nil {
			p.Fatal(err)
		}
		if status = out.Statuses[0]; status.Phase == phase {
			return status
		}
		p.now = p.now.Add(20 * time.Second)
	}
	p.Fatalf("the rollout is %s (%s), not %s", status.Phase, status.Reason, phase)
	return status
}

// versions are what the branches of the waves have.
func (p *platform) versions() map[string]string {
	all := map[string]string{}
	for _, wave := range members {
		files := p.forge.Files(repo, rollout.Branch("dev", "large", wave))
		all[wave] = strings.TrimSpace(strings.TrimPrefix(files["large/app/x.yaml"], "version: "))
	}
	return all
}

func (p *platform) want(canary, second, all string) {
	p.Helper()
	if diff := cmp.Diff(map[string]string{"canary": canary, "second": second, "all": all}, p.versions()); diff != "" {
		p.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestRollout(t *testing.T) {
	p := newPlatform(t)
	p.until(rollout.Complete)
	p.want("1", "1", "1")
	commit := p.push("2")
	out, err := p.run()
	if err != nil || !out.Active || out.Writes == 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	p.want("2", "1", "1")
	if s := out.Statuses[0]; s.Wave != "canary" || s.Target != commit {
		t.Errorf("%+v", s)
	}
	p.until(rollout.Complete)
	p.want("2", "2", "2")
	canary := rollout.Branch("dev", "large", "canary")
	if message := p.forge.Message(repo, canary); !strings.Contains(message, "\nEnvironment-Commit: "+commit+"\n") {
		t.Errorf("message %q", message)
	}
	if log := p.forge.Log(repo, canary); len(log) != 3 { // on top of the environment's first
		t.Errorf("log %q", log)
	}
	p.forge.Calls()
	if p.until(rollout.Complete); len(p.forge.Writes()) > 0 {
		t.Error("a rollout that is complete makes commits")
	}
	p.forge.Push(repo, "dev", map[string]string{"small/app/x.yaml": "b\n"})
	if out, err := p.run(); err != nil || out.Statuses[0].Phase != rollout.Complete || out.Statuses[0].Good != p.forge.Branch(repo, "dev") {
		t.Errorf("a change of another type: %+v, %v", out, err)
	}
}

// TestGate sees the clusters of all waves as those of the environment's branch.
func TestGate(t *testing.T) {
	p := newPlatform(t)
	p.until(rollout.Complete)
	commit := p.push("2")
	if _, err := p.run(); err != nil {
		t.Fatal(err)
	}
	gate := driver.NewObserver(p.forge, observed{p})
	judge := func() fleet.Verdict {
		all, err := gate.Observe(t.Context(), fleet.Source{Repo: forgefake.URL(repo), Branch: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		return fleet.Judge(all, commit)
	}
	// the cluster of another type has failed, with no commit that it says
	if v := judge(); v.Decision != fleet.Waiting || v.All != 4 || v.Reached != 1 {
		t.Errorf("%+v", v)
	}
	p.until(rollout.Complete)
	if v := judge(); v.All != 4 || v.Reached != 3 {
		t.Errorf("%+v", v)
	}
}

// observed asks a platform about one branch.
type observed struct{ *platform }

func (o observed) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	return fleet.Observe(ctx, o.platform, s)
}

// TestBroken stops in the first wave that fails, and goes back.
func TestBroken(t *testing.T) {
	p := newPlatform(t)
	p.until(rollout.Complete)
	p.broken = func(cluster, version string) bool { return cluster == "b" && strings.Contains(version, "2") }
	p.push("2")
	if s := p.until(rollout.Stopped); s.Wave != "second" || s.Waves[1].Failed != 1 || s.Waves[1].Clusters[0].Name != "b" {
		t.Errorf("%+v", s)
	}
	p.want("2", "2", "1")
	if _, err := p.driver().Give(t.Context(), rollout.Abort, environment(), environment().Rollouts[0], rollout.Order{By: "ann", At: p.now}); err != nil {
		t.Fatal(err)
	}
	p.want("1", "1", "1") // without a scheduler
	p.until(rollout.Aborted)
	p.push("3")
	p.until(rollout.Complete)
	p.want("3", "3", "3")
}

// TestUserPushes restores what a user has pushed to a wave's branch.
func TestUserPushes(t *testing.T) {
	p := newPlatform(t)
	p.until(rollout.Complete)
	p.forge.Push(repo, rollout.Branch("dev", "large", "all"), map[string]string{"large/app/x.yaml": "version: mine\n"})
	p.until(rollout.Complete)
	p.want("1", "1", "1")
}

// TestFaults lets every call fail once, before and after its effect, and goes on in a new
// process each time.
func TestFaults(t *testing.T) {
	for n := 1; ; n++ {
		hit := false
		for _, late := range []bool{false, true} {
			p := newPlatform(t)
			p.until(rollout.Complete)
			p.push("2")
			p.broken = func(cluster, version string) bool { return cluster == "c" && strings.Contains(version, "2") }
			p.forge.FailAt(n, late)
			for range 12 {
				_, err := p.run()
				if err != nil && !errors.Is(err, forgefake.ErrInjected) {
					t.Fatal(err)
				}
				hit = hit || err != nil
				p.now = p.now.Add(10 * time.Second)
			}
			p.forge.Calls()
			if s := p.until(rollout.Stopped); s.Wave != "all" {
				t.Errorf("call %d: %+v", n, s)
			}
			for _, wave := range members {
				if log := p.forge.Log(repo, rollout.Branch("dev", "large", wave)); len(log) != 3 {
					t.Errorf("call %d, late %t: wave %s: %q", n, late, wave, log)
				}
			}
			p.forge.FailAt(n, late)
			d := p.driver()
			_, err := d.Give(t.Context(), rollout.Abort, environment(), environment().Rollouts[0], rollout.Order{})
			p.forge.Calls()
			if err != nil {
				if !errors.Is(err, forgefake.ErrInjected) {
					t.Fatal(err)
				}
				hit = true
				_, _ = d.Give(t.Context(), rollout.Abort, environment(), environment().Rollouts[0], rollout.Order{}) // refused where it was done
			}
			p.until(rollout.Aborted)
			p.want("1", "1", "1")
		}
		if !hit {
			return
		}
	}
}

// TestMoved lets another scheduler write just before each commit: nothing of it is lost.
func TestMoved(t *testing.T) {
	p := newPlatform(t)
	p.until(rollout.Complete)
	p.push("2")
	var inner bool
	p.forge.OnCall(func(c forgefake.Call) {
		if c.Method == "Commit" && !inner {
			inner = true
			_, _ = p.run()
			inner = false
		}
	})
	for range 30 {
		if _, err := p.run(); err != nil && !errors.Is(err, forge.ErrMoved) {
			t.Fatal(err)
		}
		p.now = p.now.Add(10 * time.Second)
	}
	p.forge.OnCall(nil)
	p.until(rollout.Complete)
	p.want("2", "2", "2")
}

// TestReadErrors decides nothing by half of what there is.
func TestReadErrors(t *testing.T) {
	p := newPlatform(t)
	p.until(rollout.Complete)
	p.push("2")
	p.asked = errors.New("the fleet is down")
	out, err := p.run()
	if err != nil || out.Statuses[0].Phase != rollout.Progressing || !strings.Contains(fmt.Sprint(out.Statuses[0].Notes), "the fleet is down") {
		t.Errorf("%+v, %v", out, err)
	}
	p.now = p.now.Add(time.Hour)
	p.until(rollout.Progressing)
	p.want("1", "1", "1")
	state := rollout.StateBranch("dev", "large")
	p.forge.Push(repo, state, map[string]string{rollout.StateFile: "target: [\n"})
	p.forge.Calls()
	if _, err := p.run(); err == nil || !strings.Contains(err.Error(), state) || len(p.forge.Writes()) > 0 {
		t.Errorf("a state that cannot be read: %v", err)
	}
}

// TestReadOnly says what is due and does none of it.
func TestReadOnly(t *testing.T) {
	p := newPlatform(t)
	p.until(rollout.Complete)
	p.push("2")
	p.forge.Calls()
	d := driver.New(driver.Options{Forge: p.forge, Fleet: p, Now: func() time.Time { return p.now }, ReadOnly: true})
	out, err := d.Run(t.Context(), environment())
	if err != nil || len(p.forge.Writes()) > 0 || out.Statuses[0].Phase != rollout.Progressing {
		t.Errorf("%+v, %v", out, err)
	}
}
