package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// TestBasicInferenceTutorial walks through the basic-inference tutorial and
// holds the scheduler, and the repositories that a learner begins with, to all
// that it prints.
func TestBasicInferenceTutorial(t *testing.T) {
	w := &walk{T: t, repos: inference(t), control: "kalypso-control-plane", gitops: "kalypso-platform-gitops"}
	says := printed(t, "basic-inference")
	inferenceStart(w, says)
	inferenceOnboard(w, says)
	inferenceSchedule(w, says)
	inferenceRequest(w, says)
	inferenceProvide(w, says)
	inferenceExercise(w)
}

// inferenceStart compares what the tutorial says is there with what is there.
func inferenceStart(w *walk, says map[string][]byte) {
	w.Helper()
	w.same("workload.yaml", says["workload.yaml"], w.repos.Tree("basic-inference-orchestration", "main").Files["workload/workload.yaml"])
	var qa []byte
	for _, name := range []string{"east-us", "west-us"} {
		qa = append(append(qa, w.repos.Tree(w.control, "qa").Files["cluster-types/"+name+".yaml"]...), "---\n"...)
	}
	both := documents(w.T, qa)
	if diff := cmp.Diff(documents(w.T, says["cluster-types.yaml"]), slices.DeleteFunc(both, func(d any) bool { return d == nil })); diff != "" {
		w.Errorf("cluster types of qa (-printed +there):\n%s", diff)
	}
	w.expect("dev")
	w.expect("qa")
}

// inferenceOnboard registers the application. The policy of dev, which assigns
// everything, schedules it there.
func inferenceOnboard(w *walk, says map[string][]byte) {
	w.Helper()
	w.write(w.control, "main", registrationFile, says["registration.yaml"])
	files := w.expect("dev", assignment("dev", "basic-inference-dev")...)
	w.expect("qa")
	for _, name := range []string{"namespace.yaml", "reconciler.yaml"} {
		w.same(name, says[name], files["dev/basic-inference-dev/"+name])
	}
	// The tutorial prints the ConfigMap without its namespace. Ours names it: a
	// cluster that applies the file as it is would put it where no pod of the
	// application finds it.
	config := documents(w.T, files["dev/basic-inference-dev/platform-config.yaml"])
	metadata := config[0].(map[string]any)["metadata"].(map[string]any)
	if metadata["namespace"] != "basic-inference-dev" {
		w.Errorf("platform-config is in namespace %v", metadata["namespace"])
	}
	delete(metadata, "namespace")
	if diff := cmp.Diff(documents(w.T, says["platform-config.yaml"]), config); diff != "" {
		w.Errorf("platform-config.yaml (-printed +generated):\n%s", diff)
	}
}

// inferenceSchedule adds the policy of qa, which selects west-us only.
func inferenceSchedule(w *walk, says map[string][]byte) {
	w.Helper()
	w.write(w.control, "qa", "scheduling-policies/basic-inference-policy.yaml", says["policy.yaml"])
	p := w.plan("qa")
	if len(p.Assignments) != 1 || !slices.Equal(p.Assignments[0].Policies, []string{"basic-inference-policy"}) {
		w.Errorf("assignments: %v", p.Assignments)
	}
	files := w.expect("qa", assignment("west-us", "basic-inference-qa")...)
	if got := w.field(files["west-us/basic-inference-qa/namespace.yaml"], 0, "metadata", "name"); got != "basic-inference-qa" {
		w.Errorf("namespace: %s", got)
	}
	// West-us reconciles by Flux, from the branch and path that the workload
	// names for qa.
	reconciler := files["west-us/basic-inference-qa/reconciler.yaml"]
	for where, test := range map[string][2]string{
		"first kind":  {w.field(reconciler, 0, "kind"), "GitRepository"},
		"second kind": {w.field(reconciler, 1, "kind"), "Kustomization"},
		"branch":      {w.field(reconciler, 0, "spec", "ref", "branch"), "qa"},
		"path":        {w.field(reconciler, 1, "spec", "path"), "./basic-inference-orchestration"},
	} {
		if test[0] != test[1] {
			w.Errorf("%s: %s, want %s", where, test[0], test[1])
		}
	}
}

// inferenceRequest asks for a value that nobody provides: one problem in each
// environment, which is one issue, and no change.
func inferenceRequest(w *walk, says map[string][]byte) {
	w.Helper()
	w.write("basic-inference-orchestration", "main", "workload/workload.yaml", says["workload-with-schema.yaml"])
	for environment, clusterType := range map[string]string{"dev": "dev", "qa": "west-us"} {
		p := w.plan(environment)
		if len(p.Changes) > 0 {
			w.Errorf("%s: changes %q", environment, changes(p))
		}
		if len(p.Problems) != 1 {
			w.Fatalf("%s: problems %v", environment, p.Problems)
		}
		got := p.Problems[0]
		if got.ClusterType != clusterType || got.Target != "basic-inference-"+environment || got.Reason != plan.InvalidConfig || got.Message != "inference_url is required" {
			w.Errorf("%s: %+v", environment, got)
		}
		if position := got.Position.String(); position != "basic-inference-orchestration@main:workload/workload.yaml:27" {
			w.Errorf("%s: the problem is at %s", environment, position)
		}
	}
}

// inferenceProvide gives dev the value: its problem is gone and one file
// changes; qa's stays.
func inferenceProvide(w *walk, says map[string][]byte) {
	w.Helper()
	w.write(w.control, "dev", "configs/inference-config.yaml", says["inference-config.yaml"])
	const file = "dev/basic-inference-dev/platform-config.yaml"
	config := w.expect("dev", "modify "+file)[file]
	want := map[string]any{"ENVIRONMENT": "Dev", "SOME_DEV_ENVIRONMENT_VARIABLE": "true", "inference_url": "https://httpbin.org/post"}
	if diff := cmp.Diff(any(want), documents(w.T, config)[0].(map[string]any)["data"]); diff != "" {
		w.Errorf("platform-config (-want +got):\n%s", diff)
	}
	if p := w.plan("qa"); len(p.Problems) != 1 {
		w.Errorf("problems of qa: %v", p.Problems)
	}
}

// inferenceExercise is the tutorial's exercise: each region of qa its own
// endpoint. East-us has its value ready for when something is scheduled there.
func inferenceExercise(w *walk) {
	w.Helper()
	for _, region := range []string{"eastus", "westus"} {
		w.write(w.control, "qa", "configs/"+region+".yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "+region+
			"-config\n  labels:\n    platform-config: \"true\"\n    region: "+region+"\ndata:\n  inference_url: https://qa-"+region+"-api.contoso.com\n"))
	}
	files := w.expect("qa", "modify west-us/basic-inference-qa/platform-config.yaml")
	if got := w.field(files["west-us/basic-inference-qa/platform-config.yaml"], 0, "data", "inference_url"); got != "https://qa-westus-api.contoso.com" {
		w.Errorf("west-us: %s", got)
	}
	w.write(w.control, "qa", "scheduling-policies/both.yaml", []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: both}\n"))
	files = w.expect("qa", assignment("east-us", "basic-inference-qa")...)
	if got := w.field(files["east-us/basic-inference-qa/platform-config.yaml"], 0, "data", "inference_url"); got != "https://qa-eastus-api.contoso.com" {
		w.Errorf("east-us: %s", got)
	}
	if got := w.field(files["east-us/basic-inference-qa/reconciler.yaml"], 0, "kind"); got != "Application" {
		w.Errorf("east-us reconciles by %s", got)
	}
}
