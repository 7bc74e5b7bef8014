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

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Applications is the kind that is read.
var Applications = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}

const pageSize = 500

// Cluster is a fleet.Observer of the Applications on one cluster.
type Cluster struct {
	Name   string
	Client dynamic.Interface
}

var _ fleet.Observer = Cluster{}

// Observe returns the Applications that follow the branch. One of several
// sources counts when one of them is that branch; its commit is that source's.
func (c Cluster) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	var all []fleet.Configuration
	page := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := c.Client.Resource(Applications).List(ctx, page)
		if err != nil {
			return nil, fmt.Errorf("cluster %s: list applications: %w", c.Name, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if commit, ok := observed(o, s); ok {
				state, reason := stateOf(o)
				all = append(all, fleet.Configuration{Cluster: c.Name, Name: o.GetName(), Commit: commit, State: state, Reason: reason})
			}
		}
		if page.Continue = list.GetContinue(); page.Continue == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b fleet.Configuration) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// observed is the commit that the Application was last compared with; false
// when none of its sources is the branch.
func observed(o *unstructured.Unstructured, s fleet.Source) (string, bool) {
	if source, ok, _ := unstructured.NestedMap(o.Object, "spec", "source"); ok {
		return text(o, "status", "sync", "revision"), follows(source, s)
	}
	sources, _, _ := unstructured.NestedSlice(o.Object, "spec", "sources")
	revisions, _, _ := unstructured.NestedStringSlice(o.Object, "status", "sync", "revisions")
	for i, item := range sources {
		if source, ok := item.(map[string]any); ok && follows(source, s) {
			if i < len(revisions) {
				return revisions[i], true
			}
			return "", true
		}
	}
	return "", false
}

func follows(source map[string]any, s fleet.Source) bool {
	url, _ := source["repoURL"].(string)
	branch, _ := source["targetRevision"].(string)
	return strings.TrimPrefix(branch, "refs/heads/") == s.Branch && fleet.SameRepository(url, s.Repo)
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
