package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/node"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	stageDeadline        = 2 * time.Minute
	repositoriesDeadline = 2 * time.Minute
	subscribeDeadline    = 60 * time.Second
	imagesDeadline       = 60 * time.Second
	// subscriptionInterval only makes up for a lost webhook, and for what
	// somebody has changed by hand: each look costs the cluster a dry run of
	// everything that was applied. The tutorials, without webhooks, take 10 s.
	subscriptionInterval = time.Minute
)

// world is everything that the daemon runs, put together.
type world struct {
	home     Home
	state    *State
	workshop workshop
	log      *slog.Logger

	clusters  providers
	embedded  cluster.Embedded
	simulated error // why embedded clusters' nodes are not real, nil when they are
	gitea     gitea.Server

	mu      sync.Mutex
	clients map[string]*cluster.Client
}

func newWorld(h Home, s *State, w workshop, log *slog.Logger) *world {
	env := childEnvironment(h)
	staged := func(name string) func() string {
		return func() string { return components.Path(h.Components(), name) }
	}
	out := &world{
		home: h, state: s, workshop: w, log: log,
		clients: map[string]*cluster.Client{},
		embedded: cluster.Embedded{
			Program:  func() string { return filepath.Join(staged("kube")(), "kube") },
			Dir:      h.Path("clusters"),
			Socket:   h.etcdSocket(),
			Registry: h.Path("children"),
			Env:      env,
			Log:      h.Log,
			PortFree: s.portFree,
		},
		gitea: gitea.Server{
			Staged:   staged("gitea"),
			Dir:      h.Path("gitea"),
			Registry: h.Path("children"),
			Env:      env,
			Log:      h.Log("gitea"),
			URL:      s.ForgeURL(),
			Port:     s.Ports["gitea"],
			Secret:   s.GiteaSecret,
			Internal: s.GiteaInternal,
			JWT:      s.GiteaJWT,
			PortFree: func() error { return s.portFree("gitea") },
		},
	}
	for _, name := range w.made(s) {
		if err := node.Supported(h.Path("clusters", name, "node")); err != nil && s.Provider == ProviderEmbedded {
			out.simulated = err
			break
		}
	}
	out.embedded.Egress = func(name string) (string, []byte) {
		if out.simulated != nil {
			return out.simulatedNode(name).EgressConfig()
		}
		return out.node(name).EgressConfig()
	}
	out.clusters = out.newProvider()
	return out
}

// units are the parts of the sandbox, each after those that it needs.
func (w *world) units() []supervisor.Unit {
	s := w.state
	gitea := w.gitea.Unit()
	gitea.Needs = []string{"unpack-gitea"}
	units := []supervisor.Unit{w.unpack("kube"), w.unpack("gitea"), gitea}
	units = append(units, w.providerUnits()...)
	last := units[len(units)-1].Name
	for _, r := range w.workshop.reconcilers() {
		// last, since they are of no use before the others
		units = append(units, w.unpack(string(r), "unpack-kube", "unpack-gitea"))
	}
	for _, c := range w.workshop.clusters {
		for _, u := range w.clusters.Units(c.name) {
			u.Group = c.name
			units = append(units, u)
		}
	}
	units = append(units,
		w.unpack("samples", last),
		w.unpack("runner", "unpack-gitea"),
		supervisor.Unit{
			Name: "kubeconfig", Title: "contexts of the clusters", Needs: w.workshop.clusterNames(), Deadline: subscribeDeadline,
			Component: supervisor.Task{Run: w.writeKubeconfig},
		},
		supervisor.Unit{
			Name: "repositories", Title: "the workshop's repositories", Needs: []string{"gitea"}, Deadline: repositoriesDeadline,
			Component: supervisor.Task{Run: w.fillForge},
		},
		supervisor.Unit{
			Name: "notifier", Title: "tells the reconcilers of pushes", Deadline: subscribeDeadline,
			Component: &served{address: s.address("notifier"), log: w.log, handler: (&gitops.Notifier{
				Secret: s.WebhookSecret, Followers: w.followers, Log: w.log,
			}).Handler()},
		},
		w.schedulerUnit("repositories"),
		w.runnerUnit("repositories", "unpack-runner", "unpack-samples"),
		w.armUnit(),
	)
	if len(w.workshop.images) > 0 {
		units = append(units, supervisor.Unit{
			Name: "images", Title: "the sample applications' images", Needs: []string{"repositories", "unpack-samples"}, Deadline: imagesDeadline,
			Component: supervisor.Task{Run: w.pushImages},
		})
	}
	for _, c := range w.workshop.clusters {
		for _, u := range w.reconcilerUnits(c) {
			u.Group = c.name
			units = append(units, u)
		}
	}
	return units
}

