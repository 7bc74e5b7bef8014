package attached

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

// identity returns the UID of a cluster's namespace kube-system, which no other
// cluster has.
func identity(ctx context.Context, client *cluster.Client) (types.UID, error) {
	o, err := client.Dynamic.Resource(namespaces).Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return o.GetUID(), nil
}

func get(ctx context.Context, client *cluster.Client, e entry) (*unstructured.Unstructured, error) {
	return client.Find(ctx, e.kind(), e.Namespace, e.Name)
}

// remove deletes objects and waits until they are gone.
func (m *remover) remove(ctx context.Context, entries []entry) error {
	for _, e := range entries {
		if err := m.delete(ctx, e); err != nil {
			return err
		}
	}
	return m.waitGone(ctx, entries, goneWait)
}

// current returns an object of the inventory as it is on the cluster, nil when it
// is gone. A foreign one of the same name counts as gone.
func (m *remover) current(ctx context.Context, e entry) (*unstructured.Unstructured, error) {
	o, err := get(ctx, m.client, e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e, err)
	}
	if o == nil {
		m.record.drop(e)
		return nil, nil
	}
	if e.UID == "" && marked(o, m.record.Sandbox) {
		return o, nil
	}
	if e.UID != o.GetUID() {
		m.note("%s stays: it is another than the one that the sandbox has made", e)
		m.record.drop(e)
		return nil, nil
	}
	return o, nil
}

func (m *remover) delete(ctx context.Context, e entry) error {
	o, err := m.current(ctx, e)
	if err != nil || o == nil || o.GetDeletionTimestamp() != nil {
		return err
	}
	uid, background := o.GetUID(), metav1.DeletePropagationBackground
	err = m.client.Delete(ctx, e.kind(), e.Namespace, e.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background})
	if err != nil {
		return fmt.Errorf("delete %s: %w", e, err)
	}
	return nil
}

// removeFinalizers removes those of the reconcilers. Foreign ones stay.
func (m *remover) removeFinalizers(ctx context.Context, e entry) error {
	o, err := m.current(ctx, e)
	if err != nil || o == nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool {
		return f == "finalizers.fluxcd.io" || strings.HasPrefix(f, "resources-finalizer.argocd.argoproj.io")
	})
	if len(others) == len(o.GetFinalizers()) {
		return nil
	}
	resource, err := m.client.Resource(e.kind(), e.Namespace)
	if err != nil {
		return err
	}
	// with the resourceVersion, so that no concurrent change is undone
	o.SetFinalizers(others)
	_, err = resource.Update(ctx, o, metav1.UpdateOptions{FieldManager: "kalypso"})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("release %s: %w", e, err)
	}
	return nil
}

// waitGone waits until none of the objects is there.
func (m *remover) waitGone(ctx context.Context, entries []entry, limit time.Duration) error {
	left := sets.New(entries...)
	if len(left) == 0 {
		return nil
	}
	return retry.Until(ctx, "the deletion of objects", limit, func(ctx context.Context) (first error) {
		for _, e := range entries {
			if !left.Has(e) {
				continue
			}
			o, err := m.current(ctx, e)
			switch {
			case err != nil:
				return err
			case o == nil:
				left.Delete(e)
			case first == nil:
				first = fmt.Errorf("%s is still there%s", e, deletionBlockers(o))
			}
		}
		return first
	})
}

// deletionBlockers describes what keeps a deleted object, "" when that is not
// known.
func deletionBlockers(o *unstructured.Unstructured) string {
	var why []string
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		kind, _ := m["type"].(string)
		if message, _ := m["message"].(string); m["status"] == "True" && (strings.HasPrefix(kind, "Namespace") || kind == "Terminating") {
			why = append(why, message)
		}
	}
	if f := o.GetFinalizers(); len(f) > 0 {
		why = append(why, "its finalizers are "+strings.Join(f, ", "))
	}
	if len(why) == 0 {
		return ""
	}
	return ": " + strings.Join(why, "; ")
}
