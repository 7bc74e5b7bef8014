package cluster

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/workshop"
)

// add adds the clusters that the arguments ask for.
func add(ctx context.Context, o *FleetOptions) error {
	switch {
	case o.Type == "":
		return usage.New("of which cluster type? Give --type; `kalypso get clustertypes` lists them")
	case len(o.Environments) == 0:
		return usage.New("which environments do they follow? Give --environment; `kalypso get environments` lists them")
	}
	entry := workshop.Cluster{Name: o.Name, Type: o.Type, Kind: workshop.RealCluster, Reconciler: workshop.Reconciler(o.Reconciler), Node: workshop.Node(o.Node)}
	if o.Virtual.Offline == 0 {
		o.Virtual.OfflineFor = 0
	}
	switch {
	case o.IsVirtual && o.Node != "":
		return usage.New("a virtual cluster has no node: leave --node or --virtual out")
	case o.IsVirtual:
		entry.Kind, entry.Virtual = workshop.VirtualCluster, &o.Virtual
	case o.Virtual != workshop.Virtual{}:
		return usage.New("--seed, --delay, --failing and --offline are of virtual clusters: give --virtual, too")
	}
	if _, err := entry.Expand(); err != nil {
		return mistake(err, map[string]string{"failing": "--failing", "offline": "--offline", "offlineFor": "--offline-for", "delay": "--delay"})
	}
	if !slices.Contains([]workshop.Reconciler{"", workshop.Flux, workshop.ArgoCD}, entry.Reconciler) {
		return usage.Errorf("--reconciler %q: choose %s or %s", o.Reconciler, workshop.Flux, workshop.ArgoCD)
	}
	if !slices.Contains([]workshop.Node{"", workshop.RealNode, workshop.SimulatedNode, workshop.NoNode}, entry.Node) {
		return usage.Errorf("--node %q: choose %s, %s or %s", o.Node, workshop.RealNode, workshop.SimulatedNode, workshop.NoNode)
	}
	home, err := o.Home()
	if err != nil {
		return err
	}
	known, err := sandbox.Clusters(ctx, home)
	if err != nil {
		return err
	}
	if err := o.complete(ctx, home, known, &entry); err != nil {
		return err
	}
	all, err := entry.Expand()
	if err != nil {
		return err
	}
	p := cmdutil.NewProgress(o.Err)
	warn := func(f doctor.Finding) { o.Messagef("warning: %s: %s; %s", f.Found, f.Lost, f.Fix) }
	total, err := sandbox.AddClusters(ctx, home, all, o.Timeout, warn, p.Show)
	p.Clear()
	if err != nil || ctx.Err() != nil {
		return o.startError(ctx, err)
	}
	if o.IsVirtual {
		o.Messagef("Added %s with %s; there are %d now. `kalypso cluster list` shows how they do.", cmdutil.Count(len(all), "virtual cluster"), reconcilers[entry.Reconciler], total)
		return nil
	}
	for _, c := range all {
		o.Messagef("%s is ready with %s (%.1f s): `kalypso kubectl --context %[1]s get pods -A`", c.Name, reconcilers[c.Reconciler], p.Took())
	}
	return nil
}

// startError prints what is known of clusters that are not ready.
func (o *FleetOptions) startError(ctx context.Context, err error) error {
	return (&Options{App: o.App, Name: o.Name}).startError(ctx, err, fmt.Sprintf(", `kalypso cluster remove %s` takes it back", o.Name))
}

// reconcilers are the names of reconcilers for users.
var reconcilers = map[workshop.Reconciler]string{workshop.Flux: "Flux", workshop.ArgoCD: "Argo CD"}

// complete fills in what the platform model, and the clusters that there are, say
// about an entry.
func (o *FleetOptions) complete(ctx context.Context, home state.Home, known []sandbox.Cluster, entry *workshop.Cluster) error {
	s, err := home.Load()
	if err != nil {
		return err
	}
	platform, err := new(cmdutil.ModelFlags).Open(ctx, o.App)
	if err != nil {
		return err
	}
	for _, name := range o.Environments {
		env, err := platform.Load(ctx, name)
		if err != nil {
			return err
		}
		reconciler, err := reconcilerOf(env, o.Type, known)
		if err != nil {
			return err
		}
		entry.Reconciler = cmp.Or(entry.Reconciler, reconciler)
		if env.GitOps.Repo == "" {
			return usage.Errorf("environment %s has no GitOps repository that could be followed: `kalypso validate` says why", name)
		}
		repository, own := strings.CutPrefix(strings.TrimSuffix(env.GitOps.Repo, ".git"), s.OrgURL()+"/")
		if !own {
			return usage.Errorf("the GitOps repository of environment %s is %s: clusters follow those on the sandbox's forge, %s", name, env.GitOps.Repo, s.OrgURL())
		}
		entry.Follows = append(entry.Follows, workshop.Subscription{
			Name:       subscriptionName(known, repository, env.GitOps.Branch, name),
			Repository: repository, Branch: env.GitOps.Branch, Path: path.Join(env.GitOps.Path, o.Type),
		})
	}
	if !o.IsVirtual {
		furnish(entry, append(s.Clusters(), s.Spec().Clusters...), s.Spec())
	}
	return nil
}

// furnish gives a real cluster the node that others of its type have, and the
// credentials that others with its reconciler have, or else those of all
// repositories.
func furnish(entry *workshop.Cluster, others []workshop.Cluster, of *workshop.Workshop) {
	if i := slices.IndexFunc(others, func(c workshop.Cluster) bool {
		return c.Kind != workshop.VirtualCluster && cmp.Or(c.Type, c.Name) == entry.Type
	}); i >= 0 {
		entry.Node = cmp.Or(entry.Node, others[i].Node)
	}
	i := slices.IndexFunc(others, func(c workshop.Cluster) bool {
		return c.Kind != workshop.VirtualCluster && c.Reconciler == entry.Reconciler
	})
	switch {
	case i >= 0:
		entry.Credentials, entry.Repositories = others[i].Credentials, others[i].Repositories
	case entry.Reconciler == workshop.ArgoCD:
		for _, r := range of.Repositories {
			entry.Repositories = append(entry.Repositories, r.Name)
		}
	}
}

// subscriptionName is what other clusters call their subscription to a branch, or
// else the name of the environment.
func subscriptionName(known []sandbox.Cluster, repository, branch, environment string) string {
	for _, c := range known {
		for _, f := range c.Follows {
			if f.Repository == repository && f.Branch == branch {
				return f.Name
			}
		}
	}
	return environment
}

// reconcilerOf is what other clusters of the type have, or else the reconciler that
// the type's template is for. The error is a *usage.Error for a type that the
// environment does not have.
func reconcilerOf(env *model.Environment, clusterType string, known []sandbox.Cluster) (workshop.Reconciler, error) {
	var names []string
	for _, t := range env.ClusterTypes {
		names = append(names, t.Name)
	}
	if err := state.CheckName("cluster type of environment "+env.Name, clusterType, names); err != nil {
		return "", err
	}
	for _, c := range known {
		if c.Type == clusterType {
			return c.Reconciler, nil
		}
	}
	t := env.ClusterTypes[slices.Index(names, clusterType)]
	for _, template := range env.Templates {
		if template.Name != t.Spec.Reconciler {
			continue
		}
		for _, m := range template.Spec.Manifests {
			if strings.Contains(m.Text, "argoproj.io/") {
				return workshop.ArgoCD, nil
			}
		}
	}
	return workshop.Flux, nil
}
