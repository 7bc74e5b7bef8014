package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/history"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

type fleetSize struct{ clusters, types, targets int }

// fleet is a fleet in memory. Its first clusters are of dev, the next of stage, most of prod.
type fleet struct {
	size     fleetSize
	at       time.Time
	random   *rand.Rand
	clusters []store.Cluster
	all      map[string][]store.Placement // by environment
	// placements are the same, by cluster and target.
	placements [][]*store.Placement
	changed    int // transitions so far
}

const (
	targetsOfWorkload = 4
	workloadsOfTeam   = 3
	// of 100 clusters the first are of dev, the next of stage
	devShare, stageShare = 2, 10
	gitOps, application  = "https://git.example.com/acme/gitops", "https://git.example.com/acme/app-gitops"
	// wrongOf is that one of so many transitions ends in another state than ok.
	wrongOf = 20
	// commitsEach is how many commits a GitOps branch has, keysEach how many keys of configuration
	// an assignment, and one of so many targets differs between environments.
	commitsEach, keysEach, differsOf = 50, 5, 10
	// step is how long the fleet's time goes on with each round.
	step = 10 * time.Second
)

// start is when the fleet's time begins, which is the same for all processes that make it.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	environments = []string{"dev", "stage", "prod"}
	reasons      = []string{"image pull back-off", "crash loop back-off", "pending"}
)

func newFleet(size fleetSize) *fleet {
	f := &fleet{size: size, at: start, random: rand.New(rand.NewPCG(1, 2)), all: map[string][]store.Placement{}}
	for i := range size.clusters {
		c := store.Cluster{
			Name: fmt.Sprintf("cluster-%04d", i), Source: "kubernetes", Reconciler: "flux",
			Labels: map[string]string{"region": fmt.Sprintf("region-%d", i%10), "edge": fmt.Sprint(i%3 == 0)},
		}
		f.clusters = append(f.clusters, c)
		environment := environments[2]
		switch share := i * 100 / size.clusters; {
		case share < devShare:
			environment = environments[0]
		case share < stageShare:
			environment = environments[1]
		}
		for n := range size.targets {
			f.all[environment] = append(f.all[environment], f.placement(environment, c, i%size.types, n))
		}
	}
	for _, name := range environments {
		for of := range slices.Chunk(f.all[name], size.targets) {
			on := make([]*store.Placement, size.targets)
			for n := range of {
				on[n] = &of[n]
			}
			f.placements = append(f.placements, on)
		}
	}
	return f
}

func (f *fleet) placement(environment string, c store.Cluster, clusterType, target int) store.Placement {
	workload := target / targetsOfWorkload
	at := placement.Revision{Repo: application, Branch: environment, Commit: f.commit(workload), Version: "1.0.0"}
	return store.Placement{
		Placement: placement.Placement{
			Cluster: c.Name, Environment: environment, ClusterType: fmt.Sprintf("type-%02d", clusterType), Target: fmt.Sprintf("app-%02d-target-%03d", workload, target),
			Desired: at, Actual: at, State: placement.OK, Since: f.at, AsOf: f.at, Labels: c.Labels,
		},
		Workload: fmt.Sprintf("app-%02d", workload), Workspace: fmt.Sprintf("team-%02d", workload/workloadsOfTeam), Policies: []string{"default-policy"},
	}
}

func (f *fleet) commit(n int) string { return fmt.Sprintf("%040x", (n+1)*0x9e3779b9) }

func (s fleetSize) placements() int { return s.clusters * s.targets }

// change makes transitions: one target after the other gets its next version, on one cluster
// after the other.
func (f *fleet) change(n int) {
	f.at = f.at.Add(step)
	for range n {
		p := f.placements[f.changed%f.size.clusters][f.changed/f.size.clusters%f.size.targets]
		minor := f.changed/len(f.placements)/f.size.targets + 1
		f.changed++
		p.Desired.Version, p.Desired.Commit = version(minor), f.commit(minor<<16)
		p.Actual, p.Since, p.Reason, p.State = p.Desired, f.at, "", placement.OK
		if f.random.IntN(wrongOf) == 0 {
			states := placement.States()
			p.State = states[f.random.IntN(len(states)-1)]
			p.Reason = fmt.Sprintf("Deployment app/%s is not ready: %d of 3 pods, %s", p.Target, f.random.IntN(3), reasons[f.random.IntN(len(reasons))])
		}
	}
}

func version(minor int) string { return fmt.Sprintf("1.%d.0", minor) }

