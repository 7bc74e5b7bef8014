package argocd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"
)

func observe(t *testing.T, spec, status string) []fleet.Configuration {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: dev, namespace: argocd}\nspec: " + spec + "\nstatus: " + status))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(b); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{Applications: "ApplicationList"}, o)
	all, err := Cluster{Name: "large", Client: client}.Observe(t.Context(), fleet.Source{Repo: "http://localhost:1/kalypso/gitops", Branch: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const one = "{source: {repoURL: 'http://localhost:1/kalypso/gitops.git', targetRevision: dev, path: large}}"

func TestStates(t *testing.T) {
	for name, c := range map[string]struct {
		status, commit string
		state          fleet.State
		reason         string
	}{
		"new":              {"{}", "", fleet.Pending, "not compared with the repository yet"},
		"synced, healthy":  {"{sync: {status: Synced, revision: bbbb}, health: {status: Healthy}, operationState: {phase: Succeeded}}", "bbbb", fleet.Compliant, ""},
		"compared only":    {"{sync: {status: OutOfSync, revision: bbbb}, health: {status: Healthy}}", "bbbb", fleet.Pending, "not synced yet"},
		"sync under way":   {"{sync: {status: Synced, revision: bbbb}, health: {status: Healthy}, operationState: {phase: Running}}", "bbbb", fleet.Pending, "a sync is under way"},
		"starting":         {"{sync: {status: Synced, revision: bbbb}, health: {status: Progressing}}", "bbbb", fleet.Pending, "its health is Progressing"},
		"no health yet":    {"{sync: {status: Synced, revision: bbbb}}", "bbbb", fleet.Pending, "its health is not known yet"},
		"degraded":         {"{sync: {status: Synced, revision: bbbb}, health: {status: Degraded}}", "bbbb", fleet.NonCompliant, "its health is Degraded"},
		"suspended":        {"{sync: {status: Synced, revision: bbbb}, health: {status: Suspended}}", "bbbb", fleet.Suspended, "its health is Suspended"},
		"failed":           {"{sync: {status: OutOfSync, revision: bbbb}, operationState: {phase: Failed, message: nope, syncResult: {revision: bbbb}}}", "bbbb", fleet.NonCompliant, "the last sync failed: nope"},
		"failed before":    {"{sync: {status: OutOfSync, revision: bbbb}, operationState: {phase: Failed, message: nope, syncResult: {revision: aaaa}}}", "bbbb", fleet.Pending, "not synced yet"},
		"cannot compare":   {"{sync: {status: Unknown, revision: bbbb}, conditions: [{type: ComparisonError, message: no path}]}", "bbbb", fleet.NonCompliant, "ComparisonError: no path"},
		"warned, but fine": {"{sync: {status: Synced, revision: bbbb}, health: {status: Healthy}, conditions: [{type: OrphanedResourceWarning, message: x}]}", "bbbb", fleet.Compliant, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want := []fleet.Configuration{{Cluster: "large", Name: "dev", Commit: c.commit, State: c.state, Reason: c.reason}}
			if diff := cmp.Diff(want, observe(t, one, c.status)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhichApplicationsFollow(t *testing.T) {
	const status = "{sync: {revision: bbbb, revisions: [cccc, dddd]}}"
	for name, c := range map[string]struct {
		spec, commit string
		follows      bool
	}{
		"the branch":         {one, "bbbb", true},
		"with its full ref":  {"{source: {repoURL: 'http://localhost:1/kalypso/gitops', targetRevision: refs/heads/dev}}", "bbbb", true},
		"another branch":     {"{source: {repoURL: 'http://localhost:1/kalypso/gitops', targetRevision: stage}}", "", false},
		"another repository": {"{source: {repoURL: 'http://localhost:1/kalypso/other', targetRevision: dev}}", "", false},
		"its second source":  {"{sources: [{repoURL: 'http://localhost:1/kalypso/other', targetRevision: dev}, {repoURL: 'http://localhost:1/kalypso/gitops', targetRevision: dev}]}", "dddd", true},
	} {
		t.Run(name, func(t *testing.T) {
			got := observe(t, c.spec, status)
			if len(got) > 0 != c.follows || c.follows && got[0].Commit != c.commit {
				t.Errorf("%+v", got)
			}
		})
	}
}
