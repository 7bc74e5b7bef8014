package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/spf13/cobra"
)

// FleetOptions are those of the commands below `kalypso cluster`.
type FleetOptions struct {
	*cmdutil.App
	Name         string // with a range perhaps
	Type         string
	Environments []string
	Reconciler   string
	Node         string
	IsVirtual    bool
	Virtual      workshop.Virtual
	Timeout      time.Duration // of add
	Yes          bool
	All          bool
	Output       cmdutil.Output
}

// NewCommand makes `kalypso cluster`.
func NewCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group(&cobra.Command{
		Use:   "cluster",
		Short: "Add clusters to the running sandbox, remove and list them, and run commands on hosts",
		Long: `Add clusters to the running sandbox, remove and list them.

A cluster that is added is as those of the workshop: an API server, a node, and the
reconciler of its cluster type, which follows the type's folder on the GitOps branch
of each environment. It has a context in the kubeconfig, and the emulated Azure and
the gate of promotion see it.

A virtual cluster follows branches and folders as a reconciler does, holds the
commit and the list of objects that a real one would have applied, and reports: to
the emulated Azure, to the gate of promotion, and to "kalypso status". It runs
nothing. A thousand of them show on a laptop how a rollout goes in a large fleet.`,
	}, newAdd(a, add), newRemove(a, remove), newList(a, list), newExec(a, execute))
}

// addTimeout is above the deadlines of a cluster's components together.
const addTimeout = 5 * time.Minute

