package gitops

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/internal/testkit/kubefake"
)

func TestReasons(t *testing.T) {
	for name, test := range map[string]struct {
		reason func(*unstructured.Unstructured) string
		status string
		want   string // "" is well
	}{
		"ready":     {refused, `{conditions: [{type: Ready, status: "True", reason: Done}]}`, ""},
		"goes on":   {refused, `{conditions: [{type: Ready, status: Unknown, reason: Progressing}]}`, ""},
		"not ready": {refused, `{conditions: [{type: Ready, status: "False", reason: BuildFailed, message: no such path}]}`, "BuildFailed: no such path"},
		"has no controller": {refused, `{conditions: [{type: Ready, status: "False", reason: ReconciliationFailed, message: 'HelmRelease/a dry-run failed: no matches for kind "HelmRelease" in version "helm.toolkit.fluxcd.io/v2"'}]}`,
			`ReconciliationFailed: HelmRelease/a dry-run failed: no matches for kind "HelmRelease" in version "helm.toolkit.fluxcd.io/v2" (nothing on this cluster handles HelmRelease: Flux has its source and kustomize controllers here, for GitRepository and Kustomization)`},
		"in sync":            {notWell, `{sync: {status: Synced}, health: {status: Healthy}}`, ""},
		"rolls out":          {notWell, `{sync: {status: Synced}, health: {status: Progressing}}`, ""},
		"out of sync":        {notWell, `{sync: {status: OutOfSync}, health: {status: Missing}, resources: [{kind: Namespace, name: a, status: OutOfSync, health: {status: Missing}}, {kind: Service, name: b, status: Synced}]}`, "OutOfSync, Missing: Namespace a (Missing)"},
		"cannot be applied":  {notWell, `{sync: {status: OutOfSync}, health: {status: Healthy}, operationState: {phase: Failed, message: no such kind}}`, "OutOfSync, Healthy: no such kind"},
		"cannot be compared": {notWell, `{conditions: [{type: ComparisonError, message: no such branch}]}`, "ComparisonError: no such branch"},
		"runs":               {cannotStart, `{containerStatuses: [{name: app, state: {running: {}}}]}`, ""},
		"is created":         {cannotStart, `{containerStatuses: [{name: app, state: {waiting: {reason: ContainerCreating}}}]}`, ""},
		"has no image":       {cannotStart, `{containerStatuses: [{name: app, state: {waiting: {reason: ImagePullBackOff, message: not found}}}]}`, "container app: ImagePullBackOff: not found"},
		"crashes at first":   {cannotStart, `{initContainerStatuses: [{name: init, state: {waiting: {reason: CrashLoopBackOff}}}]}`, "container init: CrashLoopBackOff"},
		"has no node":        {cannotStart, `{conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: too little memory}]}`, "Unschedulable: too little memory"},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		if err := yaml.Unmarshal([]byte("status: "+test.status), &o.Object); err != nil {
			t.Fatal(err)
		}
		if got := test.reason(o); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestAppliedNamespaces(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	err := yaml.Unmarshal([]byte(`status: {inventory: {entries: [{id: _dev-app__Namespace, v: v1}, {id: dev-app_config__ConfigMap, v: v1}]}}`), &o.Object)
	if got := appliedNamespaces(o); err != nil || !slices.Equal(got, []string{"dev-app"}) {
		t.Errorf("%q, %v", strings.Join(got, " "), err)
	}
}

// TestKindsThatNothingHandles: Flux's own sources of other kinds are in the
// cluster, and nothing acts on them but a Flux that the cluster has itself.
func TestKindsThatNothingHandles(t *testing.T) {
	api := kubefake.New(t, append([]schema.GroupVersionKind{gitRepository, kustomizationKind, namespaceKind, podKind}, idleKinds...)...)
	client := api.Client(t)
	for _, object := range []string{
		"kind: OCIRepository\nmetadata: {name: idle, namespace: flux-system}\n",
		"kind: Bucket\nmetadata: {name: idle, namespace: flux-system}\n",
		"kind: OCIRepository\nmetadata: {name: ready, namespace: flux-system}\nstatus: {conditions: [{type: Ready, status: \"True\"}]}\n",
		"kind: OCIRepository\nmetadata: {name: failed, namespace: flux-system}\nstatus: {conditions: [{type: Ready, status: \"False\", reason: NoAccess, message: denied}]}\n",
	} {
		api.Put(t, "apiVersion: source.toolkit.fluxcd.io/v1\n"+object)
	}
	found, err := ConditionOf(t.Context(), client, true)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range found.Problems {
		got[p.Object] = p.Reason
	}
	if len(got) != 3 || got["OCIRepository flux-system/failed"] != "NoAccess: denied" {
		t.Errorf("%v", got)
	}
	for _, object := range []string{"OCIRepository flux-system/idle", "Bucket flux-system/idle"} {
		if !strings.Contains(got[object], FluxKinds) {
			t.Errorf("%s: %q", object, got[object])
		}
	}
}

// TestWithoutOtherKinds: a cluster of one's own may lack them.
func TestWithoutOtherKinds(t *testing.T) {
	api := kubefake.New(t, gitRepository, kustomizationKind, namespaceKind, podKind)
	if found, err := ConditionOf(t.Context(), api.Client(t), true); err != nil || len(found.Problems) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestUnenforced(t *testing.T) {
	api := kubefake.New(t, networkPolicyKind)
	client := api.Client(t)
	if found, err := Unenforced(t.Context(), client); err != nil || len(found) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	api.Put(t, "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: deny, namespace: app}\n")
	found, err := Unenforced(t.Context(), client)
	if err != nil || len(found) != 1 || found[0].Object != "NetworkPolicy app/deny" || found[0].Reason == "" {
		t.Errorf("%+v, %v", found, err)
	}
}
