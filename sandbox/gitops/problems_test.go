package gitops

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestReasons(t *testing.T) {
	for name, test := range map[string]struct {
		reason func(*unstructured.Unstructured) string
		status string
		want   string // "" is well
	}{
		"ready":              {refused, `{conditions: [{type: Ready, status: "True", reason: Done}]}`, ""},
		"goes on":            {refused, `{conditions: [{type: Ready, status: Unknown, reason: Progressing}]}`, ""},
		"not ready":          {refused, `{conditions: [{type: Ready, status: "False", reason: BuildFailed, message: no such path}]}`, "BuildFailed: no such path"},
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
