package attached

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/rest"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

const (
	// callLimit is how long an API server may take to answer at all.
	callLimit = 5 * time.Second
	// listLimit is how long it may take for all objects of a kind.
	listLimit = 20 * time.Second
)

// Facts are what a preflight has found out about a cluster.
type Facts struct {
	UID     types.UID // identifies the cluster
	Server  string    // URL
	Version string    // of Kubernetes
	Nodes   int
	// ReconcilerNamespace is where the cluster has a reconciler of its own, "" when
	// it has none.
	ReconcilerNamespace string
}

// Problem is a reason why a cluster cannot be used as it is.
type Problem struct {
	Found, Lost, Fix string
	// Transient is set for what may resolve itself, so that a retry makes sense.
	Transient bool
}

func (p *Problem) Error() string { return p.Found + ": " + p.Lost + "; " + p.Fix }

// Preflight checks whether a cluster can be used, and changes nothing. The error
// is of one or more [*Problem].
func (p *Provider) Preflight(ctx context.Context, name string) (Facts, error) {
	s := p.Sources[name]
	client, config, err := s.connect(name, listLimit)
	if err != nil {
		return Facts{}, unreadable(name, s, err)
	}
	r, err := readRecord(RecordFile(p.Dir, name))
	if err != nil {
		return Facts{}, err
	}
	d, err := p.Requirements(name)
	if err != nil {
		return Facts{}, err
	}
	l := preflight{name, s, client, config, d, r, p.ID}
	return l.all(ctx)
}

// preflight is the check of one cluster.
type preflight struct {
	name         string
	source       Source
	client       *cluster.Client
	config       *rest.Config
	requirements Requirements
	record       *record
	id           string // of the sandbox
}

func unreadable(name string, s Source, err error) error {
	return &Problem{
		Found: fmt.Sprintf("cluster %s: %v", name, err),
		Lost:  "it is not known where the cluster is",
		Fix:   "put the context back, or let `kalypso down --delete` remove the sandbox",
	}
}

func (l preflight) all(ctx context.Context) (Facts, error) {
	f := Facts{Server: l.config.Host}
	var err error
	if f.Version, err = l.version(ctx); err != nil {
		return f, err
	}
	traits := l.requirements.Reconciler.traits()
	lacks, err := denied(ctx, l.client, traits.access)
	if err != nil {
		return f, l.callFailed(err)
	}
	var problems []error
	if err := l.oldEnough(f.Version, traits.oldest); err != nil {
		problems = append(problems, err)
	}
	if len(lacks) > 0 {
		return f, errors.Join(append(problems, l.mayNot(lacks))...)
	}
	if f.UID, err = identity(ctx, l.client); err != nil {
		return f, l.callFailed(err)
	}
	if f.Nodes, err = l.nodes(ctx); err != nil {
		problems = append(problems, err)
	}
	if f.ReconcilerNamespace, err = l.reconcilerNamespace(ctx, traits.parts); err != nil {
		problems = append(problems, err)
	}
	problems = append(problems, l.sameCluster(f.UID), l.conflicts(ctx, f, traits.kinds))
	return f, errors.Join(problems...)
}

// callFailed is about a call that should have worked.
func (l preflight) callFailed(err error) error {
	return &Problem{
		Found:     fmt.Sprintf("cluster %s, %s: %v", l.name, l.source, err),
		Lost:      "it cannot be looked at",
		Fix:       fmt.Sprintf("find out with `kubectl --context %s get namespaces`", l.source.Context),
		Transient: !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err),
	}
}

func (l preflight) version(ctx context.Context) (string, error) {
	b, err := answers(ctx, l.client)
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) {
		return "", &Problem{
			Found: fmt.Sprintf("cluster %s: %s does not take the credentials of %s: %v", l.name, l.config.Host, l.source, err),
			Lost:  "nothing can be done there",
			Fix:   fmt.Sprintf("log in again, until `kubectl --context %s version` works", l.source.Context),
		}
	}
	if err != nil {
		return "", &Problem{
			Found:     fmt.Sprintf("cluster %s: %s, of %s, does not answer: %v", l.name, l.config.Host, l.source, err),
			Lost:      "nothing can be put there",
			Fix:       fmt.Sprintf("start the cluster, until `kubectl --context %s version` works", l.source.Context),
			Transient: true,
		}
	}
	var v struct{ GitVersion string }
	if err := json.Unmarshal(b, &v); err != nil {
		return "", l.callFailed(fmt.Errorf("its version is not understood: %w", err))
	}
	return v.GitVersion, nil
}

