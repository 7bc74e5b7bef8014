package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/node"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// embeddedClusters is the provider of clusters that are processes of this
// machine: a control plane and a node each.
type embeddedClusters struct{ w *world }

var _ cluster.Provider = embeddedClusters{}

// Units implements cluster.Provider.
func (e embeddedClusters) Units(name string) []supervisor.Unit {
	s := e.w.state
	plane := e.w.embedded.ControlPlane(name, s.Ports[name])
	// it waits for etcd itself: both load their large program at once
	plane.Needs = []string{"unpack-kube"}
	return []supervisor.Unit{plane, e.w.nodeUnit(name, "unpack-"+e.w.nodeProgram())}
}

// Kubeconfig implements cluster.Provider.
func (e embeddedClusters) Kubeconfig(name string) string {
	return e.w.embedded.AdminKubeconfig(name)
}

// List implements cluster.Provider.
func (e embeddedClusters) List(context.Context) ([]string, error) {
	var all []string
	for _, name := range e.w.workshop.clusterNames() {
		_, err := os.Stat(e.Kubeconfig(name))
		if err == nil {
			all = append(all, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return all, nil
}

func (e embeddedClusters) nodeFolder(name string) string {
	return e.w.home.Path("clusters", name, "node")
}

// Stop implements cluster.Provider. The processes have died with their daemon,
// or are ended with the other orphans; this is for what outlives them.
func (e embeddedClusters) Stop(ctx context.Context, name string) error {
	return node.Clean(ctx, e.nodeFolder(name))
}

// Delete implements cluster.Provider. What the clusters share goes with the
// sandbox.
func (e embeddedClusters) Delete(ctx context.Context, name string) error {
	if err := e.Stop(ctx, name); err != nil {
		return err
	}
	return removeAll(e.w.home.Path("clusters", name))
}

// Logs implements cluster.Provider.
func (e embeddedClusters) Logs(_ context.Context, name, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err := os.CopyFS(filepath.Join(dir, "node"), os.DirFS(filepath.Join(e.nodeFolder(name), "logs")))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a simulated node has none
	}
	return err
}
