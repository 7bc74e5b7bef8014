package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/node"
	"github.com/kalypso-dev/kalypso/sandbox/node/addons"
	"github.com/kalypso-dev/kalypso/sandbox/node/simulated"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/workshop"
)

// argoCDNodePort is where a kind node offers Argo CD's pages to the machine.
const argoCDNodePort = 30080

// cluster is the provider of one cluster.
func (st *Stack) cluster(name string) cluster.Provider {
	if st.attached.Has(name) {
		return st.attached
	}
	return st.made
}

// newProvider returns what makes the clusters that are not attached.
func (st *Stack) newProvider() cluster.Provider {
	if st.state.Provider != state.ProviderKind || st.state.Engine == nil {
		return embeddedClusters{st.embedded, st}
	}
	return kindClusters(st.home, st.state)
}

// providerUnits are what all clusters of a provider need.
func (st *Stack) providerUnits() []supervisor.Unit {
	removed, _ := st.home.RemovedClusters(st.state) // their unit has the error
	if len(st.state.Made())+len(removed) == 0 && len(st.state.Existing) > 0 {
		return nil
	}
	if st.state.Provider == state.ProviderKind {
		return []supervisor.Unit{st.unpack("relay")}
	}
	etcd := st.embedded.Etcd()
	etcd.Needs = []string{"unpack-kube"}
	units := []supervisor.Unit{etcd}
	for _, program := range st.nodePrograms() {
		units = append(units, st.unpack(program, "unpack-kube"))
	}
	return units
}

// CollectLogs writes what the parts within the clusters have logged to a folder
// for each cluster. One that does not answer does not keep the others away.
func (st *Stack) CollectLogs(ctx context.Context, dir string) error {
	var all []error
	for _, name := range st.state.ClusterNames() {
		if err := st.cluster(name).Logs(ctx, name, filepath.Join(dir, name)); err != nil {
			all = append(all, fmt.Errorf("cluster %s: %w", name, err))
		}
	}
	return errors.Join(all...)
}

// kindClusters are the clusters of a sandbox that has them of kind.
func kindClusters(h state.Home, s *state.State) kind.Provider {
	pages := map[string]map[string]int{}
	for _, c := range s.Clusters() {
		if c.Reconciler == workshop.ArgoCD {
			pages[c.Name] = map[string]int{state.Listener(c): argoCDNodePort}
		}
	}
	return kind.Provider{
		Host: newHost(h, s), Engine: *s.Engine, ID: s.ID, Image: func() string { return s.NodeImage },
		Dir: h.Path("clusters"), Publish: pages,
	}
}

// embeddedClusters is the provider of clusters that are processes of this
// machine: a control plane and a node each.
type embeddedClusters struct {
	cluster.Embedded
	st *Stack
}

var _ cluster.Provider = embeddedClusters{}

func (e embeddedClusters) Units(name string) []supervisor.Unit {
	plane := e.ControlPlane(name)
	// it waits for etcd itself: both load their large program at once
	plane.Needs = []string{"unpack-kube"}
	if e.st.spec(name).Node == workshop.NoNode {
		return []supervisor.Unit{plane}
	}
	unpack := "unpack-" + e.st.nodeProgram(name)
	if e.st.simulated(name) != nil {
		node := e.st.simulatedNode(name).Unit(name, unpack)
		return []supervisor.Unit{plane, node, e.st.addonsUnit(name, node.Name)}
	}
	node := e.st.node(name).Unit(name, unpack)
	return []supervisor.Unit{plane, node, e.st.addonsUnit(name, node.Name)}
}

