package flux

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"
)

const (
	revA = "dev@sha1:aaaa"
	revB = "dev@sha1:bbbb"
)

func parse(t *testing.T, text string) unstructured.Unstructured {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var o unstructured.Unstructured
	if err := o.UnmarshalJSON(b); err != nil {
		t.Fatal(err)
	}
	return o
}

func repository(name, rest string) string {
	return fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %s, namespace: flux-system, generation: 1}
spec: {url: "http://localhost:1/kalypso/gitops", ref: {branch: dev}}
status:
  artifact: {revision: %q}
  conditions: [{type: Ready, status: "True", reason: Succeeded, observedGeneration: 1, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]
%s`, name, revB, rest)
}

func kustomize(name, source, labels, status string) string {
	return fmt.Sprintf(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: flux-system, generation: 2, labels: {%s}}
spec: {sourceRef: {kind: GitRepository, name: %s}}
status:
%s`, name, labels, source, indent(status))
}

func indent(s string) string { return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") }

func condition(kind, status, reason, message string, generation int) string {
	return fmt.Sprintf(`{type: %s, status: %q, reason: %s, message: %q, observedGeneration: %d, lastTransitionTime: "2026-01-01T00:00:00Z"}`, kind, status, reason, message, generation)
}

// The source has fetched revision B in all of these.
func TestStateOfKustomization(t *testing.T) {
	ready := condition("Ready", "True", "ReconciliationSucceeded", "", 2)
	failed := condition("Ready", "False", "BuildFailed", "it broke", 2)
	for name, c := range map[string]struct {
		status string
		want   fleet.State
		reason string
	}{
		"never reconciled":      {"inventory: {}", fleet.Pending, "it has not been reconciled yet"},
		"applied":               {"conditions: [" + ready + "]\nlastAppliedRevision: " + revB, fleet.Compliant, ""},
		"ready with the former": {"conditions: [" + ready + "]\nlastAppliedRevision: " + revA, fleet.Pending, "revision " + revB + " is not applied yet"},
		"ready before its last change": {
			"conditions: [" + condition("Ready", "True", "ReconciliationSucceeded", "", 1) + "]\nlastAppliedRevision: " + revB,
			fleet.Pending, "its last change has not been reconciled yet",
		},
		"under way":     {"conditions: [" + condition("Ready", "Unknown", "Progressing", "Reconciliation in progress", 2) + "]", fleet.Pending, "Reconciliation in progress"},
		"failed":        {"conditions: [" + failed + "]\nlastAttemptedRevision: " + revB, fleet.NonCompliant, "it broke"},
		"failed before": {"conditions: [" + failed + "]\nlastAttemptedRevision: " + revA, fleet.Pending, "revision " + revB + " is not applied yet"},
		"folder missing, never applied": {
			"conditions: [" + condition("Reconciling", "True", "ProgressingWithRetry", "Fetching manifests for revision "+revB+" with a timeout of 30s", 2) + ", " + failed + "]\nobservedGeneration: -1",
			fleet.NonCompliant, "it broke",
		},
		"folder missing, applied before": {
			"conditions: [" + condition("Reconciling", "True", "ProgressingWithRetry", "Fetching manifests for revision "+revB+" with a timeout of 30s", 2) + ", " + failed + "]\nlastAttemptedRevision: " + revA,
			fleet.NonCompliant, "it broke",
		},
		"folder was missing in the former": {
			"conditions: [" + condition("Reconciling", "True", "ProgressingWithRetry", "Fetching manifests for revision "+revA+" with a timeout of 30s", 2) + ", " + failed + "]",
			fleet.Pending, "revision " + revB + " is not applied yet",
		},
		"waits for another": {
			"conditions: [" + condition("Ready", "False", "DependencyNotReady", "infra is not ready", 2) + "]",
			fleet.Pending, "infra is not ready",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &Objects{
				Repositories:   []unstructured.Unstructured{parse(t, repository("dev", ""))},
				Kustomizations: []unstructured.Unstructured{parse(t, kustomize("dev-dev", "dev", "", c.status))},
			}
			got := o.Statuses(o.Configurations()[0])[1]
			if got.State != c.want || got.Reason != c.reason {
				t.Errorf("%s: %q", got.State, got.Reason)
			}
		})
	}
}

func TestSuspendedIsNeitherGoodNorBad(t *testing.T) {
	r := parse(t, repository("dev", ""))
	if err := unstructured.SetNestedField(r.Object, true, "spec", "suspend"); err != nil {
		t.Fatal(err)
	}
	if s := repositoryStatus(&r); s.State != fleet.Suspended {
		t.Errorf("%+v", s)
	}
}

