package propose

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

const head = "apiVersion: scheduler.kalypso.io/v1alpha1\n"

// fleet is an environment of which policy i selects the cluster types and the deployment targets
// of group i, of ten. Half of the types have the label edge, which the last policy asks for.
type fleet struct {
	*modeltest.Repositories
	version string
}

func newFleet(clusterTypes, targets int) *fleet {
	var archive strings.Builder
	write := func(at, text string, args ...any) {
		fmt.Fprintf(&archive, "-- %s --\n%s\n", at, head+fmt.Sprintf(text, args...))
	}
	write("control@dev/base.yaml", "kind: BaseRepo\nmetadata: {name: main}\nspec: {repo: %scontrol, branch: main}", modeltest.Forge)
	write("control@dev/gitops.yaml", "kind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: %sgitops, branch: dev}", modeltest.Forge)
	for i := range 10 {
		write(fmt.Sprintf("control@dev/policies/%d.yaml", i), "kind: SchedulingPolicy\nmetadata: {name: policy-%d}\nspec:\n  deploymentTargetSelector: {labelSelector: {matchLabels: {group: g%[1]d}}}\n  clusterTypeSelector: {labelSelector: {matchLabels: {group: g%[1]d}}}", i)
	}
	for i := range clusterTypes {
		write(fmt.Sprintf("control@dev/types/%04d.yaml", i), "kind: ClusterType\nmetadata:\n  name: type-%04d\n  labels:\n    group: g%d\nspec: {reconciler: flux, namespaceService: default}", i, i%10)
	}
	fmt.Fprintf(&archive, "-- control@dev/config.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: all, labels: {platform-config: 'true'}}\ndata: {REGION: west}\n")
	for name, kind := range map[string]string{"default": "namespace", "configmap": "config", "flux": "reconciler"} {
		write("control@main/templates/"+name+".yaml", "kind: Template\nmetadata: {name: %s}\nspec:\n  type: %s\n  manifests:\n    - |\n      apiVersion: v1\n      kind: ConfigMap\n      metadata:\n        name: {{ .DeploymentTargetName }}\n      data:\n        {{ stringify .ConfigData | indent 2 }}", name, kind)
	}
	for i := range targets {
		write(fmt.Sprintf("control@main/workloads/%04d.yaml", i), "kind: WorkloadRegistration\nmetadata: {name: app-%04d}\nspec: {workspace: team, workload: {repo: %sapp-%04[1]d, branch: main, path: .}}", i, modeltest.Forge)
		write(fmt.Sprintf("app-%04d@main/workload.yaml", i), "kind: Workload\nmetadata: {name: app-%04d}\nspec:\n  deploymentTargets:\n    - {name: test, labels: {group: g%d}, environment: dev, manifests: {repo: %sapp, branch: dev, path: .}}", i, i%10, modeltest.Forge)
	}
	return &fleet{modeltest.Parse(archive.String()), "one"}
}

// Environment implements Platform.
func (f *fleet) Environment(_ context.Context, name string, _ bool) (Environment, error) {
	return Environment{
		Name: name, Names: []string{name}, ControlPlane: model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"}, Head: "head", Reader: f, Version: f.version,
	}, nil
}

// Ahead implements Platform.
func (f *fleet) Ahead(context.Context, model.Reference, string, string) int { return 0 }

// BenchmarkPlan has one edit after the other planned, as a page asks for them: a label that moves a
// cluster type to another group, and back. The budget of a page is 300 ms.
func BenchmarkPlan(b *testing.B) {
	for _, size := range []struct {
		name                  string
		clusterTypes, targets int
	}{{"tutorial", 3, 10}, {"small-fleet", 50, 200}, {"fleet", 200, 1000}} {
		b.Run(size.name, func(b *testing.B) {
			f := newFleet(size.clusterTypes, size.targets)
			env, err := model.LoadEnvironment(b.Context(), f, "dev", model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"})
			if err != nil {
				b.Fatal(err)
			}
			merged, err := plan.New(b.Context(), env, nil)
			if err != nil || len(merged.Assignments) == 0 {
				b.Fatalf("%d assignments, %v", len(merged.Assignments), err)
			}
			for file, content := range merged.Files() {
				f.Write(modeltest.Forge+"gitops", "dev", file, content)
			}
			p := NewPlanner(f)
			request := func(group int) Request {
				return Request{User: "a", Environment: "dev", Against: Planned, Edits: []edit.Edit{{Operation: edit.SetLabel, Kind: "ClusterType", Name: "type-0000", Key: "group", Value: fmt.Sprintf("g%d", group)}}}
			}
			if _, err := p.Plan(b.Context(), request(1)); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(merged.Assignments)), "assignments")
			n := 1
			for b.Loop() {
				n = n%9 + 1
				made, err := p.Plan(b.Context(), request(n))
				if err != nil || len(made.Plan.Assignments.Lost) == 0 {
					b.Fatalf("%+v, %v", made, err)
				}
			}
		})
	}
}

// TestPlansOfOneUser holds that two are made at a time, that others wait, and that one who does not
// wait any more leaves.
func TestPlansOfOneUser(t *testing.T) {
	p := NewPlanner(newFleet(1, 1))
	var held []func()
	for range plansEach {
		release, err := p.acquire(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, release)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.acquire(ended, "ann"); err == nil {
		t.Error("a third was made")
	}
	if release, err := p.acquire(ended, "bob"); err == nil {
		release()
	} else if _, err := p.acquire(t.Context(), "bob"); err != nil {
		t.Errorf("another user waits: %v", err)
	}
	for _, release := range held {
		release()
	}
	if _, err := p.Plan(ended, Request{User: "ann", Environment: "dev", Against: Planned, Edits: []edit.Edit{{Operation: edit.SetLabel, Kind: "ClusterType", Name: "type-0000", Key: "a", Value: "b"}}}); err == nil {
		t.Error("a plan was made for who has gone")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.users) > 1 {
		t.Errorf("%d users are kept", len(p.users))
	}
}
