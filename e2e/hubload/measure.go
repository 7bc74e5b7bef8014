package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// readers is how many ask at a time.
const readers = 2

// query is one of the questions of pages.
type query struct {
	name string
	ask  func(context.Context) error
}

func queries(s *store.Store, f *fleet) []query {
	const prod = "prod"
	last := f.clusters[len(f.clusters)-1].Name
	target := f.all[prod][len(f.all[prod])-1].Target
	all := store.Scope{}
	team := store.Scope{Workspaces: []string{"team-01"}, Environments: []string{prod}}
	placements := func(scope store.Scope, filter store.PlacementFilter, sort string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.Placements(ctx, scope, filter, store.Page{Sort: sort})
			return err
		}
	}
	matrix := func(scope store.Scope, q store.MatrixQuery) func(context.Context) error {
		return func(ctx context.Context) error {
			q.Environment, q.Cols, q.Limit = prod, "targets", 50
			_, err := s.Matrix(ctx, scope, q)
			return err
		}
	}
	in := store.PlacementFilter{Environments: []string{prod}}
	narrow, nothing, cluster := in, in, in
	narrow.Labels, narrow.Text, narrow.States = "region in (region-1,region-2),edge=true", "target-07", []placement.State{placement.Failing, placement.Late}
	nothing.Text = "there is nothing like it"
	cluster.Clusters = []string{last}
	return []query{
		{"matrix of types", matrix(all, store.MatrixQuery{Rows: "types"})},
		{"matrix of types, one team", matrix(team, store.MatrixQuery{Rows: "types"})},
		{"matrix of types, by label", matrix(all, store.MatrixQuery{Rows: "types", PlacementFilter: store.PlacementFilter{Labels: "region=region-1"}})},
		{"matrix of 50 clusters", matrix(all, store.MatrixQuery{Rows: "clusters"})},
		{"matrix of what fails", matrix(all, store.MatrixQuery{Rows: "clusters", PlacementFilter: store.PlacementFilter{States: []placement.State{placement.Failing}}})},
		{"placements, the worst", placements(all, store.PlacementFilter{}, "")},
		{"placements of prod, by cluster", placements(all, in, "cluster")},
		{"placements of prod, by target", placements(all, in, "target")},
		{"placements of prod, the newest", placements(all, in, "-since")},
		{"placements of one team", placements(team, store.PlacementFilter{}, "")},
		{"placements of a cluster", placements(all, cluster, "")},
		{"placements, filtered", placements(all, narrow, "")},
		{"placements, none found", placements(all, nothing, "")},
		{"clusters", func(ctx context.Context) error {
			_, err := s.Clusters(ctx, all, store.ClusterFilter{}, store.Page{})
			return err
		}},
		{"clusters, where something fails", func(ctx context.Context) error {
			_, err := s.Clusters(ctx, all, store.ClusterFilter{States: []placement.State{placement.Failing}}, store.Page{})
			return err
		}},
		{"environments", func(ctx context.Context) error {
			_, err := s.Environments(ctx, all)
			return err
		}},
		{"workloads", func(ctx context.Context) error {
			_, err := s.Workloads(ctx, all)
			return err
		}},
		{"drift", func(ctx context.Context) error {
			_, err := s.Drift(ctx, all, store.PlacementFilter{}, store.Page{})
			return err
		}},
		{"history of a placement", func(ctx context.Context) error {
			_, err := s.PlacementEvents(ctx, all, prod, last, target, store.Page{})
			return err
		}},
	}
}

// measure asks all queries in turn for a while, and prints how long each took.
func measure(ctx context.Context, all []query, limit time.Duration) error {
	took := make([][]time.Duration, len(all))
	var mu sync.Mutex
	var failed error
	deadline := time.Now().Add(limit)
	var wait sync.WaitGroup
	for reader := range readers {
		wait.Go(func() {
			for i := reader; time.Now().Before(deadline); i++ {
				n := i % len(all)
				began := time.Now()
				err := all[n].ask(ctx)
				mu.Lock()
				took[n] = append(took[n], time.Since(began))
				if err != nil {
					failed = fmt.Errorf("%s: %w", all[n].name, err)
				}
				stop := failed != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	wait.Wait()
	if failed != nil {
		return failed
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "query\ttimes\tp50\tp95\tp99\t")
	var every []time.Duration
	for i, q := range all {
		every = append(every, took[i]...)
		row(table, q.name, took[i])
	}
	row(table, "all", every)
	return table.Flush()
}

func row(table *tabwriter.Writer, name string, took []time.Duration) {
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	at := func(percent int) time.Duration {
		return took[min(len(took)*percent/100, len(took)-1)].Round(100 * time.Microsecond)
	}
	fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t\n", name, len(took), at(50), at(95), at(99))
}

// memory is the most that the process has had, as Linux says.
func memory() string {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "not known"
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if size, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(size)
		}
	}
	return "not known"
}
