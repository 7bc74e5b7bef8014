// Package flux finds out from Flux's own objects on a cluster whether the
// cluster complies with what its GitRepositories contain.
//
// The model: a configuration is a GitRepository that a user, or Azure Arc,
// created on the cluster, with the Kustomizations that apply it. What these
// apply can contain further GitRepositories and Kustomizations, and so on; all of
// them are one tree, and the configuration is compliant when the whole tree is.
//
// [Read] takes two lists from the cluster; everything else is computed from
// them:
//
//	objects, err := flux.Read(ctx, client)
//	for _, c := range objects.Configurations() {
//		for _, s := range objects.Statuses(c) { ... }
//	}
//
// The trap is a Kustomization that is ready with the commit before the one
// that its source has just fetched: its condition Ready is true and not yet
// about the new commit. See [Status].
package flux

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// The kinds of Flux that are read.
var (
	Repositories   = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
	Kustomizations = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
)

const (
	kindRepository    = fleet.GitRepository
	kindKustomization = fleet.Kustomization

	pageSize = 500

	// kustomize-controller marks what it applies with these
	// (fluxcd.io/flux/components/kustomize/kustomizations, "Garbage collection").
	appliedByName      = "kustomize.toolkit.fluxcd.io/name"
	appliedByNamespace = "kustomize.toolkit.fluxcd.io/namespace"
)

// Objects are all GitRepositories and Kustomizations of a cluster at one
// moment.
type Objects struct {
	Repositories, Kustomizations []unstructured.Unstructured
}

// Read lists the objects of the cluster.
func Read(ctx context.Context, client dynamic.Interface) (*Objects, error) {
	repositories, err := list(ctx, client, Repositories)
	if err != nil {
		return nil, err
	}
	// second: a Kustomization is compared with a revision that its source had
	// before, so that it never seems to be ahead of it
	kustomizations, err := list(ctx, client, Kustomizations)
	if err != nil {
		return nil, err
	}
	return &Objects{Repositories: repositories, Kustomizations: kustomizations}, nil
}

func list(ctx context.Context, client dynamic.Interface, kind schema.GroupVersionResource) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	page := metav1.ListOptions{Limit: pageSize}
	for {
		l, err := client.Resource(kind).List(ctx, page)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.Resource, err)
		}
		all = append(all, l.Items...)
		if page.Continue = l.GetContinue(); page.Continue == "" {
			return all, nil
		}
	}
}

// Ref names an object of a kind that the context says.
type Ref = fleet.Ref

func refOf(o *unstructured.Unstructured) Ref {
	return Ref{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// SourceOf is the GitRepository of a Kustomization; false when its source is of
// another kind.
func SourceOf(k *unstructured.Unstructured) (Ref, bool) {
	m, _, _ := unstructured.NestedStringMap(k.Object, "spec", "sourceRef")
	r := Ref{Namespace: m["namespace"], Name: m["name"]}
	if r.Namespace == "" {
		r.Namespace = k.GetNamespace()
	}
	return r, m["kind"] == kindRepository
}

// AppliedBy is the Kustomization that applied an object; false for one that no
// Kustomization applied.
func AppliedBy(o *unstructured.Unstructured) (Ref, bool) {
	l := o.GetLabels()
	return Ref{Namespace: l[appliedByNamespace], Name: l[appliedByName]}, l[appliedByName] != ""
}

// Configuration is a GitRepository that no Kustomization applied, with the
// Kustomizations that have it as their source.
type Configuration struct {
	Repository     *unstructured.Unstructured
	Kustomizations []*unstructured.Unstructured // by name
}

// Configurations are those of the cluster, by namespace and name.
func (o *Objects) Configurations() []Configuration {
	var all []Configuration
	for i := range o.Repositories {
		r := &o.Repositories[i]
		if _, applied := AppliedBy(r); applied {
			continue
		}
		c := Configuration{Repository: r}
		for j := range o.Kustomizations {
			k := &o.Kustomizations[j]
			if _, applied := AppliedBy(k); applied {
				continue
			}
			if source, ok := SourceOf(k); ok && source == refOf(r) {
				c.Kustomizations = append(c.Kustomizations, k)
			}
		}
		slices.SortFunc(c.Kustomizations, compare)
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Configuration) int { return compare(a.Repository, b.Repository) })
	return all
}

func compare(a, b *unstructured.Unstructured) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

// Statuses are those of the configuration's repository, of its Kustomizations,
// and of everything that these applied, in this order.
func (o *Objects) Statuses(c Configuration) []Status {
	all := []Status{repositoryStatus(c.Repository)}
	reached := map[Ref]bool{}
	next := c.Kustomizations
	for len(next) > 0 {
		level := next
		next = nil
		for _, k := range level {
			// two Kustomizations can apply each other
			if reached[refOf(k)] {
				continue
			}
			reached[refOf(k)] = true
			all = append(all, kustomizationStatus(k, o.revisionOf(k)))
			for _, r := range o.appliedBy(o.Repositories, refOf(k)) {
				all = append(all, repositoryStatus(r))
			}
			next = append(next, o.appliedBy(o.Kustomizations, refOf(k))...)
		}
	}
	return all
}

func (o *Objects) appliedBy(from []unstructured.Unstructured, by Ref) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for i := range from {
		if r, ok := AppliedBy(&from[i]); ok && r == by {
			all = append(all, &from[i])
		}
	}
	slices.SortFunc(all, compare)
	return all
}

// revisionOf is what the source of a Kustomization has fetched; "" when it is
// not known, as for sources of other kinds.
func (o *Objects) revisionOf(k *unstructured.Unstructured) string {
	source, ok := SourceOf(k)
	if !ok {
		return ""
	}
	for i := range o.Repositories {
		if refOf(&o.Repositories[i]) == source {
			return Revision(&o.Repositories[i])
		}
	}
	return ""
}

// Revision is what a GitRepository has fetched last, "" before the first time.
func Revision(repository *unstructured.Unstructured) string {
	return text(repository, "status", "artifact", "revision")
}

func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}
