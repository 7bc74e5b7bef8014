package arc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// apply makes the cluster have the configuration, takes away the Kustomizations
// that it no longer has, and answers with an operation to follow.
func (s *server) apply(r *http.Request, p path, before *entry, properties arc.Properties) (*answer, error) {
	if err := check(p.configuration, &properties); err != nil {
		return nil, err
	}
	c := s.exact(p)
	only := armOnly{Scope: properties.Scope, ClusterType: c.Type, Created: s.now(), Modified: s.now()}
	if before != nil {
		was := before.shown.Properties
		if was.Namespace != properties.Namespace || was.Scope != properties.Scope {
			return nil, invalid("The scope and the namespace of a configuration cannot be changed: '%s' has the scope '%s' and the namespace '%s'.", p.configuration, was.Scope, was.Namespace)
		}
		if was.ProvisioningState == "Deleting" {
			return nil, errorf(http.StatusConflict, "Conflict", "The configuration '%s' is being deleted.", p.configuration)
		}
		only.Created = *before.shown.SystemData.CreatedAt
	}
	secret, err := credentials(properties)
	if err != nil {
		return nil, err
	}
	objects, err := manifests(p.configuration, properties, only, secret)
	if err != nil {
		return nil, err
	}
	client, err := s.Clusters.Client(c.Name)
	if err != nil {
		return nil, err
	}
	if err := write(r.Context(), client, properties.Namespace, objects); err != nil {
		var foreign *cluster.ForeignError
		switch {
		case errors.As(err, &foreign):
			return nil, errorf(http.StatusConflict, "Conflict", "The configuration '%s' is in the way of others: %s", p.configuration, err)
		case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
			return nil, invalid("The cluster refuses the configuration: %s", err)
		}
		return nil, fmt.Errorf("write configuration %s to cluster %s: %w", p.configuration, c.Name, err)
	}
	status, state := http.StatusCreated, "Creating"
	if before != nil {
		status, state = http.StatusOK, "Updating"
		if err := s.tidy(r.Context(), client, before, properties); err != nil {
			return nil, err
		}
	}
	after, err := s.find(r.Context(), p)
	if err != nil {
		return nil, err
	}
	if after == nil {
		return nil, fmt.Errorf("configuration %s is gone from cluster %s", p.configuration, c.Name)
	}
	after.shown.Properties.ProvisioningState = state
	return &answer{status: status, header: s.followUp(r, c, p.configuration, operationWrite), body: after.shown}, nil
}

// write makes the namespace if there is none, and the objects.
func write(ctx context.Context, client *cluster.Client, namespace string, objects []byte) error {
	_, err := client.Dynamic.Resource(namespaces).Get(ctx, namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		err = client.Apply(ctx, fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %q}\n", namespace))
	}
	if err != nil {
		return fmt.Errorf("namespace %s: %w", namespace, err)
	}
	return client.Apply(ctx, objects)
}

// tidy removes what a configuration had and has no longer.
func (s *server) tidy(ctx context.Context, client *cluster.Client, before *entry, now arc.Properties) error {
	for _, k := range before.flux.Kustomizations {
		if _, still := now.Kustomizations[showKustomization(k, before.shown.Name).Name]; still {
			continue
		}
		if err := remove(ctx, client, flux.Kustomizations, k.GetNamespace(), k.GetName(), false); err != nil {
			return err
		}
	}
	if !hasCredentials(now) {
		return removeSecret(ctx, client, before.flux.Repository)
	}
	return nil
}

// removeSecret removes a configuration's secret, but none that people made.
// That of a configuration from before the emulation has no label; its manager
// tells whose it is.
func removeSecret(ctx context.Context, client *cluster.Client, repository *unstructured.Unstructured) error {
	name := repository.GetName() + "-auth"
	o, err := client.Dynamic.Resource(secrets).Namespace(repository.GetNamespace()).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && !isOurs(o, repository.GetName()) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("secret %s: %w", name, err)
	}
	return remove(ctx, client, secrets, repository.GetNamespace(), name, false)
}

func isOurs(o *unstructured.Unstructured, configuration string) bool {
	return o.GetLabels()[configurationLabel] == configuration ||
		slices.ContainsFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Manager == "kalypso" })
}

// remove deletes an object; with force it does not wait for those who want to
// clean up after it.
func remove(ctx context.Context, client *cluster.Client, kind schema.GroupVersionResource, namespace, name string, force bool) error {
	door := client.Dynamic.Resource(kind).Namespace(namespace)
	err := door.Delete(ctx, name, metav1.DeleteOptions{})
	if err == nil && force {
		_, err = door.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{FieldManager: "kalypso"})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s %s: %w", kind.Resource, name, err)
	}
	return nil
}
