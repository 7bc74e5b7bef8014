package plan_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// million is a fleet with 1,000,000 assignments, of which each policy makes a
// hundredth.
var million = struct{ clusterTypes, targets, policies int }{10_000, 10_000, 100}

// BenchmarkMillion plans 1,000,000 assignments: whole, on an empty branch, and after
// one label has changed, with the reading of the model, on a branch that is as it
// should be.
func BenchmarkMillion(b *testing.B) {
	assignments := million.clusterTypes * million.targets / million.policies
	repos := fleet(million.clusterTypes, million.targets, million.policies)
	var loader model.Loader
	env, err := loader.Load(b.Context(), repos, "dev", fleetBranch)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			b.StopTimer()
			runtime.GC()
			resetPeak(b)
			b.StartTimer()
			expected(b, newPlan(b, env, nil), assignments, 3*assignments+million.clusterTypes)
		}
		b.StopTimer()
		if peak := peakMemory(b); peak > 0 {
			b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
		}
	})
	var planner plan.Planner
	branch := &model.Tree{Commit: "merged", Files: planWith(b, &planner, env, nil).Files()}
	planWith(b, &planner, env, branch)
	for _, c := range []struct{ name, repo, branch, file, old, new string }{
		{"clusterTypeLabel", "control", "dev", "types/0000.yaml", "region: region-0", "region: region-1"},
		{"targetLabel", "app-00003", "main", "workload/workload.yaml", "type: application", "type: service"},
	} {
		b.Run(c.name, func(b *testing.B) {
			old := string(repos.Tree(c.repo, c.branch).Files[c.file])
			b.ReportAllocs()
			for i := range b.N {
				b.StopTimer()
				text := old
				if i%2 == 0 {
					text = strings.Replace(old, c.old, c.new, 1)
				}
				repos.Write(c.repo, c.branch, c.file, []byte(text))
				runtime.GC() // of what the test makes
				b.StartTimer()
				env, err := loader.Load(b.Context(), repos, "dev", fleetBranch)
				if err != nil {
					b.Fatal(err)
				}
				p := planWith(b, &planner, env, branch)
				b.StopTimer()
				if changed := i%2 == 0 && c.name == "clusterTypeLabel"; len(p.Assignments) != assignments || changed != (len(p.Changes) > 0) {
					b.Fatalf("%d assignments, %d changes", len(p.Assignments), len(p.Changes))
				}
				b.StartTimer()
			}
			b.StopTimer()
			repos.Write(c.repo, c.branch, c.file, []byte(old))
			if env, err = loader.Load(b.Context(), repos, "dev", fleetBranch); err != nil {
				b.Fatal(err)
			}
			planWith(b, &planner, env, branch)
		})
	}
}
