package attached

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reconciler is what makes a cluster follow git.
type Reconciler string

const (
	Flux   Reconciler = "Flux"
	ArgoCD Reconciler = "Argo CD"
)

// Requirements is what a sandbox wants of a cluster.
type Requirements struct {
	Reconciler Reconciler
	// Namespace is where the reconciler's own objects are.
	Namespace string
	// Subscription are the objects that make the cluster follow git, by name.
	Subscription []*unstructured.Unstructured
	// Settings are what the reconciler needs beside its kinds. A cluster that has
	// a reconciler of its own gets none.
	Settings []*unstructured.Unstructured
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// traits are what is to be known of a reconciler.
type traits struct {
	// oldest is the oldest Kubernetes that it works on, by its own account:
	// `flux check` of Flux 2.9, and what Argo CD 3.2 is tested with.
	oldest string
	// parts are the controllers that make it, by the names of their workloads.
	parts []string
	// kinds are those that it acts on, wherever they come from.
	kinds []schema.GroupVersionKind
	// access is what the two kinds of things need: ours, and what git has.
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
				// it keeps a picture of everything
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