// round is the whole fleet as it is now.
func (f *fleet) round() store.Round {
	for i := range f.clusters {
		f.clusters[i].LastSeen = f.at
	}
	r := store.Round{At: f.at, Clusters: f.clusters, Placements: f.all}
	for i, name := range environments {
		r.Environments = append(r.Environments, store.Environment{
			Name: name, ControlPlane: "https://git.example.com/acme/control-plane", ControlPlaneBranch: name, Commit: f.commit(1),
			GitOpsRepo: gitOps, GitOpsBranch: name, GitOpsCommit: f.commit(2), Position: i, Plan: "synced",
		})
	}
	return r
}

// desired is what the GitOps branch of an environment asks for: each target on each cluster type,
// the newest of many commits.
func (f *fleet) desired(environment string) store.HistoryPart {
	part := store.HistoryPart{Repo: gitOps, Branch: environment, Roots: map[string]int{"": commitsEach}, Read: f.at}
	for n := range commitsEach {
		part.Commits = append(part.Commits, store.Commit{SHA: f.commit(n<<20 + len(environment)), Committed: f.at.Add(time.Duration(n-commitsEach) * time.Hour)})
	}
	for clusterType := range f.size.types {
		for target := range f.size.targets {
			workload := target / targetsOfWorkload
			part.Desired = append(part.Desired, store.DesiredAssignment{
				ClusterType: fmt.Sprintf("type-%02d", clusterType), Target: fmt.Sprintf("app-%02d-target-%03d", workload, target), From: 1 + target%commitsEach,
				Repo: application, Branch: environment, Path: fmt.Sprintf("target-%03d", target),
			})
		}
	}
	return part
}

// releases are the versions on the branch of the applications for an environment; one of some
// targets has another than elsewhere.
func (f *fleet) releases(environment string) store.HistoryPart {
	part := store.HistoryPart{Repo: application, Branch: environment, Read: f.at, Commits: []store.Commit{{SHA: f.commit(len(environment) << 24), Committed: f.at.Add(-time.Hour)}}}
	for target := range f.size.targets {
		v := store.TargetVersion{Environment: environment, Target: fmt.Sprintf("app-%02d-target-%03d", target/targetsOfWorkload, target), From: 1, Version: version(0)}
		if environment == environments[1] && target%differsOf == 0 {
			v.Version = version(1)
		}
		part.Versions = append(part.Versions, v)
	}
	return part
}

// configured is a model whose every assignment has some platform configuration. As a collector
// it makes that once.
type configured struct {
	api.Model     // of which nothing else is asked
	byEnvironment map[string]history.Configuration
}

func newConfigured(size fleetSize) configured {
	c := configured{byEnvironment: map[string]history.Configuration{}}
	for _, environment := range environments {
		var found history.Configuration
		for clusterType := range size.types {
			for target := range size.targets {
				for key := range keysEach {
					v := history.ConfigValue{
						ClusterType: fmt.Sprintf("type-%02d", clusterType), Target: fmt.Sprintf("app-%02d-target-%03d", target/targetsOfWorkload, target),
						Key: fmt.Sprintf("KEY_%d", key), Value: "value", ConfigMap: "settings", Position: model.Position{File: "settings.yaml", Line: key + 1},
					}
					if target%differsOf == 0 && key == 0 {
						v.Value = environment
					}
					found.Values = append(found.Values, v)
				}
			}
		}
		c.byEnvironment[environment] = found
	}
	return c
}

// Configuration implements api.Model.
func (c configured) Configuration(_ context.Context, environment, _ string) (history.Configuration, error) {
	return c.byEnvironment[environment], nil
}

// merged is a change of prod that all of its clusters have.
func (f *fleet) merged(number int) store.Change {
	at := f.at.Add(time.Duration(number-changes) * time.Hour)
	c := store.Change{
		Environment: environments[2], Repo: gitOps, Branch: environments[2], Kind: "platform", PullRequest: number, SHA: f.commit(number << 8), Head: f.commit(number<<8 + 1),
		Title: fmt.Sprintf("Change %d", number), Author: "scheduler", Size: &store.Size{Added: 1},
		Stages: store.Stages{Pushed: at, Planned: at.Add(step), Opened: at.Add(2 * step), Merged: at.Add(3 * step)},
	}
	for _, on := range f.placements {
		if p := on[0]; p.Environment == c.Environment {
			c.Clusters = append(c.Clusters, store.ChangeCluster{
				Cluster: p.Cluster, ClusterType: p.ClusterType, Subscription: "flux-system/prod", State: store.ClusterApplied, Since: at.Add(4 * step),
			})
		}
	}
	return c
}
