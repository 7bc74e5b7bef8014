// Package stack puts the components of a sandbox together: which units there are,
// what each needs, and what they know of the clusters.
package stack

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/host"
	"github.com/kalypso-dev/kalypso/sandbox/node"
	"github.com/kalypso-dev/kalypso/sandbox/node/addons"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/sandbox/virtual"
	"github.com/kalypso-dev/kalypso/workshop"
)

const (
	stageDeadline        = 2 * time.Minute
	repositoriesDeadline = 2 * time.Minute
	subscribeDeadline    = 60 * time.Second
	imagesDeadline       = 60 * time.Second
	// subscriptionInterval only makes up for a lost webhook, and for what
	// was changed by hand: each reconciliation costs the cluster a dry run
	// of everything that was applied. The tutorials, without webhooks, take 10 s.
	subscriptionInterval = time.Minute
)

// Stack is all components of one sandbox, put together.
type Stack struct {
	home  state.Home
	state *state.State
	host  supervisor.Host
	log   *slog.Logger

	made     cluster.Provider // of the clusters that are not attached
	attached *attached.Provider
	embedded cluster.Embedded
	// unsupported is why no node of an embedded cluster can be real here, nil when
	// they can.
	unsupported error
	gitea       gitea.Server
	virtual     *virtual.Fleet
	// hosts are those of the workshop; noHosts is why this machine cannot have them.
	hosts   host.Fleet
	noHosts error
	// schedulerToken and hubToken are those that the two were started with last.
	schedulerToken, hubToken atomic.Pointer[string]

	contexts sync.Mutex // held while the kubeconfigs are written

	mu      sync.Mutex
	clients map[string]*cluster.Client
	addons  map[string]*addons.Addons // by cluster
}

// New puts the components of a sandbox together; it starts nothing.
func New(h state.Home, s *state.State, log *slog.Logger) *Stack {
	st := &Stack{home: h, state: s, host: newHost(h, s), log: log, clients: map[string]*cluster.Client{}, addons: map[string]*addons.Addons{}}
	st.embedded = cluster.Embedded{
		Host:   st.host,
		Dir:    h.Path("clusters"),
		Socket: h.EtcdSocket(),
		Egress: func(name string) (string, []byte) {
			if st.simulated(name) != nil {
				return st.simulatedNode(name).EgressConfig()
			}
			return st.node(name).EgressConfig()
		},
	}
	st.gitea = gitea.Server{
		Host:     st.host,
		Dir:      h.Path("gitea"),
		URL:      s.ForgeURL(),
		Secret:   s.GiteaSecret,
		Internal: s.GiteaInternal,
		JWT:      s.GiteaJWT,
	}
	for _, name := range s.Made() {
		if err := node.Supported(st.nodeDir(name)); err != nil && s.Provider == state.ProviderEmbedded {
			st.unsupported = err
			break
		}
	}
	st.attached = AttachedClusters(h, s)
	st.attached.Renewed = st.forgetClient
	st.made = st.newProvider()
	st.virtual = st.newVirtual()
	st.hosts, st.noHosts = st.newHosts()
	return st
}

// Units lists the components, each after those that it needs.
func (st *Stack) Units() []supervisor.Unit {
	units := []supervisor.Unit{st.unpack("kube"), st.unpack("gitea"), st.gitea.Unit("unpack-gitea")}
	units = append(units, st.providerUnits()...)
	last := units[len(units)-1].Name
	units = append(units, st.reconcilerPrograms()...)
	var own, added []workshop.Cluster
	var contexts []string
	for _, c := range st.state.Clusters() {
		if st.state.IsAdded(c.Name) {
			added = append(added, c)
			continue
		}
		own, contexts = append(own, c), append(contexts, c.Name)
		units = append(units, grouped(c.Name, st.cluster(c.Name).Units(c.Name))...)
	}
	units = append(units,
		st.unpack("samples", last),
		st.unpack("runner", "unpack-gitea"),
		task("kubeconfig", "contexts of the clusters", subscribeDeadline, st.writeKubeconfig, contexts...),
		task("repositories", "the workshop's repositories", repositoriesDeadline, st.fillForge, "gitea"),
		st.notifierUnit(),
		st.schedulerUnit("repositories"),
		st.hubUnit("repositories"),
		st.runnerUnit("repositories", "unpack-runner", "unpack-samples"),
		st.armUnit(),
		st.virtualUnit("repositories"),
	)
	if len(st.state.Spec().Images) > 0 {
		units = append(units, task("images", "the sample applications' images", imagesDeadline, st.pushImages, "repositories", "unpack-samples"))
	}
	for _, c := range own {
		units = append(units, grouped(c.Name, st.reconcilerUnits(c))...)
	}
	for _, c := range added {
		units = append(units, st.addedUnits(c)...)
	}
	units = append(units, st.hostUnits(units)...)
	return append(units, st.removedUnits()...)
}

