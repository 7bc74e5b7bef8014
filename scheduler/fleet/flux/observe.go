package flux

import (
	"context"
	"fmt"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
)

// Cluster is a fleet.Observer of one cluster, by its own API.
type Cluster struct {
	Name   string
	Client dynamic.Interface
}

var _ fleet.Observer = Cluster{}

// Observe returns the cluster's configurations that follow the branch.
func (c Cluster) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	objects, err := Read(ctx, c.Client)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	var all []fleet.Configuration
	for _, one := range objects.Configurations() {
		if !Follows(one.Repository, s) {
			continue
		}
		state, reason := Combined(objects.Statuses(one))
		all = append(all, fleet.Configuration{
			Cluster: c.Name, Name: one.Repository.GetName(),
			Commit: fleet.CommitOf(Revision(one.Repository)), State: state, Reason: reason,
		})
	}
	return all, nil
}

// Follows tells whether a GitRepository follows the branch.
func Follows(repository *unstructured.Unstructured, s fleet.Source) bool {
	return text(repository, "spec", "ref", "branch") == s.Branch && fleet.SameRepository(text(repository, "spec", "url"), s.Repo)
}

// conditions leaves out what cannot be read as one: Flux's own conversions keep
// that away, and a status without conditions counts as not looked at.
func conditions(o *unstructured.Unstructured) []metav1.Condition {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	var all []metav1.Condition
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		var c metav1.Condition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &c); err == nil {
			all = append(all, c)
		}
	}
	return all
}
