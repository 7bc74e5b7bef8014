package attached

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// usedDefinition returns what uses a definition, "" for nothing.
func (m *remover) usedDefinition(ctx context.Context, definition entry) (string, error) {
	for r, suffix := range map[Reconciler]string{Flux: ".toolkit.fluxcd.io", ArgoCD: "." + application.Group} {
		if in := m.reconcilers[r]; in != "" && strings.HasSuffix(definition.Name, suffix) {
			return fmt.Sprintf("%s in namespace %s needs it", r, in), nil
		}
	}
	return usage(m.instance(ctx, definition))
}

// usedNamespace returns what uses a namespace, "" for nothing.
func (m *remover) usedNamespace(ctx context.Context, namespace entry) (string, error) {
	return usage(m.foreignObject(ctx, namespace))
}

func usage(name string, err error) (string, error) {
	if name == "" || err != nil {
		return "", err
	}
	return "it holds " + name + ", which is not of the sandbox", nil
}

// instance names an object of a kind that is still there, "" for none. Those of
// the sandbox are gone already.
func (m *remover) instance(ctx context.Context, definition entry) (string, error) {
	o, err := get(ctx, m.client, definition)
	if err != nil || o == nil {
		return "", err
	}
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
	versions := served(o)
	if len(versions) == 0 {
		return "", nil
	}
	list, err := m.client.List(ctx, schema.GroupVersionKind{Group: group, Version: versions[0], Kind: kind}, "", metav1.ListOptions{})
	if err != nil || len(list) == 0 {
		return "", err
	}
	return entryOf(&list[0]).String(), nil
}

// dependentKinds are those whose objects come and go with others, or by
// themselves.
var dependentKinds = []string{"Endpoints", "EndpointSlice", "Event", "Lease"}

// foreignObject names a foreign object in a namespace, "" for none. The sandbox's
// own are gone already.
func (m *remover) foreignObject(ctx context.Context, namespace entry) (string, error) {
	all, err := m.listable(true)
	if err != nil {
		return "", err
	}
	for _, r := range all {
		name, err := m.foreignObjectOf(ctx, r, namespace.Name)
		if name != "" || err != nil {
			return name, err
		}
	}
	return "", nil
}

// listable are the kinds of objects that can be listed and deleted: all, or
// those in namespaces.
func (m *remover) listable(namespaced bool) ([]schema.GroupVersionResource, error) {
	lists, err := m.client.Discovery.ServerPreferredResources()
	if err != nil && len(lists) == 0 {
		return nil, err // some groups that do not answer are no reason to stop
	}
	var all []schema.GroupVersionResource
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range l.APIResources {
			if namespaced && !r.Namespaced || strings.Contains(r.Name, "/") || slices.Contains(dependentKinds, r.Kind) ||
				!slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") {
				continue
			}
			all = append(all, gv.WithResource(r.Name))
		}
	}
	return all, nil
}

// unlisted reports whether an error of a list means that kalypso has applied no
// such object: with the user's rights it could not have.
func unlisted(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

func (m *remover) foreignObjectOf(ctx context.Context, r schema.GroupVersionResource, namespace string) (string, error) {
	list, err := m.client.Dynamic.Resource(r).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if unlisted(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, o := range list.Items {
		if len(o.GetOwnerReferences()) > 0 || o.GetDeletionTimestamp() != nil {
			continue // it goes with another
		}
		kind, _, _ := unstructured.NestedString(o.Object, "type")
		if kind == "kubernetes.io/service-account-token" || kind == "kubernetes.io/dockercfg" {
			continue // made for each account
		}
		everywhere, err := m.everywhere(ctx, r, o.GetName())
		if err != nil {
			return "", err
		}
		if !everywhere {
			return entryOf(&o).String(), nil
		}
	}
	return "", nil
}

// everywhere reports whether the namespace default has an object of that name,
// too: then each namespace gets one, such as the account default, or the
// certificate of a service mesh.
func (m *remover) everywhere(ctx context.Context, r schema.GroupVersionResource, name string) (bool, error) {
	_, err := m.client.Dynamic.Resource(r).Namespace(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
