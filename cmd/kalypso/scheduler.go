package main

import (
	"log/slog"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/watch"
	"github.com/spf13/cobra"
)

func newScheduler(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "scheduler",
		Short: "Run the scheduler by itself",
		Args:  aCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSchedulerRun(a))
	return c
}

func newSchedulerRun(a *app) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "run --config FILE",
		Short: "Follow a control plane and keep its pull requests up to date",
		Long: `Follow a control plane on a git forge: plan every environment whenever something
it depends on is pushed, and keep one pull request per environment up to date.

The configuration file says which forge, which control plane repository, and
where to listen for the forge's webhooks:

    forge:
      type: gitea
      url: https://git.example.com
      tokenFile: token          # or tokenEnv: NAME_OF_A_VARIABLE
    controlPlane:
      repo: https://git.example.com/acme/control-plane
      branch: main
    promoteTo: dev              # gets main's commits; leave out to promote yourself
    listen: 127.0.0.1:8765      # /webhook, /status, /healthz
    webhookSecretFile: secret
    poll: 30s                   # finds what a lost webhook would have told`,
		Args: onlyArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if file == "" {
				return &sandbox.UsageError{Message: "--config FILE is needed\nSee `kalypso scheduler run --help`."}
			}
			config, err := watch.LoadConfig(file)
			if err != nil {
				return err
			}
			return watch.Serve(c.Context(), config, slog.New(slog.NewTextHandler(a.err, nil)))
		},
	}
	c.Flags().StringVar(&file, "config", "", "the configuration file")
	return c
}
