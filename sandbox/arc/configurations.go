package arc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/armemulator"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	secrets    = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	namespaces = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
)

const (
	// configurationLabel is on all objects that the emulator makes; its value
	// is the configuration's name.
	configurationLabel = "arc.kalypso.dev/configuration"
	// armAnnotation, on the GitRepository, is what ARM knows and Flux does not.
	armAnnotation = "arc.kalypso.dev/arm"
)

// armOnly is the content of armAnnotation.
type armOnly struct {
	Scope       string             `json:"scope"`
	ClusterType armapi.ClusterType `json:"clusterType"`
	Created     time.Time          `json:"created"`
	Modified    time.Time          `json:"modified"`
}

// entry is a configuration with the objects that it was read from.
type entry struct {
	only  armOnly
	flux  flux.Configuration
	shown armapi.Configuration
}

func (s *backend) Configurations(ctx context.Context, c armapi.Cluster) ([]armapi.Configuration, error) {
	entries, err := s.entries(ctx, c)
	if err == nil {
		var all []armapi.Configuration
		for _, e := range entries {
			all = append(all, e.shown)
		}
		return all, s.seen.keep(c.Name, s.now(), all)
	}
	if !isOffline(err) {
		return nil, fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	last, known := s.seen.recall(c.Name)
	if !known {
		return nil, armemulator.Errorf(http.StatusConflict, "ClusterOffline", "The cluster '%s' is offline and has not been seen before, so it is not known what it follows.", c.Name)
	}
	return last.Configurations, nil
}

func (s *backend) entries(ctx context.Context, of armapi.Cluster) ([]entry, error) {
	client, err := s.client(of)
	if err != nil {
		return nil, err
	}
	objects, err := flux.Read(ctx, client.Dynamic)
	if apierrors.IsNotFound(err) {
		return nil, nil // a cluster without Flux's kinds has none of its objects
	}
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, f := range objects.Configurations() {
		if !isConfiguration(f) {
			continue
		}
		auth, err := authSecret(ctx, client, f.Repository)
		if err != nil {
			return nil, err
		}
		only := armOnlyOf(f.Repository)
		c := show(f, objects.Statuses(f), auth, only, s.now())
		of.Type = only.ClusterType
		c.ID = of.ConfigurationID(c.Name)
		all = append(all, entry{only, f, c})
	}
	return all, nil
}

// isConfiguration is whether Azure's agent could have made it: Kustomizations
// are named after their source.
func isConfiguration(f flux.Configuration) bool {
	if f.Repository.GetLabels()[configurationLabel] != "" {
		return true
	}
	for _, k := range f.Kustomizations {
		if strings.HasPrefix(k.GetName(), f.Repository.GetName()+"-") {
			return true
		}
	}
	return false
}

// armOnlyOf is the annotation, or what fits an object without one.
func armOnlyOf(repository *unstructured.Unstructured) armOnly {
	var only armOnly
	if json.Unmarshal([]byte(repository.GetAnnotations()[armAnnotation]), &only) == nil && only.ClusterType.Provider() != "" {
		return only
	}
	created := repository.GetCreationTimestamp().UTC()
	return armOnly{Scope: "cluster", ClusterType: armapi.ConnectedClusters, Created: created, Modified: created}
}

// authSecret is the data of the repository's secret, nil when there is none.
func authSecret(ctx context.Context, client *cluster.Client, repository *unstructured.Unstructured) (secret, error) {
	ref := specOf[repositorySpec](repository).SecretRef
	if ref == nil || ref.Name != repository.GetName()+"-auth" {
		return nil, nil
	}
	o, err := client.Find(ctx, secrets, repository.GetNamespace(), ref.Name)
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", ref.Name, err)
	}
	if o == nil {
		return nil, nil
	}
	return dataOf(o)
}

func dataOf(o *unstructured.Unstructured) (secret, error) {
	var data secret
	b, err := json.Marshal(o.Object["data"])
	if err == nil {
		err = json.Unmarshal(b, &data)
	}
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", o.GetName(), err)
	}
	return data, nil
}

