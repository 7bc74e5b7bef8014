package incluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/wait"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// Remove takes objects of [Flux.Objects] or [ArgoCD.Objects] off a cluster, from
// the last to the first, and waits at most limit for each that goes slowly.
//
// The kinds go first that way, and with them all that is of them, while there
// still is a controller that lets go of it: Flux takes away what it has applied,
// if it was told to prune. The namespace goes last, with all that is in it,
// whoever has put it there.
func Remove(ctx context.Context, c *cluster.Client, objects []*unstructured.Unstructured, limit time.Duration) error {
	for _, o := range slices.Backward(objects) {
		if err := remove(ctx, c, o, limit); err != nil {
			return fmt.Errorf("remove %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

func remove(ctx context.Context, c *cluster.Client, o *unstructured.Unstructured, limit time.Duration) error {
	door, err := c.Resource(o.GroupVersionKind(), o.GetNamespace())
	if meta.IsNoMatchError(err) {
		return nil // with the kind, all that is of it is gone
	}
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	err = door.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || o.GetKind() != definition && o.GetKind() != "Namespace" {
		return err
	}
	return wait.For(ctx, "its end", limit, func(ctx context.Context) error { return gone(ctx, door, o.GetName()) })
}

// gone returns nil when there is no object of that name, and why it is still
// there otherwise.
func gone(ctx context.Context, door dynamic.ResourceInterface, name string) error {
	o, err := door.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		switch m["type"] {
		case "Terminating", "NamespaceContentRemaining", "NamespaceFinalizersRemaining":
			if m["status"] == "True" {
				return fmt.Errorf("%v: %v", m["reason"], m["message"])
			}
		}
	}
	return errors.New("it is being removed")
}
