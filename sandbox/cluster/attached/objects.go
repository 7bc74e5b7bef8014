package attached

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

// identity is what no two clusters have in common.
func identity(ctx context.Context, client *cluster.Client) (types.UID, error) {
	o, err := client.Dynamic.Resource(namespaces).Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return o.GetUID(), nil
}

// get returns nil for an object, or a kind, that there is not.
func get(ctx context.Context, client *cluster.Client, e entry) (*unstructured.Unstructured, error) {
	resource, err := client.Resource(e.kind(), e.Namespace)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o, err := resource.Get(ctx, e.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}

// listAll returns nothing for a kind that there is not.
func listAll(ctx context.Context, client *cluster.Client, kind schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error) {
	resource, err := client.Resource(kind, namespace)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := resource.List(ctx, metav1.ListOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return nil, err
	}
	return list.Items, nil
}
