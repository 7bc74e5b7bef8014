package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	argoCDDeadline = 90 * time.Second

	// argoCDResync is how often an application is compared without a push. A
	// refresh makes up for a push at once, so this is only for what was lost;
	// upstream's is two to three minutes.
	argoCDResync = time.Minute

	// ArgoCDNamespace is where Argo CD keeps its settings and the applications.
	ArgoCDNamespace = "argocd"

	// ArgoCDUser logs in at Argo CD's web pages.
	ArgoCDUser = "admin"
)

// ArgoCD is Argo CD's API server with its web pages, repository server and
// application controller as one child process that works on one cluster from
// outside. Applications name that cluster https://kubernetes.default.svc, as
// they would if Argo CD ran in it.
type ArgoCD struct {
	supervisor.Host
	Cluster    string
	Listener   string // of the API server and its pages
	Kubeconfig string // file with the cluster's administrator
	// Connect makes the client that installs; nil is one of the kubeconfig's.
	Connect func() (*cluster.Client, error)
	Dir     string // folder for clones; nothing in it is worth keeping
	// Password of ArgoCDUser, from the first start on until the user changes it
	// in Argo CD: 8 to 72 characters.
	Password string
	// Pause is the image of a pod that does nothing, on a node that reaches the
	// listener at its port; "" without such a node.
	Pause string
}

// Name of the unit.
func (a ArgoCD) Name() string { return "argocd-" + a.Cluster }

// URL is that of the web pages.
func (a ArgoCD) URL() string { return "http://localhost:" + strconv.Itoa(a.Port(a.Listener)) }

func (a ArgoCD) settings() ArgoCDSettings {
	return ArgoCDSettings{Kinds: filepath.Join(a.Staged("argocd"), "crds"), URL: a.URL(), Password: a.Password}
}

// Unit installs Argo CD's kinds and settings on the cluster and runs it. It is
// ready when the API server answers, which it does once it has read the
// applications and projects that are there.
func (a ArgoCD) Unit(needs ...string) supervisor.Unit {
	address := a.Address(a.Listener)
	p := a.Process(a.Name(), a.Dir)
	// it caches what kinds there are in the folder .kube of its home
	p.Env = append(slices.Clone(a.Env), "HOME="+a.Dir)
	p.Check = func(ctx context.Context) error {
		if err := loopback.Answers(ctx, "http://"+address+"/healthz"); err != nil {
			return err
		}
		return loopback.Answers(ctx, "http://"+address+"/api/version")
	}
	p.Prepare = func(ctx context.Context) error {
		p.Path = filepath.Join(a.Staged("argocd"), "argocd")
		p.Argv = []string{"argocd",
			"--kubeconfig=" + a.Kubeconfig,
			"--dir=" + a.Dir,
			"--pages=" + filepath.Join(a.Staged("argocd"), "ui"),
			"--listen=" + address,
			"--resync=" + argoCDResync.String(),
		}
		if err := os.MkdirAll(a.Dir, 0o700); err != nil {
			return err
		}
		if err := a.PortFree(a.Listener); err != nil {
			return err
		}
		client, err := connect(a.Connect, a.Kubeconfig)
		if err != nil {
			return err
		}
		if err := a.settings().Install(ctx, client); err != nil || a.Pause == "" {
			return err
		}
		return client.Apply(ctx, fmt.Appendf(nil, argoCDServer, a.Pause, a.Port(a.Listener)))
	}
	return supervisor.Unit{Name: a.Name(), Title: "Argo CD on cluster " + a.Cluster, Needs: needs, Component: p, Deadline: argoCDDeadline, Log: p.Log}
}

// argoCDServer is where kubectl's port-forward finds Argo CD in the cluster, though
// it runs beside it: the pod has the node's network, in which Argo CD has the port
// that it has on this machine.
const argoCDServer = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: argocd-server
  namespace: argocd
  labels: {app.kubernetes.io/name: argocd-server, app.kubernetes.io/part-of: argocd}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: argocd-server}}
  strategy: {type: Recreate}
  template:
    metadata:
      labels: {app.kubernetes.io/name: argocd-server}
    spec:
      hostNetwork: true
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 0
      containers:
        - name: pause
          image: %s
          imagePullPolicy: Never
---
apiVersion: v1
kind: Service
metadata:
  name: argocd-server
  namespace: argocd
  labels: {app.kubernetes.io/name: argocd-server, app.kubernetes.io/part-of: argocd}
spec:
  selector: {app.kubernetes.io/name: argocd-server}
  ports: [{name: http, port: 80, targetPort: %d}]
`
