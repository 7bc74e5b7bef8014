package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/workshop"
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

// PersistentClusters are a sandbox's clusters that outlive its daemon: those of
// kind, and attached ones.
type PersistentClusters struct {
	providers []cluster.Provider
	made      []string // the names of all clusters that the sandbox makes
}

// FindPersistentClusters returns those of the home's sandbox, none if there is
// no sandbox.
func FindPersistentClusters(h state.Home) (p PersistentClusters, err error) {
	s, err := h.Load()
	if errors.Is(err, state.ErrNoSandbox) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.made = s.Made()
	if len(s.Existing) > 0 {
		p.providers = append(p.providers, AttachedClusters(h, s))
	}
	if s.Engine != nil {
		p.providers = append(p.providers, kindClusters(h, s))
	}
	return p, s.UseEngine()
}

// Each stops or deletes all of them.
func (p PersistentClusters) Each(ctx context.Context, do func(cluster.Provider, context.Context, string) error) error {
	var all []error
	for _, provider := range p.providers {
		names, err := provider.List(ctx)
		if err != nil {
			all = append(all, fmt.Errorf("the sandbox's clusters: %w", err))
		}
		for _, name := range names {
			all = append(all, do(provider, ctx, name))
		}
	}
	return errors.Join(all...)
}

// Forget leaves out the clusters of an engine that does not answer, and those
// that a damaged state, which err is about, does not name. The note says how to
// remove what is left of them.
func (p PersistentClusters) Forget(ctx context.Context, err error) (rest PersistentClusters, note string, _ error) {
	var broken *state.BrokenError
	if errors.As(err, &broken) {
		return rest, fmt.Sprintf("%s: %v. Had the sandbox kind clusters, they are left: `docker ps --all --filter name=kalypso-`", broken.File, broken.Err), nil
	}
	for _, provider := range p.providers {
		k, ok := provider.(kind.Provider)
		if !ok {
			rest.providers = append(rest.providers, provider)
			continue
		}
		missing := k.Answers(ctx)
		if missing == nil {
			rest.providers = append(rest.providers, provider)
			continue
		}
		remove := []string{k.Engine.Program, "rm", "--force", "--volumes"}
		for _, name := range p.made {
			remove = append(remove, k.Container(name))
		}
		note = fmt.Sprintf("%v: its clusters are forgotten. Should it come back with them: `%s`", missing, strings.Join(remove, " "))
	}
	return rest, note, err
}
