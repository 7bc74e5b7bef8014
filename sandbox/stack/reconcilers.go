package stack

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/node"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/workshop"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reconcilerUser is what a token's user is called where only the token counts.
const reconcilerUser = "flux"

// reconcilerUnits make a cluster follow the GitOps repository.
func (st *Stack) reconcilerUnits(c workshop.Cluster) []supervisor.Unit {
	subscribe := st.subscribeFlux
	if c.Reconciler == workshop.ArgoCD {
		subscribe = st.subscribeArgoCD
	}
	var program supervisor.Unit
	limit := subscribeDeadline
	if nodes, ok := st.cluster(c.Name).(cluster.Loader); ok {
		program, limit = st.inClusterUnit(c, nodes), subscribeInClusterDeadline
	} else if c.Reconciler == workshop.ArgoCD {
		program = st.argoCDUnit(c)
	} else {
		program = st.fluxUnit(c)
	}
	if st.attached.Has(c.Name) {
		program.Component = &skipIfPresent{Component: program.Component, present: func() bool { return st.ownReconciler(c.Name) != "" }}
	}
	return []supervisor.Unit{program, task("subscription-"+c.Name, "cluster follows the GitOps repository", limit, func(ctx context.Context) error {
		client, err := st.client(c.Name)
		if err != nil {
			return err
		}
		if err := st.admitWorkflows(ctx, client, c.Name); err != nil {
			return err
		}
		token, err := os.ReadFile(st.gitea.TokenFile(gitea.FluxToken))
		if err != nil {
			return err
		}
		marker := "subscribed"
		if st.attached.Has(c.Name) {
			marker += "-" + st.state.ID // another sandbox may have used the cluster, too
		}
		err = runOnce(ctx, client, marker, func() error {
			return subscribe(ctx, client, c, string(token), limit)
		})
		if err == nil {
			// it may have another token than the forge knows now
			_, err = st.credentialsOf(c, string(token)).Ensure(ctx, client, st.gitea.Knows)
		}
		return st.explainOwn(c, err)
	}, program.Name, "repositories")}
}

func (st *Stack) fluxUnit(c workshop.Cluster) supervisor.Unit {
	f := gitops.Flux{
		Host:       st.hostBeside(c.Name),
		Cluster:    c.Name,
		Listener:   state.Listener(c),
		Kubeconfig: st.kubeconfig(c.Name),
		Connect:    func() (*cluster.Client, error) { return st.client(c.Name) },
		Dir:        st.home.Path("flux", c.Name),
		Token:      st.state.Derived("artifacts-" + c.Name),
		Events:     "http://" + st.state.Address(state.Hub) + hubFluxPath + url.PathEscape(c.Name) + "/" + fleet.EventSecret(st.state.WebhookSecret, c.Name),
	}
	return f.Unit("unpack-"+string(workshop.Flux), c.Name)
}

func (st *Stack) argoCDUnit(c workshop.Cluster) supervisor.Unit {
	a := gitops.ArgoCD{
		Host:       st.hostBeside(c.Name),
		Cluster:    c.Name,
		Listener:   state.Listener(c),
		Kubeconfig: st.kubeconfig(c.Name),
		Connect:    func() (*cluster.Client, error) { return st.client(c.Name) },
		Dir:        st.home.Path("argocd", c.Name),
		Password:   st.state.ArgoCDPassword,
	}
	if !st.attached.Has(c.Name) && st.simulated(c.Name) == nil {
		a.Pause = node.PauseImage
	}
	return a.Unit("unpack-"+string(workshop.ArgoCD), c.Name)
}

func (st *Stack) subscribeFlux(ctx context.Context, client *cluster.Client, c workshop.Cluster, token string, limit time.Duration) error {
	if c.Credentials != "" {
		if err := client.ApplyObjects(ctx, gitops.FluxSecret(c.Credentials, reconcilerUser, token)); err != nil {
			return err
		}
	}
	for _, sub := range fluxSubscriptions(st.state, c, token) {
		if err := gitops.Subscribe(ctx, client, sub, limit); err != nil {
			return err
		}
	}
	return nil
}