// reconcilerPrograms unpack the reconcilers of the clusters, late, since they are of
// no use before the others.
func (st *Stack) reconcilerPrograms() (units []supervisor.Unit) {
	for _, r := range []workshop.Reconciler{workshop.Flux, workshop.ArgoCD} {
		if slices.ContainsFunc(st.state.Clusters(), func(c workshop.Cluster) bool { return c.Reconciler == r }) {
			units = append(units, st.unpack(string(r), "unpack-kube", "unpack-gitea"))
		}
	}
	return units
}

// grouped puts the units of a cluster into its group.
func grouped(cluster string, units []supervisor.Unit) []supervisor.Unit {
	for i := range units {
		units[i].Group = cluster
	}
	return units
}

func task(name, title string, deadline time.Duration, run func(context.Context) error, needs ...string) supervisor.Unit {
	return supervisor.Unit{Name: name, Title: title, Needs: needs, Deadline: deadline, Component: supervisor.Task{Run: func(ctx context.Context) error {
		// tasks take more than the daemon ever needs again
		defer components.Release()
		defer debug.FreeOSMemory()
		return run(ctx)
	}}}
}

// unpack stages one component, so that the first to be needed does not wait
// for the others.
func (st *Stack) unpack(name string, needs ...string) supervisor.Unit {
	return task("unpack-"+name, "unpack or check the packed programs", stageDeadline, func(ctx context.Context) error {
		err := components.Stage(ctx, st.home.Components(), name)
		if err != nil && ctx.Err() == nil {
			return &supervisor.PermanentError{Err: err}
		}
		return err
	}, needs...)
}

// writeKubeconfig puts the contexts of the clusters that are there together.
func (st *Stack) writeKubeconfig(context.Context) error {
	// the last to write must have seen all
	st.contexts.Lock()
	defer st.contexts.Unlock()
	b, err := cluster.MergeKubeconfigs(st.state.ClusterNames(), st.kubeconfig)
	if err != nil {
		return err
	}
	if err := state.WriteFile(st.home.Kubeconfig(), b); err != nil {
		return err
	}
	return st.writeWorkflowKubeconfig()
}

func (st *Stack) kubeconfig(name string) string { return st.cluster(name).Kubeconfig(name) }

func (st *Stack) fillForge(ctx context.Context) error {
	setup, err := st.forgeSetup()
	if err != nil {
		return err
	}
	return st.gitea.Ensure(ctx, setup)
}

// forgeSetup is what the forge holds when the workshop begins.
func (st *Stack) forgeSetup() (gitea.Setup, error) {
	s := st.state
	content, err := s.Spec().Load(workshop.On(s.OrgURL()))
	if err != nil {
		return gitea.Setup{}, err
	}
	variables := maps.Clone(content.Workflows.Variables)
	if variables == nil {
		variables = map[string]string{}
	}
	// the workflows read there which environment follows one
	if name := content.Workflows.NextEnvironment; name != "" {
		for environment, next := range content.Next() {
			variables[scopedVariable(environment, name)] = next
		}
	}
	return gitea.Setup{
		Organisation: state.Organisation,
		Admin:        gitea.Account{User: s.Admin.User, Password: s.Admin.Password},
		Scheduler:    gitea.Account{User: s.Scheduler.User, Password: s.Scheduler.Password},
		Robot:        gitea.Account{User: s.Robot.User, Password: s.Robot.Password},
		Hub:          gitea.Account{User: s.HubUser.User, Password: s.HubUser.Password},
		Workshop:     content,
		Variables:    variables,
		Hook:         st.hook(),
	}, nil
}

// client is made once per cluster; it costs a read of all the cluster's kinds.
func (st *Stack) client(name string) (*cluster.Client, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if c := st.clients[name]; c != nil {
		return c, nil
	}
	c, err := cluster.NewClient(st.kubeconfig(name), "")
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	if st.attached.Has(name) {
		c.Inventory = st.attached.Inventory(name)
	}
	st.clients[name] = c
	return c, nil
}

// forgetClient makes the next client of a cluster a new one.
func (st *Stack) forgetClient(name string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.clients, name)
}

// passedOn are the variables of the user's environment that children get.
// Everything else stays out: a proxy would catch calls between the parts, and
// settings of git, Go or Kubernetes would change what they do.
var passedOn = []string{"PATH", "TZ", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR"}

func newHost(h state.Home, s *state.State) supervisor.Host {
	env := []string{"HOME=" + string(h), "TMPDIR=" + h.Path("tmp")}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(passedOn, name) {
			env = append(env, kv)
		}
	}
	return supervisor.Host{
		Registry: h.Children(), Env: env, Log: h.Log, Port: s.Port, PortFree: s.PortFree,
		Staged: func(name string) string { return components.Path(h.Components(), name) },
	}
}