const applied = "conditions: [{type: Ready, status: \"True\", reason: R, message: \"\", observedGeneration: 2, lastTransitionTime: \"2026-01-01T00:00:00Z\"}]\nlastAppliedRevision: " + revB

// tree is a cluster with two configurations; dev brings a workload, which
// brings itself again.
func tree(t *testing.T, workload string) []runtime.Object {
	by := func(name string) string {
		return fmt.Sprintf("kustomize.toolkit.fluxcd.io/name: %s, kustomize.toolkit.fluxcd.io/namespace: flux-system", name)
	}
	brought := parse(t, repository("app", ""))
	brought.SetLabels(map[string]string{appliedByName: "dev-dev", appliedByNamespace: "flux-system"})
	other := parse(t, repository("stage", ""))
	if err := unstructured.SetNestedField(other.Object, "stage", "spec", "ref", "branch"); err != nil {
		t.Fatal(err)
	}
	var all []runtime.Object
	for _, o := range []unstructured.Unstructured{
		parse(t, repository("dev", "")), other, brought,
		parse(t, kustomize("dev-dev", "dev", "", applied)),
		parse(t, kustomize("stage-stage", "stage", "", applied)),
		parse(t, kustomize("app", "app", by("dev-dev"), workload)),
		parse(t, kustomize("inner", "app", by("app"), applied)),
		parse(t, kustomize("again", "app", by("again"), applied)),
	} {
		all = append(all, &o)
	}
	return all
}

func observe(t *testing.T, objects []runtime.Object, s fleet.Source) []fleet.Configuration {
	t.Helper()
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		Repositories: "GitRepositoryList", Kustomizations: "KustomizationList",
	}, objects...)
	read, err := Read(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	var all []fleet.Configuration
	for _, c := range read.Configurations() {
		if Follows(c.Repository, s) {
			state, reason := Combined(read.Statuses(c))
			all = append(all, fleet.Configuration{Cluster: "drone", Name: c.Repository.GetName(), Commit: fleet.CommitOf(Revision(c.Repository)), State: state, Reason: reason})
		}
	}
	return all
}

// Follows is whether a GitRepository follows the branch.
func Follows(repository *unstructured.Unstructured, s fleet.Source) bool {
	return subscription(nil, repository).Follows(s)
}

func TestObserveCountsWhatTheConfigurationBrought(t *testing.T) {
	dev := fleet.Source{Repo: "http://localhost:1/kalypso/gitops.git", Branch: "dev"}
	want := []fleet.Configuration{{Cluster: "drone", Name: "dev", Commit: "bbbb", State: fleet.Compliant}}
	if diff := cmp.Diff(want, observe(t, tree(t, applied), dev)); diff != "" {
		t.Error(diff)
	}
	failed := "lastAttemptedRevision: " + revB + "\nconditions: [" + condition("Ready", "False", "ArtifactFailed", "kustomization path not found", 2) + "]"
	want[0].State, want[0].Reason = fleet.NonCompliant, "Kustomization app: kustomization path not found"
	if diff := cmp.Diff(want, observe(t, tree(t, failed), dev)); diff != "" {
		t.Error(diff)
	}
	if got := observe(t, tree(t, applied), fleet.Source{Repo: dev.Repo, Branch: "qa"}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestStatusesOfATreeThatBringsItself(t *testing.T) {
	o := &Objects{
		Repositories: []unstructured.Unstructured{parse(t, repository("dev", ""))},
		Kustomizations: []unstructured.Unstructured{
			parse(t, kustomize("dev-dev", "dev", "", applied)),
			parse(t, kustomize("a", "dev", "kustomize.toolkit.fluxcd.io/name: dev-dev, kustomize.toolkit.fluxcd.io/namespace: flux-system", applied)),
			parse(t, kustomize("b", "dev", "kustomize.toolkit.fluxcd.io/name: a, kustomize.toolkit.fluxcd.io/namespace: flux-system", applied)),
		},
	}
	// b applies a, too: Flux keeps one owner in the label, and both may win
	o.Kustomizations[1].SetLabels(map[string]string{appliedByName: "b", appliedByNamespace: "flux-system"})
	o.Kustomizations[2].SetLabels(map[string]string{appliedByName: "dev-dev", appliedByNamespace: "flux-system"})
	var names []string
	for _, s := range o.Statuses(o.Configurations()[0]) {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{"dev", "dev-dev", "b", "a"}, names); diff != "" {
		t.Error(diff)
	}
}