func newAdd(a *cmdutil.App, run func(context.Context, *FleetOptions) error) *cobra.Command {
	o := &FleetOptions{App: a}
	c := &cobra.Command{
		Use:   "add NAME --type store --environment ENVIRONMENT",
		Short: "Add a cluster, or virtual clusters",
		Long: `Add a cluster, or with a range in the name one for each of its numbers, and wait
until it is ready. It follows the folder of its cluster type on the GitOps branch of
each environment. Clusters of kind cannot be added to a sandbox that runs.

With --virtual it runs nothing and takes no memory to speak of. The same --seed makes
the same clusters late, failing and offline.

The clusters stay through "kalypso down" and "kalypso up"; "kalypso reset" removes
them. Cut off in the middle, the next "kalypso up" goes on.`,
		Example: `  kalypso cluster add store-001 --type store --environment dev
  kalypso cluster add store-002 --type store --environment dev --node simulated
  kalypso cluster add 'store-{101..300}' --virtual --type store --environment dev --environment stage
  kalypso cluster add 'edge-{01..50}' --virtual --type edge --environment dev --delay 2m --failing 0.05 --seed 7
  kalypso cluster add 'ship-{1..9}' --virtual --type edge --environment dev --offline 0.2 --offline-for 10m`,
		Args: cmdutil.ExactArgs("name"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.IsVirtual, "virtual", false, "add clusters that are virtual")
	f.StringVar(&o.Node, "node", "", "real, simulated or none; what other clusters of the type have when not given")
	f.DurationVar(&o.Timeout, "timeout", addTimeout, "how long to wait until a cluster that is not virtual is ready")
	f.StringVar(&o.Type, "type", "", "the cluster type")
	f.StringArrayVarP(&o.Environments, "environment", "e", nil, "an environment that they follow; may be repeated")
	f.StringVar(&o.Reconciler, "reconciler", "", "flux or argocd; what other clusters of the type have, or else the type's template is for, when not given")
	f.Uint64Var(&o.Virtual.Seed, "seed", 0, "another seed makes other clusters late, failing and offline")
	f.DurationVar(&o.Virtual.Delay, "delay", 0, "the longest time from a push until a cluster has applied it; each has its own up to that")
	f.Float64Var(&o.Virtual.Failing, "failing", 0, "the share of the clusters, 0 to 1, on which a revision fails")
	f.Float64Var(&o.Virtual.Offline, "offline", 0, "the share of the time, 0 to 1, that a cluster cannot be reached")
	f.DurationVar(&o.Virtual.OfflineFor, "offline-for", time.Minute, "for how long at a time")
	cmdutil.CompleteFlag(c, "reconciler", cmdutil.Known(string(workshop.Flux), string(workshop.ArgoCD)))
	cmdutil.CompleteFlag(c, "node", cmdutil.Known(string(workshop.RealNode), string(workshop.SimulatedNode), string(workshop.NoNode)))
	cmdutil.CompleteFlag(c, "type", new(cmdutil.ModelFlags).ClusterTypeNames(a))
	return c
}

func newRemove(a *cmdutil.App, run func(context.Context, *FleetOptions) error) *cobra.Command {
	o := &FleetOptions{App: a}
	c := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove clusters",
		Long: `Remove a cluster, or with a range in the name those of all its numbers. Of one that
is not virtual all is deleted: its objects, its node's data, its context and its logs.
Cut off in the middle, the next "kalypso up" goes on.

"kalypso reset" brings those of the workshop back.`,
		Example: `  kalypso cluster remove store-001
  kalypso cluster remove store-001 --yes
  kalypso cluster remove 'store-{101..300}'`,
		Args: cmdutil.ExactArgs("name"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	cmdutil.AddYes(c, &o.Yes)
	return c
}

func newList(a *cmdutil.App, run func(context.Context, *FleetOptions) error) *cobra.Command {
	o := &FleetOptions{App: a}
	c := &cobra.Command{
		Use:   "list",
		Short: "List the clusters, real and virtual",
		Long: `List the clusters with what they follow and how they do. Virtual clusters whose
names differ in their numbers only are one line; with --all, and with -o json or
yaml, each is one.`,
		Example: `  kalypso cluster list
  kalypso cluster list --all
  kalypso cluster list -o json`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().BoolVarP(&o.All, "all", "a", false, "a line for each virtual cluster, too")
	o.Output.AddTo(c, "text", "json", "yaml")
	return c
}

// names are those that the argument stands for.
func (o *FleetOptions) names() ([]string, error) {
	all, err := workshop.ExpandName(o.Name)
	return all, mistake(err, nil)
}

// mistake makes a *usage.Error of an error about a field, which it names as the user
// gave it.
func mistake(err error, flags map[string]string) error {
	var field *workshop.FieldError
	if !errors.As(err, &field) {
		return err
	}
	if flag := flags[field.Path[len(field.Path)-1]]; flag != "" {
		return usage.Errorf("%s: %s", flag, field.Reason)
	}
	return usage.New(field.Reason)
}

func remove(ctx context.Context, o *FleetOptions) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	names, err := o.names()
	if err != nil {
		return err
	}
	known, err := sandbox.Clusters(ctx, home)
	if err != nil {
		return err
	}
	var lost []string
	for _, c := range known {
		if c.Kind != workshop.VirtualCluster && slices.Contains(names, c.Name) {
			lost = append(lost, c.Name)
		}
	}
	if len(lost) > 0 {
		if err := o.Confirm(ctx, o.Yes, fmt.Sprintf("All that is on %s will be lost.", strings.Join(lost, ", "))); err != nil {
			return err
		}
	}
	p := cmdutil.NewProgress(o.Err)
	left, err := sandbox.RemoveClusters(ctx, home, names, p.Show)
	p.Clear()
	switch {
	case ctx.Err() != nil:
		o.Messagef("Interrupted; %s goes on being removed.", o.Name)
		return cmdutil.Silent(ctx.Err())
	case err != nil:
		return err
	case len(lost) > 0:
		o.Messagef("Removed %s (%.1f s).", strings.Join(lost, ", "), p.Took())
	}
	if n := len(names) - len(lost); n > 0 {
		o.Messagef("Removed %s; %d are left.", cmdutil.Count(n, "virtual cluster"), left)
	}
	return nil
}
