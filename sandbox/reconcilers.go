package sandbox

import (
	"context"
	"os"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/git"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// reconcilerUser is what a token's user is called where only the token counts.
const reconcilerUser = "flux"

// reconcilerUnits make a cluster follow the GitOps repository.
func (w *world) reconcilerUnits(c clusterSpec) []supervisor.Unit {
	program, subscribe := w.fluxUnit(c), w.subscribeFlux
	if c.reconciler == argoCD {
		program, subscribe = w.argoCDUnit(c), w.subscribeArgoCD
	}
	return []supervisor.Unit{program, {
		Name: "subscription-" + c.name, Title: "cluster follows the GitOps repository",
		Needs: []string{program.Name, "repositories"}, Deadline: subscribeDeadline,
		Component: supervisor.Task{Run: func(ctx context.Context) error {
			client, err := w.client(c.name)
			if err != nil {
				return err
			}
			token, err := os.ReadFile(w.gitea.TokenFile(git.FluxToken))
			if err != nil {
				return err
			}
			return once(ctx, client, "subscribed", func() error {
				return subscribe(ctx, client, c, string(token))
			})
		}},
	}}
}

func (w *world) staged(name string) func() string {
	return func() string { return components.Path(w.home.Components(), name) }
}

func (w *world) fluxUnit(c clusterSpec) supervisor.Unit {
	f := gitops.Flux{
		Cluster:    c.name,
		Staged:     w.staged(string(flux)),
		Kubeconfig: w.embedded.AdminKubeconfig(c.name),
		Dir:        w.home.Path("flux", c.name),
		Registry:   w.home.Path("children"),
		Env:        childEnvironment(w.home),
		Port:       w.state.Ports[c.listener()],
		PortFree:   func() error { return w.state.portFree(c.listener()) },
	}
	f.Log = w.home.Log(f.Name())
	return f.Unit("unpack-"+string(flux), c.name)
}

func (w *world) argoCDUnit(c clusterSpec) supervisor.Unit {
	a := gitops.ArgoCD{
		Cluster:    c.name,
		Staged:     w.staged(string(argoCD)),
		Kubeconfig: w.embedded.AdminKubeconfig(c.name),
		Dir:        w.home.Path("argocd", c.name),
		Registry:   w.home.Path("children"),
		// it caches what kinds there are in the folder .kube of its home
		Env:      append(childEnvironment(w.home), "HOME="+w.home.Path("argocd", c.name)),
		Port:     w.state.Ports[c.listener()],
		PortFree: func() error { return w.state.portFree(c.listener()) },
		Password: w.state.ArgoCDPassword,
	}
	a.Log = w.home.Log(a.Name())
	return a.Unit("unpack-"+string(argoCD), c.name)
}

func (w *world) subscribeFlux(ctx context.Context, client *cluster.Client, c clusterSpec, token string) error {
	if c.secret != "" {
		if err := gitops.FluxCredentials(ctx, client, c.secret, reconcilerUser, token); err != nil {
			return err
		}
	}
	for _, sub := range c.follows {
		err := gitops.Subscribe(ctx, client, gitops.Subscription{
			Name:     sub.name,
			URL:      w.state.OrgURL() + "/" + sub.repository,
			Branch:   sub.branch,
			Path:     sub.path,
			User:     reconcilerUser,
			Token:    token,
			Interval: subscriptionInterval,
		}, subscribeDeadline)
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *world) subscribeArgoCD(ctx context.Context, client *cluster.Client, c clusterSpec, token string) error {
	var all gitops.ArgoCDSubscription
	for _, name := range c.repositories {
		all.Repositories = append(all.Repositories, gitops.ArgoCDRepository{
			URL: w.state.OrgURL() + "/" + name, User: reconcilerUser, Token: token,
		})
	}
	for _, sub := range c.follows {
		all.Applications = append(all.Applications, gitops.ArgoCDApplication{
			Name: sub.name, URL: w.state.OrgURL() + "/" + sub.repository, Branch: sub.branch, Path: sub.path,
		})
	}
	return gitops.SubscribeArgoCD(ctx, client, all, subscribeDeadline)
}

// followers are the clusters that a push may concern.
func (w *world) followers() []gitops.Follower {
	var all []gitops.Follower
	for _, c := range w.workshop.clusters {
		client, err := w.client(c.name)
		if err != nil {
			w.log.Warn("cluster not told of a push", "cluster", c.name, "reason", err)
			continue
		}
		f := gitops.Follower{Cluster: c.name, Client: client, Poke: gitops.PokeFlux}
		if c.reconciler == argoCD {
			f.Poke = gitops.RefreshArgoCD
		}
		all = append(all, f)
	}
	return all
}
