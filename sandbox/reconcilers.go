package sandbox

import (
	"context"
	"os"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// reconcilerUser is what a token's user is called where only the token counts.
const reconcilerUser = "flux"

// reconcilerUnits make a cluster follow the GitOps repository.
func (w *world) reconcilerUnits(c clusterSpec) []supervisor.Unit {
	subscribe := w.subscribeFlux
	if c.reconciler == argoCD {
		subscribe = w.subscribeArgoCD
	}
	var program supervisor.Unit
	limit := subscribeDeadline
	if nodes, ok := w.clusters.of(c.name).(cluster.Loader); ok {
		program, limit = w.insideUnit(c, nodes), subscribeInsideDeadline
	} else if c.reconciler == argoCD {
		program = w.argoCDUnit(c)
	} else {
		program = w.fluxUnit(c)
	}
	if w.clusters.attached.Has(c.name) {
		program.Component = &yielding{ours: program.Component, theirs: func() bool { return w.theirs(c.name) != "" }}
	}
	return []supervisor.Unit{program, {
		Name: "subscription-" + c.name, Title: "cluster follows the GitOps repository",
		Needs: []string{program.Name, "repositories"}, Deadline: limit,
		Component: supervisor.Task{Run: func(ctx context.Context) error {
			client, err := w.client(c.name)
			if err != nil {
				return err
			}
			token, err := os.ReadFile(w.gitea.TokenFile(gitea.FluxToken))
			if err != nil {
				return err
			}
			err = once(ctx, client, w.mark(c.name), func() error {
				return subscribe(ctx, client, c, string(token), limit)
			})
			return w.aboutTheirs(c, err)
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
		Kubeconfig: w.clusters.Kubeconfig(c.name),
		Connect:    func() (*cluster.Client, error) { return w.client(c.name) },
		Dir:        w.home.Path("flux", c.name),
		Registry:   w.home.Path("children"),
		Env:        w.reconcilerEnvironment(c.name),
		Port:       w.state.Ports[c.listener()],
		Token:      w.state.derived("artifacts-" + c.name),
		PortFree:   func() error { return w.state.portFree(c.listener()) },
	}
	f.Log = w.home.Log(f.Name())
	return f.Unit("unpack-"+string(flux), c.name)
}

func (w *world) argoCDUnit(c clusterSpec) supervisor.Unit {
	a := gitops.ArgoCD{
		Cluster:    c.name,
		Staged:     w.staged(string(argoCD)),
		Kubeconfig: w.clusters.Kubeconfig(c.name),
		Connect:    func() (*cluster.Client, error) { return w.client(c.name) },
		Dir:        w.home.Path("argocd", c.name),
		Registry:   w.home.Path("children"),
		// it caches what kinds there are in the folder .kube of its home
		Env:      append(w.reconcilerEnvironment(c.name), "HOME="+w.home.Path("argocd", c.name)),
		Port:     w.state.Ports[c.listener()],
		PortFree: func() error { return w.state.portFree(c.listener()) },
		Password: w.state.ArgoCDPassword,
	}
	a.Log = w.home.Log(a.Name())
	return a.Unit("unpack-"+string(argoCD), c.name)
}

func (w *world) subscribeFlux(ctx context.Context, client *cluster.Client, c clusterSpec, token string, limit time.Duration) error {
	if c.secret != "" {
		if err := gitops.FluxCredentials(ctx, client, c.secret, reconcilerUser, token); err != nil {
			return err
		}
	}
	for _, sub := range w.state.fluxSubscriptions(c, token) {
		if err := gitops.Subscribe(ctx, client, sub, limit); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) fluxSubscriptions(c clusterSpec, token string) []gitops.Subscription {
	var all []gitops.Subscription
	for _, sub := range c.follows {
		all = append(all, gitops.Subscription{
			Name:     sub.name,
			URL:      s.OrgURL() + "/" + sub.repository,
			Branch:   sub.branch,
			Path:     sub.path,
			User:     reconcilerUser,
			Token:    token,
			Interval: subscriptionInterval,
		})
	}
	return all
}

func (w *world) subscribeArgoCD(ctx context.Context, client *cluster.Client, c clusterSpec, token string, limit time.Duration) error {
	return gitops.SubscribeArgoCD(ctx, client, w.state.argoCDSubscription(c, token), limit)
}

func (s *State) argoCDSubscription(c clusterSpec, token string) gitops.ArgoCDSubscription {
	var all gitops.ArgoCDSubscription
	for _, name := range c.repositories {
		all.Repositories = append(all.Repositories, gitops.ArgoCDRepository{
			URL: s.OrgURL() + "/" + name, User: reconcilerUser, Token: token,
		})
	}
	for _, sub := range c.follows {
		all.Applications = append(all.Applications, gitops.ArgoCDApplication{
			Name: sub.name, URL: s.OrgURL() + "/" + sub.repository, Branch: sub.branch, Path: sub.path,
		})
	}
	return all
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
		if w.clusters.attached.Has(c.name) {
			f.Poke = w.state.pokeOurs(f.Poke)
		}
		all = append(all, f)
	}
	return all
}
