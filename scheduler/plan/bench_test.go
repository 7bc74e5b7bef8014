package plan_test

import (
	"fmt"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// BenchmarkNew plans 50 cluster types times 20 deployment targets.
func BenchmarkNew(b *testing.B) {
	world, err := workshopWorld()
	if err != nil {
		b.Fatal(err)
	}
	world.Write("kalypso-control-plane", "main", registrationFile, []byte(registration))
	ref := model.Reference{Repo: modeltest.Forge + "kalypso-control-plane", Branch: "dev"}
	env, err := model.LoadEnvironment(b.Context(), world, "dev", ref)
	if err != nil {
		b.Fatal(err)
	}
	clusterType, workload := env.ClusterTypes[0], env.Workloads[0]
	env.ClusterTypes, env.Workloads = nil, nil
	for i := range 50 {
		clusterType.Name = fmt.Sprintf("type-%02d", i)
		env.ClusterTypes = append(env.ClusterTypes, clusterType)
	}
	for i := range 20 {
		workload.Name = fmt.Sprintf("workload-%02d", i)
		env.Workloads = append(env.Workloads, workload)
	}
	b.ResetTimer()
	for range b.N {
		if p := plan.New(env, nil); len(p.Assignments) != 1000 || len(p.Problems) > 0 {
			b.Fatalf("%d assignments, problems %v", len(p.Assignments), p.Problems)
		}
	}
}
