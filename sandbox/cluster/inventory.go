package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// Inventory keeps account of what is put on a cluster that has other people's
// things on it, too, so that just that can be taken off again.
type Inventory interface {
	// Claim is asked before an object is written; there is what the cluster has
	// by its name, nil for nothing. It may add to the object, and notes it before
	// it returns. An object that it does not want to be written is left as it is;
	// the error is a *ForeignError where that would not do.
	Claim(o, there *unstructured.Unstructured) (write bool, err error)
	// Made is told how the object has been written.
	Made(o *unstructured.Unstructured) error
}

// ForeignError is about an object that is in the way and is somebody else's.
type ForeignError struct{ Object string }

func (e *ForeignError) Error() string {
	return e.Object + " is there already, and is not this sandbox's: remove it, or use another cluster"
}

// Describe names an object for people.
func Describe(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

func applyWith(ctx context.Context, l Inventory, resource dynamic.ResourceInterface, o *unstructured.Unstructured) error {
	there, err := resource.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		there, err = nil, nil
	}
	if err != nil {
		return err
	}
	o = o.DeepCopy()
	if write, err := l.Claim(o, there); err != nil || !write {
		return err
	}
	// one that somebody makes at this very moment is not taken over
	made, err := patch(ctx, resource, o, there != nil)
	if there == nil && apierrors.IsConflict(err) {
		err = fmt.Errorf("%w: %w", &ForeignError{Describe(o.GetKind(), o.GetNamespace(), o.GetName())}, err)
	}
	if err != nil {
		return err
	}
	return l.Made(made)
}
