// Package kubernetes observes clusters by their own APIs: what Flux and Argo CD have there,
// and when that changes.
//
// They know what Azure does not: applications of Argo CD, and sources that an assignment has
// brought to a cluster, which is how it follows the repository of an application.
package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/argocd"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
)

// answerLimit is how long a cluster may take for an answer.
const answerLimit = 30 * time.Second

// Clusters are several. They are a fleet.Watched.
type Clusters []Cluster

// Cluster is one, see [Clusters]. It is a fleet.Member.
type Cluster struct {
	name  string
	whole dynamic.Interface
	// names reads objects without their content, which is all that a watch needs.
	names metadata.Interface
}

var (
	_ fleet.Watched = Clusters{}
	_ fleet.Fleet   = Clusters{}
)

// FromKubeconfig are the clusters that a kubeconfig has contexts for. It makes no request yet.
func FromKubeconfig(file string) (Clusters, error) {
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	var all Clusters
	for _, name := range slices.Sorted(maps.Keys(config.Contexts)) {
		at, err := clientcmd.NewNonInteractiveClientConfig(*config, name, nil, nil).ClientConfig()
		if err == nil {
			var one Cluster
			one, err = New(name, at)
			all = append(all, one)
		}
		if err != nil {
			return nil, fmt.Errorf("context %s of %s: %w", name, file, err)
		}
	}
	if len(all) == 0 {
		return nil, usage.Errorf("kubeconfig %s has no context", file)
	}
	return all, nil
}

// New is a cluster. It makes no request yet.
func New(name string, at *rest.Config) (Cluster, error) {
	asking := rest.CopyConfig(at)
	asking.Timeout = cmp.Or(asking.Timeout, answerLimit)
	whole, err := dynamic.NewForConfig(asking)
	if err != nil {
		return Cluster{}, err
	}
	watching := rest.CopyConfig(at)
	watching.Timeout, watching.QPS = 0, -1 // a watch has no end, and few begin
	names, err := metadata.NewForConfig(watching)
	return Cluster{name: name, whole: whole, names: names}, err
}

// Observers are what asks Flux and Argo CD on each.
func (all Clusters) Observers() fleet.Observers {
	var observers fleet.Observers
	for _, c := range all {
		observers = append(observers, flux.Cluster{Name: c.name, Client: c.whole}, argocd.Cluster{Name: c.name, Client: c.whole})
	}
	return observers
}

// Observe implements fleet.Observer.
func (all Clusters) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	return all.Observers().Observe(ctx, s)
}

// Inventory implements fleet.Reader.
func (all Clusters) Inventory(ctx context.Context) (fleet.Snapshot, error) {
	return all.Observers().Inventory(ctx)
}

// Members implements fleet.Watched.
func (all Clusters) Members() []fleet.Member {
	members := make([]fleet.Member, len(all))
	for i, c := range all {
		members[i] = c
	}
	return members
}

// Name implements fleet.Member.
func (c Cluster) Name() string { return c.name }

// Look implements fleet.Member.
func (c Cluster) Look(ctx context.Context) (fleet.Cluster, error) {
	var failed error
	one := fleet.Single(c.name, func() (all []fleet.Subscription, err error) {
		defer func() { failed = err }()
		for _, list := range []func(context.Context) ([]fleet.Subscription, error){
			flux.Cluster{Name: c.name, Client: c.whole}.Subscriptions, argocd.Cluster{Name: c.name, Client: c.whole}.Subscriptions,
		} {
			found, err := list(ctx)
			if err != nil && !apierrors.IsNotFound(err) { // it may have one of them alone
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	})
	return one.Clusters[0], failed
}
