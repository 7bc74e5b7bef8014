package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/gitops/incluster"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	insideDeadline = 4 * time.Minute
	podsWait       = 3 * time.Minute
	// a new cluster's DNS comes after its first pods
	subscribeInsideDeadline = 3 * time.Minute
)

// reconcilerInside is Flux or Argo CD in the cluster's own pods.
type reconcilerInside interface {
	Images(context.Context) ([]incluster.Image, error)
	Install(context.Context, *cluster.Client) error
	Ready(context.Context, *cluster.Client) error
}

// insideUnit installs a cluster's reconciler in the cluster.
func (w *world) insideUnit(c clusterSpec, nodes cluster.Loader) supervisor.Unit {
	name, title := gitops.Flux{Cluster: c.name}.Name(), "Flux in cluster "+c.name
	var r reconcilerInside = incluster.Flux{
		Staged: w.staged(string(flux)), Relay: w.staged("relay"), ForgePort: w.state.Ports["gitea"],
	}
	if c.reconciler == argoCD {
		name, title = gitops.ArgoCD{Cluster: c.name}.Name(), "Argo CD in cluster "+c.name
		r = incluster.ArgoCD{
			Staged: w.staged(string(argoCD)), Relay: w.staged("relay"), ForgePort: w.state.Ports["gitea"],
			URL: w.state.localURL(c.listener()), Password: w.state.ArgoCDPassword,
		}
	}
	return supervisor.Unit{
		Name: name, Title: title, Needs: []string{"unpack-" + string(c.reconciler), "unpack-relay", c.name, kind.RelayName(c.name)}, Deadline: insideDeadline,
		Component: &supervisor.Background{
			Run: func(ctx context.Context, say func(string), ready func()) error {
				if err := w.install(ctx, c, nodes, r, say); err != nil {
					return err
				}
				ready()
				return nil
			},
			Check: func(ctx context.Context) error {
				client, err := w.client(c.name)
				if err != nil {
					return err
				}
				return r.Ready(ctx, client)
			},
		},
	}
}

func (w *world) install(ctx context.Context, c clusterSpec, nodes cluster.Loader, r reconcilerInside, say func(string)) error {
	client, err := w.client(c.name)
	if err != nil {
		return err
	}
	images, err := r.Images(ctx)
	if err != nil {
		return err
	}
	for _, i := range images {
		say("loading image " + i.Name)
		if err := nodes.Load(ctx, c.name, i.Name, i.Write); err != nil {
			return err
		}
	}
	say("installing")
	if err := r.Install(ctx, client); err != nil {
		return err
	}
	if c.reconciler == argoCD {
		if err := client.Apply(ctx, fmt.Appendf(nil, argoCDDoor, gitops.ArgoCDNamespace, argoCDNodePort)); err != nil {
			return err
		}
	}
	say("waiting for the pods")
	err = retry.Until(ctx, "the pods", podsWait, func(ctx context.Context) error {
		err := r.Ready(ctx, client)
		if err != nil {
			say(err.Error())
		}
		return err
	})
	if err != nil {
		return err
	}
	// what asks too early is told that there is no such name, and may not ask
	// again for minutes
	say("waiting for the cluster's DNS")
	return retry.Until(ctx, "the cluster's DNS", podsWait, func(ctx context.Context) error { return available(ctx, client, "kube-system", "coredns") })
}

// available returns nil when a Deployment is.
func available(ctx context.Context, client *cluster.Client, namespace, name string) error {
	all, err := client.Resource(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, namespace)
	if err != nil {
		return err
	}
	o, err := all.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return cluster.Condition(o, "Available")
}

// argoCDDoor lets people reach Argo CD's pages through a port of the node, which
// the engine offers on this machine's loopback.
const argoCDDoor = `apiVersion: v1
kind: Service
metadata:
  name: argocd-server-door
  namespace: %s
spec:
  type: NodePort
  selector: {app.kubernetes.io/name: argocd-server}
  ports: [{name: http, port: 80, targetPort: 8080, nodePort: %d}]
`
