package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// fieldManager owns what kalypso sets on a cluster, in server-side apply.
const fieldManager = "kalypso"

// Client reads and writes objects of any kind on one cluster.
type Client struct {
	Dynamic   dynamic.Interface
	Discovery discovery.DiscoveryInterface
	// Inventory records what Apply creates; nil on clusters that are the sandbox's
	// own.
	Inventory Inventory

	mu     sync.Mutex
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// NewClient connects through a context of a kubeconfig file; no context means
// the current one. It reads the file only: whether the cluster answers shows
// with the first call.
func NewClient(kubeconfig, context string) (*Client, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, err
	}
	return ForConfig(config)
}

// ForConfig is NewClient with a configuration that was read already.
func ForConfig(config *rest.Config) (*Client, error) {
	config.QPS, config.Burst = 200, 400
	config.WarningHandler = rest.NoWarnings{}
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	dc, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Client{
		Dynamic:   d,
		Discovery: dc,
		mapper:    restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(dc)),
	}, nil
}

// Healthy returns nil when the API server is ready.
func (c *Client) Healthy(ctx context.Context) error {
	body, err := c.Discovery.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	if err == nil {
		return nil
	}
	if checks := failedChecks(body); len(checks) > 0 {
		return fmt.Errorf("API server is not ready: %s", strings.Join(checks, ", "))
	}
	return fmt.Errorf("API server: %w", err)
}

// failedChecks are the names on lines such as "[-]informer-sync failed: ...".
func failedChecks(body []byte) []string {
	var names []string
	for line := range strings.Lines(string(body)) {
		if rest, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ := strings.Cut(rest, " ")
			names = append(names, name)
		}
	}
	return names
}

// Apply makes the objects of a YAML stream be on the cluster as they are
// written, in their order, by server-side apply.
func (c *Client) Apply(ctx context.Context, manifests []byte) error {
	objects, err := Decode(manifests)
	if err != nil {
		return err
	}
	return c.ApplyObjects(ctx, objects...)
}

// ApplyObjects is Apply of objects.
func (c *Client) ApplyObjects(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, o := range objects {
		var foreign *ForeignError
		if err := c.apply(ctx, o); errors.As(err, &foreign) {
			return err // it names the object
		} else if err != nil {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

func (c *Client) apply(ctx context.Context, o *unstructured.Unstructured) error {
	resource, err := c.Resource(o.GroupVersionKind(), o.GetNamespace())
	if err != nil {
		return err
	}
	if c.Inventory != nil {
		return applyWith(ctx, c.Inventory, resource, o)
	}
	_, err = patch(ctx, resource, o, true)
	return err
}

// patch applies; with force it takes fields over from others.
func patch(ctx context.Context, resource dynamic.ResourceInterface, o *unstructured.Unstructured, force bool) (*unstructured.Unstructured, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return resource.Patch(ctx, o.GetName(), types.ApplyPatchType, b, metav1.PatchOptions{FieldManager: fieldManager, Force: &force})
}

// Foreign reports whether an object was written by others only, and not by Apply.
func Foreign(o *unstructured.Unstructured) bool {
	fields := o.GetManagedFields()
	return len(fields) > 0 && !slices.ContainsFunc(fields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == fieldManager })
}

// Resource returns the client of a kind's objects, in a namespace if the kind has
// one. The kinds of the cluster are read again when this one is not
// known, since it may have come since.
func (c *Client) Resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.Dynamic.Resource(mapping.Resource).Namespace(namespace), nil
	}
	return c.Dynamic.Resource(mapping.Resource), nil
}

// Get returns an object.
func (c *Client) Get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	resource, err := c.Resource(kind, namespace)
	if err != nil {
		return nil, err
	}
	return resource.Get(ctx, name, metav1.GetOptions{})
}

// Find is Get, with nil for an object, or a kind, that does not exist.
func (c *Client) Find(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	o, err := c.Get(ctx, kind, namespace, name)
	if absent(err) {
		return nil, nil
	}
	return o, err
}

// List returns the objects of a kind, in a namespace if one is named; none for a
// kind that does not exist.
func (c *Client) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) ([]unstructured.Unstructured, error) {
	resource, err := c.Resource(kind, namespace)
	if err == nil {
		var list *unstructured.UnstructuredList
		if list, err = resource.List(ctx, o); err == nil {
			return list.Items, nil
		}
	}
	if absent(err) {
		err = nil
	}
	return nil, err
}

// Delete deletes an object; one that does not exist is no error.
func (c *Client) Delete(ctx context.Context, kind schema.GroupVersionKind, namespace, name string, o metav1.DeleteOptions) error {
	resource, err := c.Resource(kind, namespace)
	if err == nil {
		err = resource.Delete(ctx, name, o)
	}
	if absent(err) {
		return nil
	}
	return err
}

func absent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// Condition returns nil when the object's condition is True, and an error with
// the condition's reason and message otherwise.
func Condition(o *unstructured.Unstructured, kind string) error {
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, c := range conditions {
		m, ok := c.(map[string]any)
		if !ok || m["type"] != kind {
			continue
		}
		if m["status"] == "True" {
			return nil
		}
		return fmt.Errorf("%s %s is not %s: %v: %v", o.GetKind(), o.GetName(), kind, m["reason"], m["message"])
	}
	return fmt.Errorf("%s %s has no condition %s yet", o.GetKind(), o.GetName(), kind)
}

// Decode reads a stream of YAML documents; empty ones are left out.
func Decode(manifests []byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := d.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

// Inventory records the objects that are created on a cluster which also has
// foreign objects, so that exactly these can be deleted again.
type Inventory interface {
	// Claim is called before an object is written; there is the object of that
	// name on the cluster, nil for none. It may add to the object, and has
	// recorded it when it returns. write is false for a foreign object that can be
	// used as it is; for others the error is a *ForeignError.
	Claim(o, there *unstructured.Unstructured) (write bool, err error)
	// Made is called with the object as it has been written.
	Made(o *unstructured.Unstructured) error
}

// ForeignError is about a foreign object with a name that the sandbox needs.
type ForeignError struct{ Object string }

func (e *ForeignError) Error() string {
	return e.Object + " is there already, and is not this sandbox's: remove it, or use another cluster"
}

// Describe names an object in messages.
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
	// without force, so that a foreign object created meanwhile is not taken over
	made, err := patch(ctx, resource, o, there != nil)
	if there == nil && apierrors.IsConflict(err) {
		err = fmt.Errorf("%w: %w", &ForeignError{Describe(o.GetKind(), o.GetNamespace(), o.GetName())}, err)
	}
	if err != nil {
		return err
	}
	return l.Made(made)
}