func (e embeddedClusters) List(context.Context) ([]string, error) {
	var all []string
	for _, name := range e.st.state.ClusterNames() {
		_, err := os.Stat(e.Kubeconfig(name))
		if err == nil {
			all = append(all, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return all, nil
}

// Stop ends what outlives the processes, which have died with their daemon.
func (e embeddedClusters) Stop(ctx context.Context, name string) error {
	return node.Clean(ctx, e.st.nodeDir(name))
}

// Delete removes what the clusters do not share.
func (e embeddedClusters) Delete(ctx context.Context, name string) error {
	if err := e.Stop(ctx, name); err != nil {
		return err
	}
	return state.RemoveAll(e.st.home.Path("clusters", name))
}

func (e embeddedClusters) Logs(_ context.Context, name, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err := os.CopyFS(filepath.Join(dir, "node"), os.DirFS(filepath.Join(e.st.nodeDir(name), "logs")))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a simulated node has none
	}
	return err
}

// spec is what the workshop says of a cluster.
func (st *Stack) spec(name string) workshop.Cluster {
	for _, c := range st.state.Clusters() {
		if c.Name == name {
			return c
		}
	}
	return workshop.Cluster{}
}

// simulated is why an embedded cluster has no real node, nil when it has one.
func (st *Stack) simulated(name string) error {
	switch of := st.spec(name).Node; {
	case of == workshop.NoNode:
		return errors.New("the cluster has no node")
	case of == workshop.SimulatedNode && st.unsupported == nil:
		return errors.New("the workshop wants it so")
	}
	return st.unsupported
}

// nodeProgram is the component that an embedded cluster's node is made of.
func (st *Stack) nodeProgram(name string) string {
	if st.simulated(name) != nil {
		return "kwok"
	}
	return "node"
}

// nodePrograms are those of all embedded clusters.
func (st *Stack) nodePrograms() []string {
	var all []string
	for _, name := range st.state.Made() {
		if program := st.nodeProgram(name); st.spec(name).Node != workshop.NoNode && !slices.Contains(all, program) {
			all = append(all, program)
		}
	}
	return all
}

func (st *Stack) nodeDir(name string) string { return st.home.Path("clusters", name, "node") }

// node is the real node of an embedded cluster.
func (st *Stack) node(name string) node.Node {
	var reaches []string
	if c := st.spec(name); c.Reconciler == workshop.ArgoCD {
		reaches = append(reaches, state.Listener(c))
	}
	return node.Node{
		Host:       st.host,
		Cluster:    name,
		Dir:        st.nodeDir(name),
		PKI:        st.home.Path("clusters", name, "pki"),
		Kubeconfig: st.embedded.Kubeconfig(name),
		Reaches:    reaches,
	}
}

// simulatedNode is the node of a cluster on a machine that cannot have a real
// one.
func (st *Stack) simulatedNode(name string) simulated.Node {
	return simulated.Node{
		Host:       st.host,
		Cluster:    name,
		Dir:        st.nodeDir(name),
		Clusters:   st.embedded.Dir,
		Kubeconfig: st.embedded.Kubeconfig(name),
		Why:        st.simulated(name).Error(),
	}
}

// addonsUnit gives an embedded cluster what others have of their cloud.
func (st *Stack) addonsUnit(name string, needs ...string) supervisor.Unit {
	o := addons.Options{
		Cluster: name, Kubeconfig: st.embedded.Kubeconfig(name), Log: st.log,
		Var: filepath.Join(st.nodeDir(name), "var"), Address: node.Address,
	}
	if st.simulated(name) == nil {
		o.Dial = st.node(name).Dial
	}
	a := addons.New(o)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.addons[name] = a
	return a.Unit(needs...)
}

// unreachable are the Services of a cluster that this machine does not reach.
func (st *Stack) unreachable(name string) []Problem {
	st.mu.Lock()
	a := st.addons[name]
	st.mu.Unlock()
	if a == nil { // a cluster without a node has none
		return nil
	}
	reasons := a.Problems()
	var all []Problem
	for _, service := range slices.Sorted(maps.Keys(reasons)) {
		all = append(all, Problem{Cluster: name, Object: "Service " + service, Reason: reasons[service]})
	}
	return all
}
