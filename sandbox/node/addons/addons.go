// Package addons gives embedded clusters what others have of their cloud, or of
// kind: a default StorageClass, whose volumes are folders of the node, and
// NodePorts and load balancers that this machine reaches on its loopback.
package addons

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const deadline = time.Minute

// Options describe a cluster's node.
type Options struct {
	Cluster    string // its name, and the node's
	Kubeconfig string // file with the cluster's administrator
	Var        string // the folder on this machine that is the node's /var
	Address    string // the node's own
	// Dial connects to an address in the node; nil for a node that is simulated,
	// which nothing answers in.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	Log  *slog.Logger
}

// Addons are those of one cluster.
type Addons struct {
	o        Options
	services *loopback // nil for a simulated node
}

// New makes the addons of a cluster; Unit runs them.
func New(o Options) *Addons {
	a := &Addons{o: o}
	if o.Dial != nil {
		a.services = &loopback{node: o.Address, dial: o.Dial, log: o.Log}
	}
	return a
}

// Problems are the Services that are not reachable, as NAMESPACE/NAME, with the
// reason.
func (a *Addons) Problems() map[string]string {
	if a == nil || a.services == nil {
		return nil
	}
	return a.services.problems()
}

// Unit is the addons as a part of the sandbox.
func (a *Addons) Unit(needs ...string) supervisor.Unit {
	return supervisor.Unit{
		Name: "addons-" + a.o.Cluster, Title: "volumes, NodePorts and load balancers of cluster " + a.o.Cluster,
		Needs: needs, Deadline: deadline, Component: &supervisor.Background{Run: a.run},
	}
}

func (a *Addons) run(ctx context.Context, say func(string), ready func()) error {
	say("connecting to the cluster")
	config, err := clientcmd.BuildConfigFromFlags("", a.o.Kubeconfig)
	if err != nil {
		return err
	}
	config.UserAgent = "kalypso-addons"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	waiting := make(chan struct{}, 2) // for each part that is ready
	all.Go(func() error {
		return folders{data: a.o.Var, node: a.o.Cluster}.run(ctx, client, a.o.Log, func() { waiting <- struct{}{} })
	})
	if a.services == nil {
		waiting <- struct{}{}
	} else {
		all.Go(func() error { return a.services.run(ctx, client, func() { waiting <- struct{}{} }) })
	}
	all.Go(func() error {
		for range 2 {
			select {
			case <-waiting:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		ready()
		return nil
	})
	return all.Wait()
}
