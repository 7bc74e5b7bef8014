package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// PlacementDocument is a placement as get prints it as JSON, which scripts rely on: fields
// are added, not changed.
type PlacementDocument struct {
	placement.Placement
}

// DriftDocument is what get prints as JSON of placements of an environment in one state whose
// reasons differ by numbers and hashes only. Scripts rely on it as on PlacementDocument.
type DriftDocument struct {
	Environment string          `json:"environment"`
	State       placement.State `json:"state"`
	Cause       string          `json:"cause"`   // # for numbers and hashes
	Example     string          `json:"example"` // one of the reasons
	Placements  int             `json:"placements"`
	Since       time.Time       `json:"since,omitzero"` // of the one that began first
	Clusters    []string        `json:"clusters"`
	Targets     []string        `json:"targets"`
}

// ClusterRows are the rows of a kind that lists what is on clusters, of one environment, the
// worst first.
func (k *Kind) ClusterRows(ctx context.Context, w *source.Platform, env *model.Environment, snapshot fleet.Snapshot) ([]Row, error) {
	branch, err := w.GitOps(ctx, env)
	if err != nil {
		return nil, err
	}
	want := placement.Environment{Name: env.Name, GitOps: env.GitOps}
	if branch != nil {
		want.Files = branch.Files
	}
	all, err := placement.Of(ctx, want, snapshot, placement.Platform{Repositories: w, Environment: env.Name})
	if err != nil {
		return nil, err
	}
	return k.ofPlacements(all, snapshot.At), nil
}

func placementRows(all []placement.Placement, now time.Time) []Row {
	var rows []Row
	for _, p := range all {
		rows = append(rows, placementRow(p, now))
	}
	return rows
}

// driftRows groups what is not as git wants it by its cause. What is rolling is on its way, and
// no drift.
func driftRows(all []placement.Placement, now time.Time) []Row {
	type key struct {
		state placement.State
		cause string
	}
	groups := map[key]*DriftDocument{}
	for _, p := range all {
		if p.State == placement.OK || p.State == placement.Rolling {
			continue
		}
		k := key{p.State, placement.Cause(p.Reason)}
		g := groups[k]
		if g == nil {
			g = &DriftDocument{Environment: p.Environment, State: p.State, Cause: k.cause, Example: p.Reason, Since: p.Since}
			groups[k] = g
		}
		g.Placements++
		if !p.Since.IsZero() && (g.Since.IsZero() || p.Since.Before(g.Since)) {
			g.Since = p.Since
		}
		g.Clusters = append(g.Clusters, p.Cluster)
		g.Targets = append(g.Targets, cmp.Or(p.Target, "-"))
	}
	states := placement.States()
	keys := slices.SortedFunc(maps.Keys(groups), func(a, b key) int {
		return cmp.Or(cmp.Compare(slices.Index(states, a.state), slices.Index(states, b.state)), cmp.Compare(a.cause, b.cause))
	})
	var rows []Row
	for _, k := range keys {
		g := groups[k]
		for _, names := range []*[]string{&g.Clusters, &g.Targets} {
			slices.Sort(*names)
			*names = slices.Compact(*names)
		}
		rows = append(rows, Row{
			Environment: g.Environment, Name: string(g.State), Document: *g, Wide: []string{strings.Join(g.Clusters, ","), strings.Join(g.Targets, ",")},
			Cells: []string{
				string(g.State), age(g.Since, now), fmt.Sprint(len(g.Clusters)), fmt.Sprint(g.Placements), cmp.Or(strings.Join(strings.Fields(g.Example), " "), "-"),
			},
		})
	}
	return rows
}

func placementRow(p placement.Placement, now time.Time) Row {
	return Row{
		Environment: p.Environment, Name: p.Cluster + "/" + cmp.Or(p.Target, "-"), Labels: p.Labels, Document: PlacementDocument{p},
		Cells: []string{
			p.Cluster, cmp.Or(p.ClusterType, "-"), cmp.Or(p.Target, "-"), revisionText(p.Desired), revisionText(p.Actual),
			string(p.State), age(p.Since, now), cmp.Or(strings.Join(strings.Fields(p.Reason), " "), "-"),
		},
	}
}

// revisionText is the version where there is one, and the commit.
func revisionText(r placement.Revision) string {
	commit := r.Commit[:min(len(r.Commit), 8)]
	if r.Version != "" && commit != "" {
		return r.Version + " (" + commit + ")"
	}
	return cmp.Or(r.Version, commit, "-")
}

// age is how long ago something was, as kubectl writes it.
func age(since, now time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(0, now.Sub(since)))
}
