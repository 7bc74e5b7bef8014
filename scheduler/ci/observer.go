package ci

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/kubernetes"
)

// Observer is all who know the clusters, see [Arc] and package kubernetes. Where there is
// a kubeconfig or an endpoint, Azure is read only when a subscription is named. It
// makes no request yet.
func (e Environment) Observer() (fleet.Fleet, error) {
	var all fleet.Observers
	if e.Fleet.URL != "" {
		all = append(all, e.Fleet)
	}
	if e.Kubeconfig != "" {
		clusters, err := kubernetes.FromKubeconfig(e.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("KALYPSO_CI_KUBECONFIG: %w", err)
		}
		all = append(all, clusters.Observers()...)
	}
	if len(all) > 0 && e.Arc.Subscription == "" {
		return all, nil
	}
	inAzure, err := azure(e.Arc)
	if err != nil {
		return nil, err
	}
	return distinct{append(fleet.Observers{inAzure}, all...)}, nil
}

// distinct leaves out what an earlier observer has returned: a configuration that
// Azure has made is on its cluster, too.
type distinct struct{ fleet.Observers }

func (o distinct) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	all, err := o.Observers.Observe(ctx, s)
	known := map[string]bool{}
	return slices.DeleteFunc(all, func(c fleet.Configuration) bool {
		again := known[c.ID()]
		known[c.ID()] = true
		return again
	}), err
}

// observer marks those errors of Azure Resource Manager that waiting does not
// mend.
type observer struct {
	*arc.Client
	fixed bool // its token is that of KALYPSO_ARM_TOKEN
}

func (o observer) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	all, err := o.Client.Observe(ctx, s)
	return all, o.marked(err)
}

func (o observer) Inventory(ctx context.Context) (fleet.Snapshot, error) {
	all, err := o.Client.Inventory(ctx)
	return all, o.marked(err)
}

func (o observer) marked(err error) error {
	switch {
	case err == nil:
		return nil
	// a subscription that is not found is one that the login is not good for
	case arc.IsDenied(err) || arc.IsNotFound(err):
		hint := arc.Hint(err)
		if o.fixed {
			hint = "the token is that of KALYPSO_ARM_TOKEN"
		}
		return &denied{withHint(errors.New("clusters: "+arc.Message(err)), "%s", hint)}
	}
	return fmt.Errorf("clusters: %w", err)
}

// Arc says where the clusters are known: in Azure, or at an endpoint that speaks
// like it.
type Arc = arc.Settings

// azure is what knows the clusters of a fleet that Azure manages. It makes
// no request yet.
func azure(a Arc) (fleet.Fleet, error) {
	client, err := a.Connect()
	if errors.Is(err, arc.ErrNoSubscription) {
		err = usage.New("the clusters of which Azure subscription? Set KALYPSO_ARM_SUBSCRIPTION or AZURE_SUBSCRIPTION_ID to its ID, or give --subscription,\n" +
			"or set KALYPSO_CI_KUBECONFIG to a kubeconfig with a context for each cluster")
	}
	if err != nil {
		return nil, err
	}
	return observer{client, a.Token != ""}, nil
}
