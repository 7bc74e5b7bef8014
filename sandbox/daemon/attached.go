package daemon

import (
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/workshop"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// AttachedClusters is the provider of the clusters that the user has attached.
func AttachedClusters(h state.Home, s *state.State) *attached.Provider {
	return &attached.Provider{
		ID: s.ID, Dir: h.Path("clusters"), Sources: s.Existing,
		Requirements: func(name string) (attached.Requirements, error) {
			i := slices.IndexFunc(s.Clusters(), func(c workshop.Cluster) bool { return c.Name == name })
			return requirements(s, s.Clusters()[i])
		},
	}
}

// requirements are the names on a cluster that must be free, or be this sandbox's.
func requirements(s *state.State, c workshop.Cluster) (attached.Requirements, error) {
	if c.Reconciler == workshop.ArgoCD {
		d := attached.Requirements{Reconciler: attached.ArgoCD, Namespace: gitops.ArgoCDNamespace}
		m, err := argoCDSubscription(s, c, "").Manifests()
		if err == nil {
			d.Subscription, err = cluster.Decode(m)
		}
		if err == nil {
			d.Settings, err = gitops.ArgoCDSettings{}.Settings()
		}
		return d, err
	}
	d := attached.Requirements{Reconciler: attached.Flux, Namespace: gitops.FluxNamespace}
	for _, sub := range fluxSubscriptions(s, c, "") {
		m, err := sub.Manifests()
		if err != nil {
			return d, err
		}
		objects, err := cluster.Decode(m)
		if err != nil {
			return d, err
		}
		d.Subscription = append(d.Subscription, objects...)
	}
	if c.Credentials != "" {
		secret := &unstructured.Unstructured{}
		secret.SetAPIVersion("v1")
		secret.SetKind("Secret")
		secret.SetNamespace(gitops.FluxNamespace)
		secret.SetName(c.Credentials)
		d.Subscription = append(d.Subscription, secret)
	}
	return d, nil
}

// ownReconciler is the namespace of an attached cluster's own reconciler, ""
// where it has none.
func (st *Stack) ownReconciler(name string) string {
	f, _ := st.attached.Facts(name)
	return f.ReconcilerNamespace
}

// explainOwn says what a cluster's own reconciler needs to follow the forge, which
// only the user can give it.
func (st *Stack) explainOwn(c workshop.Cluster, err error) error {
	namespace := st.ownReconciler(c.Name)
	if namespace == "" || err == nil {
		return err
	}
	return &supervisor.PermanentError{Err: fmt.Errorf("%w\nThe cluster has a reconciler of its own, in namespace %s, which the sandbox uses: it must be able to reach the forge at %s", err, namespace, st.state.ForgeURL())}
}
