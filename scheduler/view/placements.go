package view

import (
	"cmp"
	"context"
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

// Placements are the rows of an environment on a fleet's clusters, the worst first.
func Placements(ctx context.Context, w *source.Platform, env *model.Environment, snapshot fleet.Snapshot) ([]Row, error) {
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
	var rows []Row
	for _, p := range all {
		rows = append(rows, placementRow(p, snapshot.At))
	}
	return rows, nil
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
