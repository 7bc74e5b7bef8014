package attached

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// collectApplied adds to the inventory what the reconcilers have applied for its
// subscriptions, and for subscriptions among these in turn.
func (m *remover) collectApplied(ctx context.Context) error {
	queue := m.lastFirst(slices.Concat(m.record.Made, m.record.Applied), listsApplied)
	for len(queue) > 0 {
		e := queue[0]
		queue = queue[1:]
		o, err := m.current(ctx, e)
		if err != nil {
			return err
		}
		if o == nil {
			continue
		}
		labelled, err := m.labelledBy(ctx, o)
		if err != nil {
			return fmt.Errorf("what %s has applied: %w", e, err)
		}
		for _, a := range slices.Concat(appliedBy(o), labelled) {
			known, err := m.adopt(ctx, o, a)
			if err != nil {
				return err
			}
			if known != nil && listsApplied(*known) {
				queue = append(queue, *known)
			}
		}
	}
	return m.save()
}

// listsApplied reports whether the status of an object lists what was applied for
// it.
func listsApplied(e entry) bool {
	return e.Group == kustomization.Group && e.Kind == kustomization.Kind || e.Group == application.Group && e.Kind == application.Kind
}

// adopt adds an object to the inventory that was applied for another, and returns
// its entry if it is new there. Foreign objects are left out: older ones, and
// those without the reconciler's label or annotation.
func (m *remover) adopt(ctx context.Context, by *unstructured.Unstructured, a entry) (*entry, error) {
	o, err := get(ctx, m.client, a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a, err)
	}
	if o == nil || !appliedFor(o, by) {
		return nil, nil
	}
	e := entryOf(o)
	if slices.ContainsFunc(slices.Concat(m.record.Made, m.record.Applied), e.sameName) {
		return nil, nil
	}
	if o.GetCreationTimestamp().UTC().Before(m.record.Since) {
		m.note("%s stays: it was there before the sandbox; git may have changed it", e)
		return nil, nil
	}
	m.record.Applied = append(m.record.Applied, e)
	return &e, nil
}

// labelledBy finds what Flux has applied for a Kustomization by its labels: Flux
// writes its inventory later than the objects, and can be killed in between. All
// objects with such labels are listed once.
func (m *remover) labelledBy(ctx context.Context, o *unstructured.Unstructured) (applied []entry, err error) {
	if entryOf(o).Group != kustomization.Group {
		return nil, nil
	}
	if m.labelled == nil {
		kinds, err := m.listable(false)
		if err != nil {
			return nil, err
		}
		m.labelled = []unstructured.Unstructured{}
		for _, k := range kinds {
			list, err := m.client.Dynamic.Resource(k).List(ctx, metav1.ListOptions{LabelSelector: kustomization.Group + "/name"})
			switch {
			case err == nil:
				m.labelled = append(m.labelled, list.Items...)
			case !unlisted(err):
				return nil, err
			}
		}
	}
	for i := range m.labelled {
		if appliedFor(&m.labelled[i], o) {
			applied = append(applied, entryOf(&m.labelled[i]))
		}
	}
	return applied, nil
}

// appliedBy reads the inventory in the status of a Kustomization or an
// Application.
func appliedBy(o *unstructured.Unstructured) (applied []entry) {
	if entryOf(o).Group == kustomization.Group {
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "inventory", "entries")
		for _, i := range list {
			m, _ := i.(map[string]any)
			id, _ := m["id"].(string)
			version, _ := m["v"].(string)
			if e, ok := inventoried(id, version); ok {
				applied = append(applied, e)
			}
		}
		return applied
	}
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "resources")
	for _, i := range list {
		m, _ := i.(map[string]any)
		text := func(key string) string {
			s, _ := m[key].(string)
			return s
		}
		applied = append(applied, entry{text("group"), text("version"), text("kind"), text("namespace"), text("name"), ""})
	}
	return applied
}

// inventoried reads NAMESPACE_NAME_GROUP_KIND, as Flux writes it
// (pkg.go.dev/github.com/fluxcd/cli-utils/pkg/object#ObjMetadata). A colon of a
// name, as RBAC has them, is written as two underscores there.
func inventoried(id, version string) (entry, bool) {
	namespace, rest, ok := strings.Cut(id, "_")
	k := strings.LastIndex(rest, "_")
	if !ok || k < 0 {
		return entry{}, false
	}
	rest, kind := rest[:k], rest[k+1:]
	g := strings.LastIndex(rest, "_")
	if g < 0 {
		return entry{}, false
	}
	return entry{rest[g+1:], version, kind, namespace, strings.ReplaceAll(rest[:g], "__", ":"), ""}, true
}

// appliedFor reports whether an object was applied for another, by Flux's labels,
// or Argo CD's annotation or label.
func appliedFor(o, by *unstructured.Unstructured) bool {
	labels := o.GetLabels()
	if entryOf(by).Group == kustomization.Group {
		return labels[kustomization.Group+"/name"] == by.GetName() && labels[kustomization.Group+"/namespace"] == by.GetNamespace()
	}
	id, found := o.GetAnnotations()["argocd.argoproj.io/tracking-id"]
	if !found {
		return labels["app.kubernetes.io/instance"] == by.GetName()
	}
	of, _, _ := strings.Cut(id, ":")
	return of == by.GetName()
}
