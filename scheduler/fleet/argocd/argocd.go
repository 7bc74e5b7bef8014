// Package argocd observes a cluster whose reconciler is Argo CD, from the
// Applications that follow a branch.
//
// Argo CD has two words where the fleet has one: an Application is synced with
// a revision, and it is healthy. Its trap is that the revision of the status is
// the one it was compared with, not the one that was applied: only together
// with Synced it means that the commit is on the cluster.
package argocd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Applications is the kind that is read.
var Applications = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}

const pageSize = 500

// Cluster is a fleet.Reader and fleet.Observer of the Applications on one cluster. One
// without Argo CD follows nothing.
type Cluster struct {
	Name   string
	Client dynamic.Interface
}

var (
	_ fleet.Reader   = Cluster{}
	_ fleet.Observer = Cluster{}
)

// Observe returns the Applications that follow the branch. One of several
// sources counts when one of them is that branch; its commit is that source's.
func (c Cluster) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	all, err := fleet.Observe(ctx, c, s)
	return slices.CompactFunc(all, func(a, b fleet.Configuration) bool { return a.ID() == b.ID() }), err
}

// Inventory implements fleet.Reader. It never fails: a cluster that cannot be asked is
// Unknown.
func (c Cluster) Inventory(ctx context.Context) (fleet.Snapshot, error) {
	return fleet.Single(c.Name, func() ([]fleet.Subscription, error) { return c.Subscriptions(ctx) }), nil
}

// Subscriptions asks the cluster for all that it follows by Argo CD.
func (c Cluster) Subscriptions(ctx context.Context) (all []fleet.Subscription, err error) {
	page := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := c.Client.Resource(Applications).List(ctx, page)
		if err != nil {
			return nil, fmt.Errorf("list applications: %w", err)
		}
		for i := range list.Items {
			all = append(all, subscriptions(&list.Items[i])...)
		}
		if page.Continue = list.GetContinue(); page.Continue == "" {
			return all, nil
		}
	}
}

// subscriptions are those of an Application, one for each of its sources.
func subscriptions(o *unstructured.Unstructured) []fleet.Subscription {
	common := fleet.Subscription{Kind: fleet.Application, Ref: fleet.Ref{Namespace: o.GetNamespace(), Name: o.GetName()}, Parent: parent(o), Objects: objects(o)}
	common.State, common.Reason = stateOf(o)
	sources, _, _ := unstructured.NestedSlice(o.Object, "spec", "sources")
	revisions, _, _ := unstructured.NestedStringSlice(o.Object, "status", "sync", "revisions")
	several := true
	if source, ok, _ := unstructured.NestedMap(o.Object, "spec", "source"); ok {
		sources, revisions, several = []any{source}, []string{text(o, "status", "sync", "revision")}, false
	}
	var all []fleet.Subscription
	for i, item := range sources {
		source, _ := item.(map[string]any)
		s := common
		s.Repo, _ = source["repoURL"].(string)
		branch, _ := source["targetRevision"].(string)
		s.Branch = strings.TrimPrefix(branch, "refs/heads/")
		s.Path, _ = source["path"].(string)
		if i < len(revisions) {
			s.Commit = revisions[i]
		}
		index := -1
		if several {
			index = i
		}
		s.Applied = applied(o, s.Commit, index)
		s.At = since(o, s, index)
		all = append(all, s)
	}
	return all
}

// applied is the commit of a source that was applied last; index is -1 for the only one.
// What is in sync has the commit that it was compared with, also where nothing of it had
// to be applied.
func applied(o *unstructured.Unstructured, compared string, index int) string {
	if text(o, "status", "sync", "status") == "Synced" {
		return compared
	}
	history := deployments(o)
	if len(history) == 0 {
		return ""
	}
	return revisionOf(history[len(history)-1], index)
}

// deployments are those that Argo CD remembers, the last one last.
func deployments(o *unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "history")
	var all []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// revisionOf is the commit of a source in what has a revision, or revisions.
func revisionOf(m map[string]any, index int) string {
	if index < 0 {
		revision, _ := m["revision"].(string)
		return revision
	}
	revisions, _, _ := unstructured.NestedStringSlice(m, "revisions")
	if index < len(revisions) {
		return revisions[index]
	}
	return ""
}

// since is when an Application came into its state: one that complies, when it was
// deployed with its commit, and another one, when the last sync ended.
func since(o *unstructured.Unstructured, s fleet.Subscription, index int) time.Time {
	if s.State == fleet.Compliant {
		for _, one := range deployments(o) {
			if revisionOf(one, index) == s.Applied {
				return parse(one["deployedAt"])
			}
		}
	}
	finished, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "finishedAt")
	return parse(finished)
}

func parse(v any) time.Time {
	s, _ := v.(string)
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

// parent is the Application that has applied this one, which Argo CD notes in an
// annotation or a label (argo-cd.readthedocs.io, "Resource Tracking").
func parent(o *unstructured.Unstructured) *fleet.Ref {
	app, _, ok := strings.Cut(o.GetAnnotations()["argocd.argoproj.io/tracking-id"], ":")
	if !ok {
		app = o.GetLabels()["app.kubernetes.io/instance"]
	}
	if app == "" {
		return nil
	}
	// an Application of another namespace is noted as NAMESPACE_NAME
	if namespace, name, ok := strings.Cut(app, "_"); ok {
		return &fleet.Ref{Namespace: namespace, Name: name}
	}
	return &fleet.Ref{Namespace: o.GetNamespace(), Name: app}
}

func objects(o *unstructured.Unstructured) []fleet.Object {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "resources")
	var all []fleet.Object
	for _, item := range list {
		m, _ := item.(map[string]any)
		field := func(name string) string { s, _ := m[name].(string); return s }
		all = append(all, fleet.Object{
			Group: field("group"), Kind: field("kind"), Ref: fleet.Ref{Namespace: field("namespace"), Name: field("name")},
			OutOfSync: field("status") == "OutOfSync",
		})
	}
	return all
}

func stateOf(o *unstructured.Unstructured) (fleet.State, string) {
	sync, health := text(o, "status", "sync", "status"), text(o, "status", "health", "status")
	phase, message := text(o, "status", "operationState", "phase"), text(o, "status", "operationState", "message")
	switch {
	case phase == "Running":
		return fleet.Pending, "a sync is under way"
	case problem(o) != "":
		return fleet.NonCompliant, problem(o)
	case (phase == "Failed" || phase == "Error") && text(o, "status", "operationState", "syncResult", "revision") == text(o, "status", "sync", "revision"):
		return fleet.NonCompliant, "the last sync failed: " + message
	case sync == "" || sync == "Unknown":
		return fleet.Pending, "not compared with the repository yet"
	case sync != "Synced":
		return fleet.Pending, "not synced yet"
	case health == "Degraded" || health == "Missing":
		return fleet.NonCompliant, "its health is " + health
	case health == "Suspended":
		return fleet.Suspended, "its health is " + health
	case health != "Healthy":
		return fleet.Pending, "its health is " + cmp.Or(health, "not known yet")
	}
	return fleet.Compliant, ""
}

// problem is what keeps Argo CD from comparing or syncing at all.
func problem(o *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range conditions {
		c, _ := item.(map[string]any)
		kind, _ := c["type"].(string)
		if strings.HasSuffix(kind, "Error") {
			return fmt.Sprintf("%s: %v", kind, c["message"])
		}
	}
	return ""
}

func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}
