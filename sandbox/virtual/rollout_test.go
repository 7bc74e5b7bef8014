package virtual

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"github.com/kalypso-dev/kalypso/workshop"
)

const rolloutRepo = "kalypso/gitops"

// forgeGit is a forge as virtual clusters read it.
type forgeGit struct{ *forgefake.Forge }

func (g forgeGit) Head(ctx context.Context, url, branch string) (string, error) {
	return g.Forge.Head(ctx, model.Reference{Repo: url, Branch: branch})
}

func (g forgeGit) Tree(ctx context.Context, url, branch, commit string) (*model.Tree, error) {
	return g.Read(ctx, model.Reference{Repo: url, Branch: branch, Commit: commit})
}

// breaking is a fleet on one in five of whose clusters the release 2 fails.
type breaking struct {
	*Fleet
	forge    *forgefake.Forge
	releases map[string]string // by commit
}

func (b breaking) broken(cluster, commit string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(cluster)) // never fails
	return commit != "" && h.Sum32()%5 == 0 && b.release(commit) == "2"
}

// release is the one that a commit holds.
func (b breaking) release(commit string) string {
	if known, ok := b.releases[commit]; ok {
		return known
	}
	tree, err := b.forge.Read(context.Background(), model.Reference{Repo: forgefake.URL(rolloutRepo), Commit: commit})
	if err != nil {
		panic(err)
	}
	_, after, _ := strings.Cut(string(tree.Files["large/app.yaml"]), "release-")
	b.releases[commit] = strings.TrimSpace(strings.Trim(after, "}\n"))
	return b.releases[commit]
}

func (b breaking) Inventory(ctx context.Context) (fleet.Snapshot, error) {
	s, err := b.Fleet.Inventory(ctx)
	for i := range s.Clusters {
		for j := range s.Clusters[i].Subscriptions {
			if one := &s.Clusters[i].Subscriptions[j]; b.broken(s.Clusters[i].Name, one.Commit) {
				one.State, one.Reason = fleet.NonCompliant, "the release does not start"
			}
		}
	}
	return s, err
}

// on counts the clusters that have a release, and those on which it fails.
func (b breaking) on(release string) (has, failing int) {
	s, _ := b.Inventory(context.Background()) // has no error
	for _, c := range s.Clusters {
		if one := c.Subscriptions[0]; one.Applied != "" && b.release(one.Applied) == release {
			has++
			if one.State == fleet.NonCompliant {
				failing++
			}
		}
	}
	return has, failing
}

// TestRolloutOnAThousand rolls a release out to a thousand clusters that fails on one in
// five. The scheduler is killed all the time, before and after calls of the forge.
func TestRolloutOnAThousand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forge := forgefake.New()
		push := func(release string) {
			forge.Push(rolloutRepo, "dev", map[string]string{"large/app.yaml": configMap("release-" + release)})
		}
		push("1")
		r := model.Rollout{Metadata: v1alpha1.Metadata{Name: "large"}}
		r.Spec = v1alpha1.RolloutSpec{ClusterType: "large", MaxFailures: v1alpha1.Amount{Number: 5, Percent: true, Given: true}, Waves: []v1alpha1.RolloutWave{
			{Name: "canary", Clusters: v1alpha1.Amount{Number: 1, Given: true}, Soak: v1alpha1.Duration(10 * time.Minute)},
			{Name: "tenth", Clusters: v1alpha1.Amount{Number: 10, Percent: true, Given: true}, Soak: v1alpha1.Duration(time.Hour)}, {Name: "all"},
		}}
		env := driver.Environment{Name: "dev", GitOps: model.Reference{Repo: forgefake.URL(rolloutRepo), Branch: "dev"}, Types: []string{"large"}, Rollouts: []model.Rollout{r}}

		clusters := stores(t, "store-{0001..1000}", workshop.Flux, workshop.Virtual{Seed: 1, Delay: 2 * time.Minute})
		var members []rollout.Cluster
		for _, c := range clusters {
			members = append(members, rollout.Cluster{Name: c.Name})
		}
		waves := rollout.Assign(r.Spec, members).Waves
		size := map[string]int{}
		for i := range clusters {
			wave := waves[clusters[i].Name]
			size[wave]++
			clusters[i].Follows = []workshop.Subscription{{Name: "dev", Repository: "gitops", Branch: rollout.Branch("dev", "large", wave), Path: "large"}}
		}
		if size["canary"] != 1 || size["tenth"] != 100 {
			t.Fatal(size)
		}
		f := New(Options{Git: forgeGit{forge}, Forge: "http://forge.test", Organisation: "http://forge.test/kalypso", Interval: 10 * time.Second})
		f.Set(clusters)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- f.Run(ctx) }()
		defer func() { cancel(); <-ended }()

		all := breaking{f, forge, map[string]string{}}
		random := rand.New(rand.NewPCG(1, 2))
		kills, most := 0, 0
		until := func(phase rollout.Phase) rollout.Status {
			t.Helper()
			var last rollout.Status
			for began := time.Now(); time.Since(began) < 12*time.Hour; {
				forge.FailOn(func(c forgefake.Call) bool { return strings.HasPrefix(c.Detail, rollout.BranchPrefix) }, 1+random.IntN(12), []forgefake.When{forgefake.Before, forgefake.After}[random.IntN(2)])
				out, err := driver.New(driver.Options{Forge: forge, Fleet: all, Clock: fmt.Sprint(random.IntN(2))}).Run(ctx, env)
				forge.Calls()
				switch {
				case errors.Is(err, forgefake.ErrInjected):
					kills++
				case err != nil:
					t.Fatal(err)
				default:
					if last = out.Statuses[0]; last.Phase == phase {
						return last
					}
				}
				time.Sleep(15 * time.Second)
				_, failing := all.on("2")
				most = max(most, failing)
			}
			t.Fatalf("the rollout is %s (%s) after half a day, not %s", last.Phase, last.Reason, phase)
			return last
		}
		until(rollout.Complete)
		time.Sleep(5 * time.Minute) // of virtual time: all have it
		if has, _ := all.on("1"); has != 1000 {
			t.Fatalf("%d clusters have release 1", has)
		}
		push("2")
		stopped := until(rollout.Stopped)
		exposed, failing := all.on("2")
		limit := size["canary"]
		if stopped.Wave == "tenth" {
			limit += size["tenth"]
		}
		if stopped.Wave == "all" || exposed > limit || failing == 0 || most > limit {
			t.Fatalf("stopped in wave %s, with %d clusters on release 2, failing on %d, at most %d", stopped.Wave, exposed, failing, most)
		}
		if _, err := driver.New(driver.Options{Forge: forge}).Give(ctx, rollout.Abort, env, r, rollout.Order{By: "ann", At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for has := 0; has < 1000; has, _ = all.on("1") {
			if time.Since(began) > time.Hour {
				t.Fatalf("%d of 1000 clusters are back on release 1", has)
			}
			time.Sleep(5 * time.Second)
		}
		push("3")
		until(rollout.Complete)
		time.Sleep(5 * time.Minute)
		if has, _ := all.on("3"); has != 1000 || kills < 10 {
			t.Errorf("%d clusters have release 3, after %d kills", has, kills)
		}
		t.Logf("stopped in wave %s: %d of 1000 clusters had the release, it failed on %d; %d kills", stopped.Wave, exposed, failing, kills)
	})
}
