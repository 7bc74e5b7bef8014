package incluster

import (
	"context"
	"slices"

	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Objects are all that Install puts on the cluster.
func (f Flux) Objects(context.Context) ([]*unstructured.Unstructured, error) {
	objects, err := f.manifests()
	if err != nil {
		return nil, err
	}
	kinds, err := gitops.Kinds(f.kinds())
	return append(objects, kinds...), err
}

// Objects are all that Install puts on the cluster. The secrets have nothing in
// them.
func (a ArgoCD) Objects(ctx context.Context) ([]*unstructured.Unstructured, error) {
	settings, err := a.settings().Settings()
	if err != nil {
		return nil, err
	}
	kinds, err := gitops.Kinds(a.settings().Kinds)
	if err != nil {
		return nil, err
	}
	objects, err := a.manifests(ctx)
	return slices.Concat(settings, []*unstructured.Unstructured{cacheSecret("")}, objects, kinds), err
}
