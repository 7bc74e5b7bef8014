package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/node"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/workshop"
)

const eraseDeadline = time.Minute

// ChangeClusters adds clusters to a sandbox that runs with these units, and removes
// some. It returns when those that are removed are gone, and the others are about to
// start. What is wanted is noted first, so that the next start of the sandbox goes on
// with what was cut off. The error is a *usage.Error for what cannot be done, and
// nothing has changed then.
func (st *Stack) ChangeClusters(ctx context.Context, units *supervisor.Supervisor, request ClusterRequest) (answer ClusterAnswer, err error) {
	changes, err := st.home.ClusterChanges()
	if err != nil {
		return answer, err
	}
	virtual, err := st.state.VirtualClusters()
	if err != nil {
		return answer, err
	}
	has := append(append(st.state.Clusters(), virtual...), st.state.Hosts()...)
	if err := changes.Remove(request.Remove, has); err != nil {
		return answer, err
	}
	if err := changes.Add(request.Add, has); err != nil {
		return answer, err
	}
	var added []workshop.Cluster
	var removed []string
	for _, c := range request.Add {
		if c.Kind != workshop.VirtualCluster {
			added = append(added, c)
		}
	}
	for _, name := range request.Remove {
		if slices.Contains(st.state.Names(), name) {
			removed = append(removed, name)
		}
	}
	if err := st.checkChange(units, added, removed); err != nil {
		return answer, err
	}
	for _, c := range added {
		// of an earlier cluster of that name, whose removal is in a snapshot
		if err := st.erase(ctx, c.Name); err != nil {
			return answer, err
		}
	}
	if err := st.home.ChangeClusters(st.state, changes); err != nil {
		return answer, err
	}
	if virtual, err = st.state.VirtualClusters(); err != nil {
		return answer, err
	}
	st.virtual.Set(virtual)
	answer.Virtual = len(virtual)
	for _, name := range removed {
		err = errors.Join(err, st.remove(ctx, units, name))
	}
	if err != nil || len(added) == 0 {
		return answer, err
	}
	answer.Components, err = st.start(units, added)
	return answer, err
}

// checkChange returns a *usage.Error for real clusters that cannot be added or
// removed while the sandbox runs.
func (st *Stack) checkChange(units *supervisor.Supervisor, added []workshop.Cluster, removed []string) error {
	for _, name := range removed {
		if slices.ContainsFunc(st.state.Hosts(), func(c workshop.Cluster) bool { return c.Name == name }) {
			return usage.Errorf("%s is a host, which comes and goes with the sandbox only: `kalypso stop %[1]s` ends it", name)
		}
		if st.attached.Has(name) {
			return usage.Errorf("cluster %s is one of yours, which was attached: `kalypso stop %[1]s` ends its reconciler, and `kalypso down` takes off what was put there", name)
		}
	}
	if len(added)+len(removed) > 0 && st.state.Provider != state.ProviderEmbedded {
		return usage.Errorf("clusters of %s come and go with the sandbox only: write them into a workshop.yaml and make a sandbox of it (`kalypso down --delete`, then `kalypso up --provider %[1]s --workshop FOLDER`), or add virtual ones with --virtual", st.state.Provider)
	}
	var components []string
	if len(added) > 0 {
		for _, s := range units.Status() {
			components = append(components, s.Name)
		}
	}
	for _, c := range added {
		if len(c.Name) > workshop.MaxClusterName {
			return usage.Errorf("%s is too long a name for a cluster that is not virtual: %d characters are the most", c.Name, workshop.MaxClusterName)
		}
		for _, prefix := range []string{"", "node-", "addons-", "kubeconfig-", "flux-", "argocd-", "subscription-"} {
			if slices.Contains(components, prefix+c.Name) {
				return usage.Errorf("the sandbox has a component %s, so that no cluster can be called %s: choose another name", prefix+c.Name, c.Name)
			}
		}
		if wantsReal := c.Node == "" || c.Node == workshop.RealNode; wantsReal && st.unsupported == nil {
			if err := node.Supported(st.nodeDir(c.Name)); err != nil {
				return usage.Errorf("cluster %s cannot have a real node: %v; or take another with --node", c.Name, err)
			}
		}
	}
	return nil
}

