package model_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
)

const memoryArchive = `
-- control@dev/base.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata: {name: main}
spec: {repo: https://forge.test/kalypso/control, branch: main}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: dev}
spec: {repo: https://forge.test/kalypso/gitops, branch: dev}
-- control@dev/types.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: drone}
spec: {reconciler: flux, namespaceService: default}
-- control@dev/broken.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: large}
spec: {reconciler: 7, namespaceService: default}
-- control@main/registration.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: shop}
spec: {workspace: team, workload: {repo: https://forge.test/kalypso/shop, branch: main, path: workload}}
-- shop@main/workload/workload.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata: {name: shop}
spec:
  deploymentTargets:
    - {name: test, environment: dev}
`

// sameModel compares what two models say, and where.
var sameModel = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".node" }, cmp.Ignore()),
}

// TestLoaderRemembers changes one file after the other. The model is that of
// somebody without a memory each time, and only the changed file's objects are
// other ones.
func TestLoaderRemembers(t *testing.T) {
	repos := modeltest.Parse(memoryArchive)
	control := model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"}
	var loader model.Loader
	load := func() *model.Environment {
		t.Helper()
		env, err := loader.Load(t.Context(), repos, "dev", control)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := model.LoadEnvironment(t.Context(), repos, "dev", control)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fresh, env, sameModel); diff != "" {
			t.Errorf("the memory makes a difference (-without +with):\n%s", diff)
		}
		if len(fresh.ClusterTypes) > 0 && fresh.ClusterTypes[0].Same(env.ClusterTypes[0]) {
			t.Error("objects of two loaders are the same")
		}
		return env
	}
	append := func(repo, branch, file, text string) func() {
		return func() {
			old := repos.Tree(repo, branch).Files[file]
			repos.Write(repo, branch, file, slices.Concat(old, []byte(text)))
		}
	}
	steps := []struct {
		name            string
		do              func()
		drone, workload bool // stay the same
	}{
		{"nothing", func() {}, true, true},
		{"a file of users", func() { repos.Write("control", "dev", "README.md", []byte("x")) }, true, true},
		{"another file", func() { repos.Write("control", "dev", "a.yaml", []byte("# nothing\n")) }, true, true},
		{"its own file", append("control", "dev", "types.yaml", "# more\n"), false, true},
		{"the mistake is corrected", func() { repos.Write("control", "dev", "broken.yaml", []byte("a: 1\n")) }, true, true},
		{"an ignore file", func() { repos.Write("control", "dev", ".sourceignore", []byte("a.yaml\n")) }, true, true},
		{"the registration", append("control", "main", "registration.yaml", "# more\n"), true, false},
		{"the workload", append("shop", "main", "workload/workload.yaml", "# more\n"), true, false},
		{"the repository's other files", func() { repos.Write("shop", "main", "main.go", []byte("x")) }, true, true},
		{"a file goes", func() { repos.Remove("control", "dev", "a.yaml") }, true, true},
	}
	before := load()
	if len(before.Diagnostics) != 1 {
		t.Errorf("diagnostics: %v", before.Diagnostics)
	}
	for _, step := range steps {
		step.do()
		env := load()
		if len(env.ClusterTypes) != 1 || len(env.Workloads) != 1 {
			t.Fatalf("%s: %d cluster types, %d workloads, %v", step.name, len(env.ClusterTypes), len(env.Workloads), env.Diagnostics)
		}
		if same := env.ClusterTypes[0].Same(before.ClusterTypes[0]); same != step.drone {
			t.Errorf("%s: cluster type is the same: %v", step.name, same)
		}
		w, old := env.Workloads[0], before.Workloads[0]
		if same := w.Same(old.Object) && w.Registration.Same(old.Registration); same != step.workload {
			t.Errorf("%s: workload is the same: %v", step.name, same)
		}
		before = env
	}
	if len(before.Diagnostics) != 0 {
		t.Errorf("diagnostics: %v", before.Diagnostics)
	}
}

// TestLoaderForgetsNothing proves that a load that fails leaves the memory as it
// was.
func TestLoaderForgetsNothing(t *testing.T) {
	repos := modeltest.Parse(memoryArchive)
	control := model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"}
	var loader model.Loader
	first, err := loader.Load(t.Context(), repos, "dev", control)
	if err != nil {
		t.Fatal(err)
	}
	repos.Errors["shop@main"] = errors.New("forge is down")
	if _, err := loader.Load(t.Context(), repos, "dev", control); err == nil {
		t.Fatal("a read error went unnoticed")
	}
	delete(repos.Errors, "shop@main")
	again, err := loader.Load(t.Context(), repos, "dev", control)
	if err != nil {
		t.Fatal(err)
	}
	if !again.Workloads[0].Same(first.Workloads[0].Object) || !again.ClusterTypes[0].Same(first.ClusterTypes[0]) {
		t.Error("objects are not the same after a load that failed")
	}
}
