package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kalypso-dev/kalypso/hub/agent"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/argocd"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
)

// agentOptions are those of `kalypso hub agent`.
type agentOptions struct {
	*cmdutil.App
	Agent      agent.Options
	Kubeconfig string // file; "" for the account of the pod that the agent is in
	Context    string // of the kubeconfig, "" for its current one
}

// clusterLimit is how long the cluster may take for an answer.
const clusterLimit = 30 * time.Second

func newAgent(a *cmdutil.App, run func(context.Context, *agentOptions) error) *cobra.Command {
	o := &agentOptions{App: a}
	c := &cobra.Command{
		Use:   "agent",
		Short: "Report to a hub what runs on a cluster that the hub cannot reach",
		Long: `Report to a hub what Flux and Argo CD have brought to this cluster: for a cluster
behind NAT or a firewall, which the hub cannot ask. The agent only makes
connections: to its cluster, where it needs to read gitrepositories,
kustomizations and applications, and by https to the hub, also through the proxy
of HTTPS_PROXY.

It reports when something has changed, and once a minute in any case: a hub that
has heard nothing for three minutes shows the cluster as unknown. While the hub
cannot be reached, the agent keeps the newest state and tries again, ever more
seldom, at least once a minute.

On the hub, "observe" in hub.yaml has {agents: {}}, and

  kalypso hub token create --cluster NAME --config hub.yaml

makes the token, which is good for reports of that cluster and nothing else.
deploy/agent has manifests for Kubernetes.`,
		Example: `  kalypso hub agent --hub https://hub.example.com --cluster store-17 --token-file /etc/kalypso/token
  kalypso hub agent --hub https://hub.example.com --cluster store-17 --token-file token --kubeconfig store-17.kubeconfig`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Agent.Hub, "hub", "", "`URL` of the hub")
	c.Flags().StringVar(&o.Agent.Cluster, "cluster", "", "`NAME` of this cluster in the hub, which the token is of")
	c.Flags().StringVar(&o.Agent.TokenFile, "token-file", "", "`FILE` with the cluster's token; read for each report")
	c.Flags().StringVar(&o.Kubeconfig, "kubeconfig", "", "`FILE` with the cluster's address (default the account of the pod that this runs in)")
	c.Flags().StringVar(&o.Context, "context", "", "`NAME` of the kubeconfig's context (default its current one)")
	c.Flags().StringToStringVar(&o.Agent.Labels, "label", nil, "`KEY=VALUE` that the hub shows and selects the cluster by; may be repeated")
	return c
}

func (o *agentOptions) check() error {
	for _, one := range []struct{ flag, value string }{{"--hub URL", o.Agent.Hub}, {"--cluster NAME", o.Agent.Cluster}, {"--token-file FILE", o.Agent.TokenFile}} {
		if one.value == "" {
			return usage.Errorf("give %s\nSee `kalypso hub agent --help`.", one.flag)
		}
	}
	u, err := url.Parse(o.Agent.Hub)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return usage.Errorf("--hub %q: give an https URL, without credentials", o.Agent.Hub)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usage.Errorf("--hub %s: the token would go unencrypted: give an https URL", o.Agent.Hub)
	}
	if o.Context != "" && o.Kubeconfig == "" {
		return usage.New("--context is one of a kubeconfig: give --kubeconfig FILE, too")
	}
	return nil
}

func runAgent(ctx context.Context, o *agentOptions) error {
	config, err := o.cluster()
	if err != nil {
		return err
	}
	config.Timeout = clusterLimit
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("the cluster: %w", err)
	}
	o.Agent.Reader = fleet.Observers{flux.Cluster{Name: o.Agent.Cluster, Client: client}, argocd.Cluster{Name: o.Agent.Cluster, Client: client}}
	o.Agent.Log = slog.New(slog.NewTextHandler(o.Err, nil))
	return agent.Run(ctx, o.Agent)
}

// cluster is how the cluster is reached.
func (o *agentOptions) cluster() (*rest.Config, error) {
	if o.Kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, usage.New("this is not a pod of the cluster: give --kubeconfig FILE")
		}
		return config, err
	}
	config, err := clientcmd.LoadFromFile(o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	found, err := clientcmd.NewNonInteractiveClientConfig(*config, o.Context, nil, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", o.Kubeconfig, err)
	}
	return found, nil
}
