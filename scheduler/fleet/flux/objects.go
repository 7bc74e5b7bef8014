// Package flux finds out from Flux's own objects on a cluster how far the
// cluster is with what its GitRepositories bring.
//
// The model: a configuration is a GitRepository that people, or Azure Arc, put
// on the cluster, with the Kustomizations that apply it. What these bring can
// hold further GitRepositories and Kustomizations, and so on; all of them are
// one tree, and the configuration is compliant when the whole tree is.
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
// that its source has just fetched: its condition Ready is true and says
// nothing yet about the new commit. See [Status].
package flux

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// The kinds of Flux that are looked at.
var (
	Repositories   = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
	Kustomizations = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
)

const (
	kindRepository    = "GitRepository"
	kindKustomization = "Kustomization"

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
	// second: a Kustomization is compared with what its source had before, so
	// that it is never taken for ahead of it
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

// Ref names an object of a kind that the context tells.
type Ref struct{ Namespace, Name string }

func refOf(o *unstructured.Unstructured) Ref { return Ref{o.GetNamespace(), o.GetName()} }

// SourceOf is the GitRepository of a Kustomization; false when its source is of
// another kind.
func SourceOf(k *unstructured.Unstructured) (Ref, bool) {
	m, _, _ := unstructured.NestedStringMap(k.Object, "spec", "sourceRef")
	r := Ref{m["namespace"], m["name"]}
	if r.Namespace == "" {
		r.Namespace = k.GetNamespace()
	}
	return r, m["kind"] == kindRepository
}

// AppliedBy is the Kustomization that brought an object; false for one that
// came by other ways.
func AppliedBy(o *unstructured.Unstructured) (Ref, bool) {
	l := o.GetLabels()
	return Ref{l[appliedByNamespace], l[appliedByName]}, l[appliedByName] != ""
}
