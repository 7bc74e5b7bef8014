package runner

import (
	"log/slog"
	"os"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/actions"
	"github.com/spf13/cobra"
)

// NewCommand is for the sandbox's daemon, which runs the forge's runner as a
// child; people have no use for it.
func NewCommand(a *cmdutil.App) *cobra.Command {
	c := &cobra.Command{
		Use:    "actions",
		Short:  "Run the workflows of the forge",
		Hidden: true,
		Args:   cmdutil.SubcommandArgs,
		RunE:   func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newActionsRun(a), newActionsKeep())
	return c
}

func newActionsRun(a *cmdutil.App) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "run --config FILE",
		Short: "Take jobs from a Gitea and run them on this machine",
		Long: `Take jobs from a Gitea and run them on this machine, until interrupted:

    url: http://localhost:3000
    dir: runner                 # identity, records of tasks, folders of jobs
    registrationTokenFile: token
    capacity: 4                 # jobs at once
    poll: 2s
    listen: 127.0.0.1:8790      # /webhook, /status, /healthz
    webhookSecret: ...`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if file == "" {
				return usage.New("--config FILE is needed\nSee `kalypso actions run --help`.")
			}
			config, err := actions.LoadConfig(file)
			if err != nil {
				return err
			}
			runner, err := actions.New(config, slog.New(slog.NewTextHandler(a.Err, nil)))
			if err != nil {
				return err
			}
			return actions.Serve(c.Context(), runner)
		},
	}
	c.Flags().StringVar(&file, "config", "", "the configuration file")
	return c
}

func newActionsKeep() *cobra.Command {
	return &cobra.Command{
		Use:   "keep",
		Short: "Hold the processes of one job, for the runner",
		Args:  cmdutil.ExactArgs(),
		RunE:  func(*cobra.Command, []string) error { return actions.Keep(os.Stdin, os.Stdout) },
	}
}