func fluxSubscriptions(s *state.State, c workshop.Cluster, token string) []gitops.Subscription {
	var all []gitops.Subscription
	for _, sub := range c.Follows {
		all = append(all, gitops.Subscription{
			Name:     sub.Name,
			URL:      s.OrgURL() + "/" + sub.Repository,
			Branch:   sub.Branch,
			Path:     sub.Path,
			User:     reconcilerUser,
			Token:    token,
			Interval: subscriptionInterval,
		})
	}
	return all
}

func (st *Stack) subscribeArgoCD(ctx context.Context, client *cluster.Client, c workshop.Cluster, token string, limit time.Duration) error {
	return gitops.SubscribeArgoCD(ctx, client, argoCDSubscription(st.state, c, token), limit)
}

func argoCDSubscription(s *state.State, c workshop.Cluster, token string) gitops.ArgoCDSubscription {
	var all gitops.ArgoCDSubscription
	for _, name := range c.Repositories {
		all.Repositories = append(all.Repositories, gitops.ArgoCDRepository{
			URL: s.OrgURL() + "/" + name, User: reconcilerUser, Token: token,
		})
	}
	for _, sub := range c.Follows {
		all.Applications = append(all.Applications, gitops.ArgoCDApplication{
			Name: sub.Name, URL: s.OrgURL() + "/" + sub.Repository, Branch: sub.Branch, Path: sub.Path,
		})
	}
	return all
}

// followers are the clusters that are notified of a push.
func (st *Stack) followers() []gitops.Follower {
	var all []gitops.Follower
	for _, c := range st.state.Clusters() {
		client, err := st.client(c.Name)
		if err != nil {
			st.log.Warn("push not passed on to a cluster", "cluster", c.Name, "reason", err)
			continue
		}
		f := gitops.Follower{Cluster: c.Name, Client: client, Poke: gitops.PokeFlux}
		if c.Reconciler == workshop.ArgoCD {
			f.Poke = gitops.RefreshArgoCD
		}
		if st.attached.Has(c.Name) {
			f.Poke = st.pokeOurs(f.Poke)
		}
		all = append(all, f)
	}
	return all
}

type poke = func(ctx context.Context, c *cluster.Client, repository, branch, commit string) error

// pokeOurs leaves alone what follows a repository of that name on another forge.
func (st *Stack) pokeOurs(poke poke) poke {
	return func(ctx context.Context, c *cluster.Client, repository, branch, commit string) error {
		host := net.JoinHostPort("localhost", strconv.Itoa(st.state.Port("gitea")))
		return poke(ctx, c, host+"/"+repository, branch, commit)
	}
}

// hostBeside is that of a reconciler that runs beside its cluster.
func (st *Stack) hostBeside(cluster string) supervisor.Host {
	h := st.host
	if st.attached.Has(cluster) {
		h.Env = st.attached.Environment(cluster, h.Env)
	}
	return h
}

// runOnce does what a new cluster needs and what the user may undo later: it is
// not done again on a cluster that has a marker of it. The marker lies on the
// cluster, so that it goes where the cluster's data goes.
func runOnce(ctx context.Context, client *cluster.Client, what string, do func() error) error {
	const namespace = "kube-system"
	name := "kalypso-" + what
	markers, err := client.Resource(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, namespace)
	if err != nil {
		return err
	}
	_, err = markers.Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return client.Apply(ctx, fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\n", name, namespace))
}

// skipIfPresent is a component that is not started where there is another of its
// kind already; then it is ready at once.
//
// Stop ends it also where another has come since it was started.
type skipIfPresent struct {
	supervisor.Component
	present func() bool
	skipped bool // since Init
}

func (s *skipIfPresent) Init(ctx context.Context) error {
	if s.skipped = s.present(); s.skipped {
		return nil
	}
	return s.Component.Init(ctx)
}

func (s *skipIfPresent) Start(ctx context.Context) error {
	if s.skipped {
		return nil
	}
	return s.Component.Start(ctx)
}

func (s *skipIfPresent) Ready(ctx context.Context) error {
	if s.skipped {
		return nil
	}
	return s.Component.Ready(ctx)
}

func (s *skipIfPresent) Exited() <-chan struct{} {
	if s.skipped {
		return nil
	}
	return s.Component.Exited()
}

// PID is 0 for a component that was skipped.
func (s *skipIfPresent) PID() int {
	if p, ok := s.Component.(interface{ PID() int }); ok && !s.skipped {
		return p.PID()
	}
	return 0
}