// unpack stages one component, so that the first to be needed does not wait
// for the others.
func (w *world) unpack(name string, needs ...string) supervisor.Unit {
	return supervisor.Unit{
		Name: "unpack-" + name, Title: "unpack or check the packed programs", Needs: needs, Deadline: stageDeadline,
		Component: supervisor.Task{Run: func(ctx context.Context) error {
			err := components.Stage(ctx, w.home.Components(), name)
			// unpacking takes more than the daemon ever needs again
			debug.FreeOSMemory()
			components.Release()
			if err != nil && ctx.Err() == nil {
				return &supervisor.PermanentError{Err: err}
			}
			return err
		}},
	}
}

func (w *world) writeKubeconfig(context.Context) error {
	b, err := cluster.MergeKubeconfigs(w.workshop.clusterNames(), w.clusters.Kubeconfig)
	if err != nil {
		return err
	}
	return writeFile(w.home.Kubeconfig(), b, 0o600)
}

// hookEvents are the pushes and everything that can change a pull request or
// an issue of the scheduler's.
var hookEvents = []string{"push", "create", "delete", "pull_request", "pull_request_label", "issues"}

func (w *world) fillForge(ctx context.Context) error {
	content, err := fixtures.Load(w.workshop.name, w.state.OrgURL())
	if err != nil {
		return err
	}
	return w.gitea.Ensure(ctx, gitea.Setup{
		Organisation: Organisation,
		Admin:        gitea.Account{User: w.state.Admin.User, Password: w.state.Admin.Password, Admin: true},
		Scheduler:    gitea.Account{User: w.state.Scheduler.User, Password: w.state.Scheduler.Password},
		Robot:        gitea.Account{User: w.state.Robot.User, Password: w.state.Robot.Password},
		Repositories: content.Repositories,
		Secrets:      content.Secrets,
		Variables:    nextVariables(content),
		Hooks: []gitea.Hook{
			{URL: "http://" + w.state.address("scheduler") + schedulerHookPath, Secret: w.state.WebhookSecret, Events: hookEvents},
			{URL: "http://" + w.state.address("notifier") + "/", Secret: w.state.WebhookSecret, Events: []string{"push"}},
			w.runnerHook(),
		},
	})
}

// nextVariables tell the workflows which environment follows one.
func nextVariables(w fixtures.Workshop) map[string]string {
	all := map[string]string{}
	for environment, next := range w.Next() {
		all[scopedVariable(environment, w.NextVariable)] = next
	}
	return all
}

// client is made once per cluster; it costs a read of all the cluster's kinds.
func (w *world) client(name string) (*cluster.Client, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.clients[name]; c != nil {
		return c, nil
	}
	c, err := cluster.NewClient(w.clusters.Kubeconfig(name), "")
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	if w.clusters.attached.Has(name) {
		c.Inventory = w.clusters.attached.Inventory(name)
	}
	w.clients[name] = c
	return c, nil
}

// forget makes the next client of a cluster a new one.
func (w *world) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.clients, name)
}

// passedOn are the variables of the person's environment that children get.
// Everything else stays out: a proxy would catch calls between the parts, and
// settings of git, Go or Kubernetes would change what they do.
var passedOn = []string{"PATH", "TZ", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR"}

func childEnvironment(h Home) []string {
	env := []string{"HOME=" + string(h), "TMPDIR=" + h.Path("tmp")}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		for _, p := range passedOn {
			if name == p {
				env = append(env, kv)
			}
		}
	}
	return env
}
