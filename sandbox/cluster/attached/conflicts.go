package attached

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// theirs says where the cluster's own reconciler is.
func (l preflight) theirs(ctx context.Context, parts []string) (string, error) {
	found := map[string]string{} // part to namespace
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		list, err := listAll(ctx, l.client, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}, "")
		if err != nil {
			return "", l.wrong(err)
		}
		for _, o := range list {
			replicas, given, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
			if given && replicas == 0 {
				continue
			}
			for _, part := range parts {
				if is(&o, part) {
					found[part] = o.GetNamespace()
				}
			}
		}
	}
	if len(found) == 0 {
		return "", nil
	}
	problem := func(found, fix string) error {
		return &Problem{
			Found: fmt.Sprintf("cluster %s, %s, %s", l.name, l.source, found),
			Lost:  "a second one beside it would be in its way",
			Fix:   fix + ", or use another cluster",
		}
	}
	for _, part := range parts {
		if found[part] == "" {
			return "", problem(fmt.Sprintf("runs a part of %s, and no %s", l.requirements.Reconciler, part), "install the rest")
		}
	}
	in := found[parts[0]]
	if l.requirements.Reconciler == ArgoCD && in != l.requirements.Namespace {
		return "", problem(fmt.Sprintf("runs Argo CD in namespace %s, and the applications are in %s", in, l.requirements.Namespace), "move it")
	}
	return in, nil
}

// is tells whether a workload is a part of a reconciler. Charts may call it
// otherwise.
func is(o *unstructured.Unstructured, part string) bool {
	labels := o.GetLabels()
	return o.GetName() == part || labels["app.kubernetes.io/name"] == part ||
		labels["app.kubernetes.io/part-of"] == "flux" && labels["app.kubernetes.io/component"] == part
}

// same returns nil when what was recorded is about this cluster.
func (l preflight) same(uid types.UID) error {
	if l.record.empty() || l.record.Cluster == uid {
		return nil
	}
	return &Problem{
		Found: fmt.Sprintf("cluster %s: %s leads to another cluster than the one on which kalypso has %s", l.name, l.source, count(len(l.record.Made))),
		Lost:  "they could not be removed any more",
		Fix:   "let the context lead there again; or `kalypso down` forgets them",
	}
}

func count(n int) string {
	if n == 1 {
		return "made 1 object"
	}
	return fmt.Sprintf("made %d objects", n)
}

// foreign returns nil when nothing is in the way.
func (l preflight) foreign(ctx context.Context, f Facts, acts []schema.GroupVersionKind) error {
	wanted := l.requirements.Subscription
	if f.Theirs == "" {
		wanted = slices.Concat(l.requirements.Settings, wanted)
	}
	var problems []error
	add := func(found, lost string) {
		problems = append(problems, &Problem{
			Found: fmt.Sprintf("cluster %s, %s: %s", l.name, l.source, found), Lost: lost,
			Fix: "remove what is not needed any more, or use another cluster",
		})
	}
	for _, o := range wanted {
		there, err := get(ctx, l.client, entryOf(o))
		if err != nil {
			return l.wrong(err)
		}
		if there == nil || l.record.made(entryOf(there), marked(there, l.id)) || leave(o, there) == nil {
			continue
		}
		add(entryOf(o).String()+" is there already", "the sandbox needs that name, and changes nothing of others")
	}
	// a reconciler acts on all that it finds, also on what nobody acts on now
	if f.Theirs == "" && l.record.empty() && len(problems) == 0 {
		for _, kind := range acts {
			list, err := listAll(ctx, l.client, kind, "")
			if err != nil {
				return l.wrong(err)
			}
			for _, o := range list {
				if l.requirements.Reconciler == Flux || o.GetNamespace() == l.requirements.Namespace {
					add(entryOf(&o).String()+" is there, and nothing in the cluster acts on it",
						fmt.Sprintf("%s, run by the sandbox, would", l.requirements.Reconciler))
					break
				}
			}
		}
	}
	return errors.Join(problems...)
}
