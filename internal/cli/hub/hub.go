// Package hub has the commands that run the hub, and say who may use it.
package hub

import (
	"context"
	"log/slog"

	"github.com/kalypso-dev/kalypso/hub"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso hub run`.
type Options struct {
	*cmdutil.App
	Config  string // file
	Sandbox string // folder of the sandbox that the hub is of, "" for none
}

// NewCommand makes `kalypso hub`.
func NewCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group(&cobra.Command{
		Use:   "hub",
		Short: "Run the hub: pages, an API and the history of what runs where",
		Long: `The hub answers in a browser and over HTTP what runs where, since when, and why,
or why not. It only reads: git says what should run, and the clusters what does.

A sandbox has one, which ` + "`kalypso open hub`" + ` shows.`,
	}, newRun(a, run), newToken(a), newAgent(a, runAgent), newBackfill(a, backfill), newVerify(a, verify))
}

func newRun(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the hub of a control plane and its clusters",
		Long: `Run the hub of the control planes that a scheduler's configuration names, beside
that scheduler. The configuration file, in YAML:

` + configuration + `
Files are relative to the configuration's folder, as they are in the scheduler's.
The hub needs the scheduler's token and secret, and writes to nothing but its
database. That is a cache of git and of the clusters, and the history of what was
observed: deleted, it begins anew.

It listens for
  GET  /             the pages, and below /api/v1 the API; both want a session, or
                     a token of "kalypso hub token create" as a bearer token
  POST /hooks/forge  the forge's webhooks, signed with the scheduler's secret: they
                     only make it look sooner
  POST /hooks/flux, /hooks/argocd
                     events of reconcilers, with a secret for each cluster
  GET  /healthz      the process lives
  GET  /readyz       what is observed can be stored
  GET  /metrics      Prometheus, at metricsListen

An address that other machines reach needs publicURL, tls or behindProxy, and a
way to sign in: signIn, or a token. Traces of changes go to the receiver that
OTEL_EXPORTER_OTLP_ENDPOINT names, by OTLP over HTTP.`,
		Example: `  kalypso hub run --config hub.yaml`,
		Args:    cmdutil.ExactArgs(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().StringVar(&o.Config, "config", "", "the configuration file")
	c.Flags().StringVar(&o.Sandbox, "sandbox", "", "the folder of the sandbox that the hub is of")
	_ = c.Flags().MarkHidden("sandbox") // the sandbox itself gives it
	return c
}

// configuration is that of the help, which a test reads as the hub does.
const configuration = `    scheduler:
      config: scheduler.yaml       # the forge, the control planes, the secret
      url: http://127.0.0.1:8765   # where its status is; can be left out
    listen: 127.0.0.1:8780
    # metricsListen: 127.0.0.1:8781
    # publicURL: https://hub.example.com
    # tls: {certFile: hub.crt, keyFile: hub.key}   # or behindProxy: true
    store:
      sqlite: hub.db               # or postgresEnv: NAME_OF_A_VARIABLE
    # mirrors: mirrors             # copies of the repositories; beside the file
    observe:                       # clusters that several know are put together
    - kubeconfig: fleet.kubeconfig # Flux and Argo CD, of each context
    - arc:                         # Azure, signed in to as for "kalypso ci"
        subscriptions: [7be1c4a0-0000-0000-0000-000000000000]
      interval: 30s
    - endpoint:                    # a server that lists clusters
        url: https://fleet.example.com/inventory
        tokenFile: fleet-token     # or tokenEnv
    - agents: {}                   # clusters that "kalypso hub agent" reports of
    chain: [dev, stage, prod]      # the order of promotion
    signIn:                        # besides tokens
      oidc:
        issuer: https://login.example.com
        clientID: hub              # its callback: PUBLICURL/signin/oidc/callback
        secretEnv: HUB_OIDC        # or secretFile; none for a public client
      # forge: {clientID: ID, secretEnv: HUB_FORGE}
    roles:                         # the first that is for somebody counts
    - {group: platform, role: operator}
    - {group: kaizen-app, role: proposer, workspaces: [kaizen-app-team], environments: [dev]}
    poll: 30s                      # finds changes whose webhook was lost
    retention: {events: 400d, audit: 400d}
`

func run(ctx context.Context, o *Options) error {
	config, err := o.load()
	if err != nil {
		return err
	}
	options := hub.Options{Config: config, Version: o.Version, Log: slog.New(slog.NewTextHandler(o.Err, nil))}
	if o.Sandbox != "" {
		home := sandbox.Home(o.Sandbox)
		pages, err := sandbox.WebPages(ctx, home)
		if err != nil {
			return err
		}
		workshop := newWorkshop(home)
		defer workshop.Close()
		options.Sandbox, options.Workshop, options.Links = ofSandbox{home}, workshop, map[string]string{}
		if options.Share, err = shareOf(home); err != nil {
			return err
		}
		for _, p := range pages {
			if p.Name == "argocd" {
				options.Links[p.Name] = p.URL
			}
		}
	}
	return hub.Run(ctx, options)
}

func (o *Options) load() (hub.Config, error) {
	if o.Config == "" {
		return hub.Config{}, usage.New("which hub? Give --config FILE\nSee `kalypso hub run --help`.")
	}
	return hub.LoadConfig(o.Config)
}
