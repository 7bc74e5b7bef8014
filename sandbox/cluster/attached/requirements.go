package attached

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

// Reconciler makes a cluster follow git.
type Reconciler string

const (
	Flux   Reconciler = "Flux"
	ArgoCD Reconciler = "Argo CD"
)

// Requirements are what a sandbox needs of a cluster.
type Requirements struct {
	Reconciler Reconciler
	// Namespace is where the reconciler's own objects are.
	Namespace string
	// Subscription are the objects that make the cluster follow git, by name.
	Subscription []*unstructured.Unstructured
	// Settings are what the reconciler needs beside its kinds. A cluster with a
	// reconciler of its own gets none.
	Settings []*unstructured.Unstructured
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// traits are what the preflight must know about a reconciler.
type traits struct {
	// oldest is the oldest Kubernetes that it works on, by its own account:
	// `flux check` of Flux 2.9, and what Argo CD 3.2 is tested with.
	oldest string
	// parts are the controllers that make it, by the names of their workloads.
	parts []string
	// kinds are those that it acts on, wherever they come from.
	kinds []schema.GroupVersionKind
	// access covers kalypso's own objects, and those that git has.
	access []access
}

var (
	kustomization = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
	gitRepository = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"}
	application   = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
	nodeKind      = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
)

func (r Reconciler) traits() traits {
	if r == ArgoCD {
		return traits{
			oldest: "1.31",
			parts:  []string{"argocd-application-controller"},
			kinds:  []schema.GroupVersionKind{application},
			access: append(slices.Clone(commonAccess),
				access{"argoproj.io", "applications", everyVerb},
				access{"argoproj.io", "appprojects", everyVerb},
				// its cache has all objects of the cluster
				access{"*", "*", []string{"list", "watch"}}),
		}
	}
	return traits{
		oldest: "1.33",
		parts:  []string{"source-controller", "kustomize-controller"},
		kinds:  []schema.GroupVersionKind{gitRepository, kustomization},
		access: append(slices.Clone(commonAccess),
			access{gitRepository.Group, "gitrepositories", everyVerb},
			access{gitRepository.Group, "gitrepositories/status", []string{"patch"}},
			access{kustomization.Group, "kustomizations", everyVerb},
			access{kustomization.Group, "kustomizations/status", []string{"patch"}}),
	}
}

// access is something that must be allowed in all namespaces.
type access struct {
	group, resource string // with its subresource, behind a slash
	verbs           []string
}

var everyVerb = []string{"get", "list", "watch", "create", "update", "patch", "delete"}

var commonAccess = []access{
	{"", "namespaces", everyVerb},
	{"", "nodes", []string{"list"}},
	{"", "pods", []string{"get", "list"}},
	{"", "configmaps", everyVerb},
	{"", "secrets", everyVerb},
	{"", "serviceaccounts", everyVerb},
	{"", "services", everyVerb},
	{"", "events", []string{"create", "patch"}},
	{"apps", "deployments", everyVerb},
	{"apps", "statefulsets", []string{"list"}},
	{"apiextensions.k8s.io", "customresourcedefinitions", everyVerb},
}

var selfReview = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}

const reviewsAtOnce = 16

// denied returns which of the wanted access rights the user lacks, as
// "create, delete customresourcedefinitions.apiextensions.k8s.io".
func denied(ctx context.Context, client *cluster.Client, wanted []access) ([]string, error) {
	allowed := make([][]bool, len(wanted))
	var g errgroup.Group
	g.SetLimit(reviewsAtOnce)
	for i, a := range wanted {
		allowed[i] = make([]bool, len(a.verbs))
		for j, verb := range a.verbs {
			g.Go(func() (err error) {
				allowed[i][j], err = may(ctx, client, verb, a)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var lacks []string
	for i, a := range wanted {
		var verbs []string
		for j, verb := range a.verbs {
			if !allowed[i][j] {
				verbs = append(verbs, verb)
			}
		}
		if len(verbs) > 0 {
			lacks = append(lacks, strings.Join(verbs, ", ")+" "+a.String())
		}
	}
	return lacks, nil
}

// String is as kubectl spells it.
func (a access) String() string {
	if a.group == "" {
		return a.resource
	}
	name, sub, _ := strings.Cut(a.resource, "/")
	if sub != "" {
		sub = "/" + sub
	}
	return name + "." + a.group + sub
}

func may(ctx context.Context, client *cluster.Client, verb string, a access) (bool, error) {
	name, sub, _ := strings.Cut(a.resource, "/")
	attributes := map[string]any{"verb": verb, "group": a.group, "resource": name}
	if sub != "" {
		attributes["subresource"] = sub
	}
	o, err := client.Dynamic.Resource(selfReview).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": attributes},
	}}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask what is allowed: %w", err)
	}
	yes, _, err := unstructured.NestedBool(o.Object, "status", "allowed")
	return yes, err
}
