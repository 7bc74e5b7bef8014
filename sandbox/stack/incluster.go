package stack

import (
	"context"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/gitops/incluster"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/workshop"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	inClusterDeadline = 4 * time.Minute
	podsDeadline      = 3 * time.Minute
	// a new cluster's DNS comes after its first pods
	subscribeInClusterDeadline = 3 * time.Minute
)

// inClusterReconciler is Flux or Argo CD in the cluster's own pods.
type inClusterReconciler interface {
	Images(context.Context) ([]incluster.Image, error)
	Install(context.Context, *cluster.Client) error
	Ready(context.Context, *cluster.Client) error
}

// inClusterUnit installs a cluster's reconciler in the cluster.
func (st *Stack) inClusterUnit(c workshop.Cluster, nodes cluster.Loader) supervisor.Unit {
	name, title := gitops.Flux{Cluster: c.Name}.Name(), "Flux in cluster "+c.Name
	var r inClusterReconciler = incluster.Flux{Host: st.host}
	if c.Reconciler == workshop.ArgoCD {
		name, title = gitops.ArgoCD{Cluster: c.Name}.Name(), "Argo CD in cluster "+c.Name
		r = incluster.ArgoCD{Host: st.host, URL: st.state.LocalURL(state.Listener(c)), Password: st.state.ArgoCDPassword}
	}
	return supervisor.Unit{
		Name: name, Title: title, Needs: []string{"unpack-" + string(c.Reconciler), "unpack-relay", c.Name, kind.RelayName(c.Name)}, Deadline: inClusterDeadline,
		Component: &supervisor.Background{
			Run: func(ctx context.Context, say func(string), ready func()) error {
				if err := st.install(ctx, c, nodes, r, say); err != nil {
					return err
				}
				ready()
				return nil
			},
			Check: func(ctx context.Context) error {
				client, err := st.client(c.Name)
				if err != nil {
					return err
				}
				return r.Ready(ctx, client)
			},
		},
	}
}

func (st *Stack) install(ctx context.Context, c workshop.Cluster, nodes cluster.Loader, r inClusterReconciler, say func(string)) error {
	client, err := st.client(c.Name)
	if err != nil {
		return err
	}
	images, err := r.Images(ctx)
	if err != nil {
		return err
	}
	for _, i := range images {
		say("loading image " + i.Name)
		if err := nodes.Load(ctx, c.Name, i.Name, i.Write); err != nil {
			return err
		}
	}
	say("installing")
	if err := r.Install(ctx, client); err != nil {
		return err
	}
	if c.Reconciler == workshop.ArgoCD {
		if err := client.Apply(ctx, fmt.Appendf(nil, argoCDService, gitops.ArgoCDNamespace, argoCDNodePort)); err != nil {
			return err
		}
	}
	say("waiting for the pods")
	err = retry.Until(ctx, "the pods", podsDeadline, func(ctx context.Context) error {
		err := r.Ready(ctx, client)
		if err != nil {
			say(err.Error())
		}
		return err
	})
	if err != nil {
		return err
	}
	// a lookup that comes too early gets NXDOMAIN, which is cached for minutes
	say("waiting for the cluster's DNS")
	return retry.Until(ctx, "the cluster's DNS", podsDeadline, func(ctx context.Context) error { return available(ctx, client, "kube-system", "coredns") })
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

// argoCDService lets users reach Argo CD's pages through a port of the node, which
// the engine offers on this machine's loopback.
const argoCDService = `apiVersion: v1
kind: Service
metadata:
  name: argocd-server-door
  namespace: %s
spec:
  type: NodePort
  selector: {app.kubernetes.io/name: argocd-server}
  ports: [{name: http, port: 80, targetPort: 8080, nodePort: %d}]
`
