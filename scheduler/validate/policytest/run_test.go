package policytest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func newPlan(t *testing.T, env *model.Environment) *plan.Plan {
	t.Helper()
	p, err := plan.New(t.Context(), env, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// repos is an environment with two cluster types, a policy for each of them, and a workload whose
// one target lands on drone.
func repos() *model.Environment {
	env := &model.Environment{
		Name:         "dev",
		ClusterTypes: make([]model.ClusterType, 2),
		Policies:     make([]model.SchedulingPolicy, 2),
		Configs:      make([]model.PlatformConfig, 1),
		Workloads:    make([]model.Workload, 1),
	}
	env.ClusterTypes[0].Name, env.ClusterTypes[0].Labels = "drone", map[string]string{"edge": "true"}
	env.ClusterTypes[1].Name, env.ClusterTypes[1].Labels = "large", map[string]string{"size": "large"}
	for i, p := range []struct{ name, workspace, purpose, key, value string }{
		{"edge-policy", "team", "test", "edge", "true"},
		{"large-policy", "team", "load", "size", "large"},
	} {
		policy := &env.Policies[i]
		policy.Name = p.name
		policy.Spec.DeploymentTargetSelector.Workspace = p.workspace
		policy.Spec.DeploymentTargetSelector.LabelSelector = metav1.LabelSelector{MatchLabels: map[string]string{"purpose": p.purpose}}
		policy.Spec.ClusterTypeSelector.LabelSelector = metav1.LabelSelector{MatchLabels: map[string]string{p.key: p.value}}
	}
	env.Configs[0].Name = "all"
	env.Configs[0].Spec.Data = map[string]string{"VERSION": "1.10", "PORTS": "- name: http\n  port: 80\n"}
	env.Workloads[0].Name = "shop"
	env.Workloads[0].Registration.Spec.Workspace = "team"
	env.Workloads[0].Spec.DeploymentTargets = []v1alpha1.DeploymentTarget{
		{Name: "test", Environment: "dev", Labels: map[string]string{"purpose": "test"}},
	}
	return env
}

// failures runs tests and returns what fails, with the reasons.
func failures(t *testing.T, env *model.Environment, text string) []string {
	t.Helper()
	tests, found := Load(file, []byte(text))
	if len(found) > 0 {
		t.Fatalf("diagnostics: %v", found)
	}
	got := []string{}
	results, err := Run(t.Context(), tests, env, newPlan(t, env))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		for _, f := range r.Failures {
			line := f.Message
			if f.Reason != "" {
				line += " | " + f.Reason
			}
			got = append(got, line)
		}
	}
	return got
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name, test string
		want       []string
	}{
		{"all holds", "target: shop-test\n  on: [drone]\n  notOn: [large]\n  onlyOn: [drone]\n  config: {drone: {VERSION: 1.10, NONE: null}}", nil},
		{"structured values are compared by what they hold", "target: shop-test\n  config: {drone: {PORTS: [{port: 80, name: http}]}}", nil},
		{"a structured value differs", "target: shop-test\n  config: {drone: {PORTS: [{port: 81, name: http}]}}",
			[]string{`PORTS is "- name: http\n  port: 80" on drone, not "- name: http\n  port: 81\n" | it comes from ConfigMap all ()`}},
		{"text is compared as it is", "target: shop-test\n  config: {drone: {VERSION: 1.1}}", []string{`VERSION is "1.10" on drone, not "1.1" | it comes from ConfigMap all ()`}},
		{"another environment's", "target: nobody\n  environment: stage\n  on: [drone]", nil},
		{"hypothetical", "target: {workspace: team, labels: {purpose: load}}\n  onlyOn: [large]\n  config: {large: {VERSION: '1.10'}}", nil},
		{"hypothetical, of an existing workload", "target: {workload: shop, name: other, workspace: team, labels: {purpose: test}}\n  onlyOn: [drone]", nil},
		{"hypothetical, without workspace", "target: {labels: {purpose: load}}\n  on: [large]",
			[]string{"the target is not on large | policy large-policy () comes nearest, but it wants workspace team, and the target's is none"}},
		{"nowhere", "target: shop-test\n  onlyOn: []", []string{"shop-test is on drone | policy edge-policy () selects both"}},
		{"the nearest policy has the fewest clauses that do not fit", "target: shop-test\n  on: [large]",
			[]string{"shop-test is not on large | policy edge-policy () comes nearest, but it wants edge: true, and cluster type large has no edge"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := failures(t, repos(), "tests:\n- name: a\n  "+c.test+"\n")
			if c.want == nil {
				c.want = []string{}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBothPoliciesAreNamed(t *testing.T) {
	env := repos()
	env.Policies[1].Spec.DeploymentTargetSelector = v1alpha1.DeploymentTargetSelector{}
	env.Policies[1].Spec.ClusterTypeSelector = v1alpha1.ClusterTypeSelector{}
	got := failures(t, env, "tests:\n- name: a\n  target: shop-test\n  notOn: [drone]\n")
	if diff := cmp.Diff([]string{"shop-test is on drone | policies edge-policy () and large-policy () select both"}, got); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

func TestNearestPolicyWithoutPolicies(t *testing.T) {
	if got := nearestPolicy(&model.Environment{}, plan.Target{}, model.ClusterType{}); got != "there are no policies" {
		t.Errorf("explains with %q", got)
	}
}

func TestDryRun(t *testing.T) {
	env := &model.Environment{Name: "dev", ClusterTypes: make([]model.ClusterType, 2), Policies: make([]model.SchedulingPolicy, 1), Configs: make([]model.PlatformConfig, 1)}
	env.ClusterTypes[0].Name, env.ClusterTypes[1].Name = "large", "small"
	env.ClusterTypes[1].Labels = map[string]string{"edge": "true"}
	p := &env.Policies[0]
	p.Name = "edge"
	p.Spec.DeploymentTargetSelector.Workspace = "team"
	p.Spec.DeploymentTargetSelector.LabelSelector = metav1.LabelSelector{MatchLabels: map[string]string{"workload": "shop", "purpose": "test"}}
	p.Spec.ClusterTypeSelector.LabelSelector = metav1.LabelSelector{MatchLabels: map[string]string{"edge": "true"}}
	env.Configs[0].Name = "a"
	env.Configs[0].Labels = map[string]string{"deployment-target": "shop-x"}
	env.Configs[0].Spec.Data = map[string]string{"KEY": "value"}

	for _, c := range []struct {
		target HypotheticalTarget
		want   []string
	}{
		{HypotheticalTarget{Workload: "shop", Name: "x", Workspace: "team", Labels: map[string]string{"purpose": "test"}}, []string{"small KEY=value"}},
		{HypotheticalTarget{Workload: "shop", Name: "y", Workspace: "team", Labels: map[string]string{"purpose": "test"}}, []string{"small"}},
		{HypotheticalTarget{Workload: "shop", Name: "x", Workspace: "other", Labels: map[string]string{"purpose": "test"}}, nil},
		{HypotheticalTarget{Workload: "other", Name: "x", Workspace: "team", Labels: map[string]string{"purpose": "test"}}, nil},
		{HypotheticalTarget{Workload: "shop", Name: "x", Workspace: "team"}, nil},
	} {
		var got []string
		planned, err := dryRun(t.Context(), env, c.target)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range planned.Assignments {
			text := a.ClusterType
			for _, v := range a.Config {
				text += " " + v.Key + "=" + v.Value
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.target, diff)
		}
		if len(planned.Targets) != 1 || planned.Targets[0].Workspace != c.target.Workspace {
			t.Errorf("%+v: targets %+v", c.target, planned.Targets)
		}
	}
	if len(env.Workloads) > 0 {
		t.Error("dryRun changes the environment")
	}
}