// start adds the units of clusters, and those that they need and that are not there.
func (st *Stack) start(units *supervisor.Supervisor, added []workshop.Cluster) (names []string, err error) {
	present := map[string]bool{}
	for _, s := range units.Status() {
		present[s.Name] = true
	}
	all := slices.DeleteFunc(append(st.providerUnits(), st.reconcilerPrograms()...), func(u supervisor.Unit) bool { return present[u.Name] })
	for _, c := range added {
		all = append(all, st.addedUnits(c)...)
	}
	for _, u := range all {
		names = append(names, u.Name)
	}
	if err := units.Add(all...); err != nil {
		return nil, fmt.Errorf("the clusters come with the next `kalypso up`: %w", err)
	}
	return names, nil
}

// addedUnits are all units of a cluster that the workshop has not. Its context is
// written when it is there: no other unit waits for it.
func (st *Stack) addedUnits(c workshop.Cluster) []supervisor.Unit {
	units := append(st.cluster(c.Name).Units(c.Name), task("kubeconfig-"+c.Name, "context of the cluster", subscribeDeadline, st.writeKubeconfig, c.Name))
	return grouped(c.Name, append(units, st.reconcilerUnits(c)...))
}

// remove ends a cluster that the state has no longer, and removes all that it has left.
func (st *Stack) remove(ctx context.Context, units *supervisor.Supervisor, name string) error {
	err := units.Remove(ctx, name, "being removed")
	var gone *supervisor.UnknownGroupError
	if err == nil || errors.As(err, &gone) {
		err = st.erase(ctx, name)
	}
	if err == nil {
		err = st.home.Refresh(st.state)
	}
	if err != nil {
		return fmt.Errorf("cluster %s is not all removed; `kalypso down` and `kalypso up` go on with it: %w", name, err)
	}
	return nil
}

// erase removes what a cluster that does not run has left. Its folder is the last:
// while that is there, the next start goes on.
func (st *Stack) erase(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, eraseDeadline)
	defer cancel()
	if err := node.Clean(ctx, st.nodeDir(name)); err != nil {
		return err
	}
	st.mu.Lock()
	delete(st.clients, name)
	delete(st.addons, name)
	st.mu.Unlock()
	if err := st.embedded.DeleteData(ctx, name); err != nil {
		return err
	}
	if _, err := st.home.SetStopped(name, false); err != nil {
		return err
	}
	left := []string{st.home.Path("flux", name), st.home.Path("argocd", name), st.home.Path("arc", name+".json"), st.workflowContext(name)}
	for _, component := range []string{name, "node-" + name, "flux-" + name, "argocd-" + name} {
		logs, err := filepath.Glob(st.home.Log(component) + "*")
		if err != nil {
			return err
		}
		left = append(left, logs...)
	}
	for _, path := range left {
		if err := state.RemoveAll(path); err != nil {
			return err
		}
	}
	if _, err := os.Stat(st.home.Kubeconfig()); err == nil {
		if err := st.writeKubeconfig(ctx); err != nil {
			return err
		}
	}
	return state.RemoveAll(st.home.Path("clusters", name))
}

// removedUnits finish the removal of clusters that was cut off, or that a reset or a
// snapshot has brought about; none where nothing is left.
func (st *Stack) removedUnits() []supervisor.Unit {
	left, err := st.home.RemovedClusters(st.state)
	if len(left) == 0 && err == nil {
		return nil
	}
	limit := time.Duration(1+len(left)) * eraseDeadline
	return []supervisor.Unit{task("removed-clusters", "what clusters have left that were removed", limit, st.eraseRemoved, "etcd")}
}

// eraseRemoved removes what clusters have left that the sandbox has no longer.
func (st *Stack) eraseRemoved(ctx context.Context) error {
	left, err := st.home.RemovedClusters(st.state)
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := st.erase(ctx, name); err != nil {
			return fmt.Errorf("cluster %s: %w", name, err)
		}
	}
	return nil
}