func (l preflight) oldEnough(is, oldest string) error {
	v, err := version.ParseGeneric(is)
	if err != nil {
		return l.callFailed(fmt.Errorf("its version %q is not understood: %w", is, err))
	}
	if v.AtLeast(version.MustParseGeneric(oldest)) {
		return nil
	}
	return &Problem{
		Found: fmt.Sprintf("cluster %s, %s, runs Kubernetes %s", l.name, l.source, is),
		Lost:  fmt.Sprintf("%s needs %s or newer", l.requirements.Reconciler, oldest),
		Fix:   "upgrade it or use another, or leave --cluster out and let kalypso make one",
	}
}

func (l preflight) mayNot(lacks []string) error {
	return &Problem{
		Found: fmt.Sprintf("cluster %s: %s may not %s", l.name, l.source, strings.Join(lacks, "; ")),
		Lost:  fmt.Sprintf("%s cannot be installed there, or not do its work", l.requirements.Reconciler),
		Fix:   "use a context of an administrator, such as one with the cluster role cluster-admin",
	}
}

// nodes counts those that are ready.
func (l preflight) nodes(ctx context.Context) (int, error) {
	list, err := l.client.List(ctx, nodeKind, "", metav1.ListOptions{})
	if err != nil {
		return 0, l.callFailed(err)
	}
	var why []string
	n := 0
	for i := range list {
		if err := cluster.Condition(&list[i], "Ready"); err != nil {
			why = append(why, err.Error())
		} else {
			n++
		}
	}
	if n > 0 {
		return n, nil
	}
	if len(why) == 0 {
		why = append(why, "it has none")
	}
	return 0, &Problem{
		Found:     fmt.Sprintf("cluster %s, %s, has no node that is ready: %s", l.name, l.source, strings.Join(why, "; ")),
		Lost:      "no pod can run there",
		Fix:       "start a node",
		Transient: true,
	}
}

// reconcilerNamespace returns where the cluster has a reconciler of its own, ""
// when it has none.
func (l preflight) reconcilerNamespace(ctx context.Context, parts []string) (string, error) {
	found := map[string]string{} // part to namespace
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		list, err := l.client.List(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}, "", metav1.ListOptions{})
		if err != nil {
			return "", l.callFailed(err)
		}
		for _, o := range list {
			replicas, set, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
			if set && replicas == 0 {
				continue
			}
			for _, part := range parts {
				if isPart(&o, part) {
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

// isPart reports whether a workload is a part of a reconciler. Charts may name it
// otherwise, so labels count, too.
func isPart(o *unstructured.Unstructured, part string) bool {
	labels := o.GetLabels()
	return o.GetName() == part || labels["app.kubernetes.io/name"] == part ||
		labels["app.kubernetes.io/part-of"] == "flux" && labels["app.kubernetes.io/component"] == part
}

// sameCluster returns nil when the inventory is of this cluster, or empty.
func (l preflight) sameCluster(uid types.UID) error {
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

// conflicts returns nil when no foreign object has a name that the sandbox needs,
// or would be acted on by the sandbox's reconciler.
func (l preflight) conflicts(ctx context.Context, f Facts, acts []schema.GroupVersionKind) error {
	wanted := l.requirements.Subscription
	if f.ReconcilerNamespace == "" {
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
			return l.callFailed(err)
		}
		if there == nil || l.record.made(entryOf(there), marked(there, l.id)) || foreignConflict(o, there) == nil {
			continue
		}
		add(entryOf(o).String()+" is there already", "the sandbox needs that name, and changes nothing of others")
	}
	// a reconciler acts on all objects of its kinds, also on idle foreign ones
	if f.ReconcilerNamespace == "" && l.record.empty() && len(problems) == 0 {
		for _, kind := range acts {
			list, err := l.client.List(ctx, kind, "", metav1.ListOptions{})
			if err != nil {
				return l.callFailed(err)
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