// find returns the configuration of a name, nil when there is none.
func (s *backend) find(ctx context.Context, c armapi.Cluster, name string) (*entry, error) {
	entries, err := s.entries(ctx, c)
	if err != nil {
		if isOffline(err) {
			return nil, offline(c.Name)
		}
		return nil, fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	i := slices.IndexFunc(entries, func(e entry) bool { return e.shown.Name == name && e.only.ClusterType == c.Type })
	if i < 0 {
		return nil, nil
	}
	return &entries[i], nil
}

// Write implements armemulator.Backend: it makes the cluster have the objects of
// the configuration, and deletes the Kustomizations that it no longer has.
func (s *backend) Write(ctx context.Context, c armapi.Cluster, name string, p armapi.Properties, keep bool) error {
	before, err := s.find(ctx, c, name)
	if err != nil {
		return err
	}
	client, err := s.client(c)
	if err != nil {
		return err
	}
	only := armOnly{Scope: p.Scope, ClusterType: c.Type, Created: s.now(), Modified: s.now()}
	if before != nil {
		only.Created = before.only.Created
		if keep {
			if err := keepCredentials(ctx, client, before, &p); err != nil {
				return err
			}
		}
	}
	auth, err := credentials(p)
	if err != nil {
		return err
	}
	objects, err := manifests(name, p, only, auth)
	if err != nil {
		return err
	}
	if err := apply(ctx, client, p.Namespace, objects); err != nil {
		var foreign *cluster.ForeignError
		switch {
		case errors.As(err, &foreign):
			return armemulator.Errorf(http.StatusConflict, "Conflict", "The configuration '%s' is in the way of others: %s", name, err)
		case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
			return armemulator.Errorf(http.StatusBadRequest, "ValidationFailed", "The cluster refuses the configuration: %s", err)
		}
		return fmt.Errorf("write configuration %s to cluster %s: %w", name, c.Name, err)
	}
	if before == nil {
		return nil
	}
	return prune(ctx, client, before, p)
}

// keepCredentials gives a configuration the protected settings that it has on
// the cluster and that are not given anew: ARM never returns them.
func keepCredentials(ctx context.Context, client *cluster.Client, before *entry, to *armapi.Properties) error {
	o, err := ownSecret(ctx, client, before.flux.Repository)
	if o == nil || err != nil {
		return err
	}
	data, err := dataOf(o)
	for setting, key := range map[string]string{"httpsKey": "password", "sshPrivateKey": "identity"} {
		if _, given := to.ProtectedSettings[setting]; !given && len(data[key]) > 0 {
			if to.ProtectedSettings == nil {
				to.ProtectedSettings = map[string]string{}
			}
			to.ProtectedSettings[setting] = base64.StdEncoding.EncodeToString(data[key])
		}
	}
	return err
}

// apply makes the namespace if there is none, and the objects.
func apply(ctx context.Context, client *cluster.Client, namespace string, objects []byte) error {
	there, err := client.Find(ctx, namespaces, "", namespace)
	if there == nil && err == nil {
		err = client.Apply(ctx, fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %q}\n", namespace))
	}
	if err != nil {
		return fmt.Errorf("namespace %s: %w", namespace, err)
	}
	return client.Apply(ctx, objects)
}

// prune deletes what a configuration had and has no longer.
func prune(ctx context.Context, client *cluster.Client, before *entry, now armapi.Properties) error {
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

// ownSecret is a configuration's secret, nil when there is none or a user made
// it. That of a configuration from before the emulator has no label; its field
// manager says whose it is.
func ownSecret(ctx context.Context, client *cluster.Client, repository *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	name := repository.GetName() + "-auth"
	o, err := client.Find(ctx, secrets, repository.GetNamespace(), name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("secret %s: %w", name, err)
	case o == nil:
	case o.GetLabels()[configurationLabel] == repository.GetName(),
		slices.ContainsFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Manager == "kalypso" }):
		return o, nil
	}
	return nil, nil
}

func removeSecret(ctx context.Context, client *cluster.Client, repository *unstructured.Unstructured) error {
	o, err := ownSecret(ctx, client, repository)
	if o == nil || err != nil {
		return err
	}
	if err := client.Delete(ctx, secrets, o.GetNamespace(), o.GetName(), metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete secret %s: %w", o.GetName(), err)
	}
	return nil
}

// remove deletes an object; with force it does not wait for its
// finalizers.
func remove(ctx context.Context, client *cluster.Client, kind schema.GroupVersionResource, namespace, name string, force bool) error {
	objects := client.Dynamic.Resource(kind).Namespace(namespace)
	err := objects.Delete(ctx, name, metav1.DeleteOptions{})
	if err == nil && force {
		_, err = objects.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{FieldManager: "kalypso"})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s %s: %w", kind.Resource, name, err)
	}
	return nil
}

func (s *backend) Delete(ctx context.Context, c armapi.Cluster, name string, force bool) (bool, error) {
	found, err := s.find(ctx, c, name)
	if found == nil || err != nil {
		return false, err
	}
	client, err := s.client(c)
	if err != nil {
		return false, err
	}
	repository := found.flux.Repository
	if client.Inventory != nil && cluster.Foreign(repository) {
		return false, armemulator.Errorf(http.StatusConflict, "Conflict", "The configuration '%s' is not the sandbox's: it was there before, and stays.", name)
	}
	var failed []error
	for _, k := range found.flux.Kustomizations {
		failed = append(failed, remove(ctx, client, flux.Kustomizations, k.GetNamespace(), k.GetName(), force))
	}
	if errors.Join(failed...) == nil {
		failed = append(failed,
			remove(ctx, client, flux.Repositories, repository.GetNamespace(), repository.GetName(), force),
			removeSecret(ctx, client, repository))
	}
	if err := errors.Join(failed...); err != nil {
		return false, fmt.Errorf("delete configuration %s from cluster %s: %w", name, c.Name, err)
	}
	return true, nil
}

// Progress implements armemulator.Backend: a write is done when something of the
// configuration is on the cluster, a deletion when nothing is. While its
// Kustomizations clean up, the GitRepository may be gone already.
func (s *backend) Progress(ctx context.Context, c armapi.Cluster, name string, deletion bool) (bool, *armemulator.Error, error) {
	client, err := s.client(c)
	var objects *flux.Objects
	if err == nil {
		objects, err = flux.Read(ctx, client.Dynamic)
	}
	if err != nil {
		if isOffline(err) {
			return false, nil, offline(c.Name)
		}
		return false, nil, fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	exists := slices.ContainsFunc(objects.Repositories, func(r unstructured.Unstructured) bool {
		_, applied := flux.AppliedBy(&r)
		return !applied && r.GetName() == name
	}) || slices.ContainsFunc(objects.Kustomizations, func(k unstructured.Unstructured) bool {
		_, applied := flux.AppliedBy(&k)
		source, _ := flux.SourceOf(&k)
		return !applied && source.Name == name && strings.HasPrefix(k.GetName(), name+"-")
	})
	return exists != deletion, nil, nil
}
