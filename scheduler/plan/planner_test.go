package plan

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
)

// twoApps is an environment with two workloads on two cluster types.
func twoApps() *modeltest.Repositories {
	const head = "apiVersion: scheduler.kalypso.io/v1alpha1\n"
	repos := modeltest.Parse("")
	object := func(branch, file, text string) { repos.Write("control", branch, file, []byte(head+text)) }
	object("dev", "base.yaml", "kind: BaseRepo\nmetadata: {name: main}\nspec: {repo: "+modeltest.Forge+"control, branch: main}\n")
	object("dev", "gitops.yaml", "kind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: "+modeltest.Forge+"gitops, branch: dev}\n")
	object("dev", "policy.yaml", "kind: SchedulingPolicy\nmetadata: {name: all}\n")
	for _, name := range []string{"east", "west"} {
		object("dev", name+".yaml", "kind: ClusterType\nmetadata: {name: "+name+", labels: {region: "+name+"}}\nspec: {reconciler: flux, namespaceService: default}\n")
	}
	for name, kind := range map[string]string{"default": "namespace", "configmap": "config", "flux": "reconciler"} {
		object("main", name+".yaml", "kind: Template\nmetadata: {name: "+name+"}\nspec:\n  type: "+kind+"\n  manifests: ['{{ .DeploymentTargetName }}: {{ toJson .ConfigData }}']\n")
	}
	for _, name := range []string{"shop", "stock"} {
		object("main", name+".yaml", "kind: WorkloadRegistration\nmetadata: {name: "+name+"}\nspec: {workspace: team, workload: {repo: "+modeltest.Forge+name+", branch: main}}\n")
		repos.Write(name, "main", "workload.yaml", []byte(head+"kind: Workload\nmetadata: {name: "+name+"}\nspec:\n  deploymentTargets:\n    - {name: test, environment: dev}\n"))
	}
	return repos
}

func configText(name, label, value string) []byte {
	return fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {platform-config: 'true', %s}}\ndata: {K: %s}\n", name, label, value)
}

// samePlan compares two plans whole.
func samePlan(t *testing.T, name string, want, got *Plan) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Plan{})); diff != "" {
		t.Errorf("%s: the memory makes a difference (-without +with):\n%s", name, diff)
	}
	if diff := cmp.Diff(want.Files(), got.Files()); diff != "" {
		t.Errorf("%s: the memory makes a difference to files (-without +with):\n%s", name, diff)
	}
}

// TestPlanner changes one thing after the other. Each time only what it touches
// is worked out again, and the plan is the one of somebody without a memory,
// although planning was stopped before at every place where it can be.
func TestPlanner(t *testing.T) {
	repos := twoApps()
	edit := func(repo, branch, file, content string) func() {
		return func() {
			old := repos.Tree(repo, branch).Files[file]
			repos.Write(repo, branch, file, []byte(content+string(old)))
		}
	}
	steps := []struct {
		name     string
		do       func()
		computed int
	}{
		{"the first plan", func() {}, 4},
		{"nothing", func() {}, 0},
		{"configuration for one region", func() { repos.Write("control", "dev", "c.yaml", configText("c", "region: east", "a")) }, 2},
		{"its value", func() { repos.Write("control", "dev", "c.yaml", configText("c", "region: east", "b")) }, 2},
		{"its region", func() { repos.Write("control", "dev", "c.yaml", configText("c", "region: west", "b")) }, 4},
		{"configuration for nobody", func() { repos.Write("control", "dev", "d.yaml", configText("d", "region: north", "b")) }, 0},
		{"configuration for one workload", func() { repos.Write("control", "dev", "e.yaml", configText("e", "workload: shop", "e")) }, 2},
		{"a line that moves", edit("control", "dev", "e.yaml", "# moved\n"), 2},
		{"a schema for one pair", func() {
			repos.Write("control", "dev", "s.yaml", []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ConfigSchema\nmetadata: {name: s, labels: {region: east, workload: stock}}\nspec: {schema: '{\"required\": [\"X\"]}'}\n"))
		}, 1},
		{"a workload", edit("shop", "main", "workload.yaml", "# moved\n"), 2},
		{"a cluster type", edit("control", "dev", "east.yaml", "# moved\n"), 2},
		{"a template", edit("control", "main", "flux.yaml", "# moved\n"), 4},
		{"a policy", edit("control", "dev", "policy.yaml", "# moved\n"), 0},
		{"a file of nobody", func() { repos.Write("control", "dev", "README.md", []byte("x")) }, 0},
	}
	var loader model.Loader
	var planner Planner
	for _, step := range steps {
		step.do()
		env, err := loader.Load(t.Context(), repos, "dev", model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		var got *Plan
		for n := 0; got == nil; n++ {
			got, err = planner.New(endingAfter(n), env, repos.Tree("gitops", "dev"))
			if got == nil && !errors.Is(err, context.Canceled) || got != nil && (err != nil || n < 4) {
				t.Fatalf("%s, stopped at look %d: %v", step.name, n, err)
			}
		}
		if len(got.Assignments) != 4 {
			t.Fatalf("%s: %d assignments, problems %v", step.name, len(got.Assignments), reasons(got.Problems))
		}
		if planner.computed != step.computed {
			t.Errorf("%s: %d assignments were worked out, want %d", step.name, planner.computed, step.computed)
		}
		samePlan(t, step.name, planWith(t, new(Planner), env, repos.Tree("gitops", "dev")), got)
	}
}

// endingContext ends after it has been looked at a number of times.
type endingContext struct {
	context.Context
	left atomic.Int64
}

func endingAfter(looks int) context.Context {
	c := &endingContext{Context: context.Background()}
	c.left.Store(int64(looks))
	return c
}

func (c *endingContext) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}
