package scheduler

import (
	"errors"
	"log/slog"
	"os"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/spf13/cobra"
)

func newSchedulerOnce(a *cmdutil.App) *cobra.Command {
	flags := flags{command: "once"}
	var environment string
	var format cmdutil.Output
	var exit bool
	c := &cobra.Command{
		Use:   "once",
		Short: "Plan and publish every environment once, then exit",
		Long: `Do what ` + "`kalypso scheduler run`" + ` does whenever something is pushed, once: promote,
plan every environment, bring its pull request and its issues up to date, and
exit. For workflows and cron jobs; it listens nowhere and needs no webhooks.

What to do is in a configuration file (see ` + "`kalypso scheduler run --help`" + `; the secret
for webhooks may be missing), or in flags. In a workflow of GitHub or Gitea
nothing needs to be said where the control plane is the workflow's own
repository: the runner's variables tell (GITHUB_SERVER_URL, GITHUB_API_URL,
GITHUB_REPOSITORY).

The token is that of KALYPSO_CI_TOKEN, or else GITHUB_TOKEN, which are good for
the server in GITHUB_SERVER_URL, github.com without it; --token-env names another
variable. A workflow's own GITHUB_TOKEN is good for the workflow's repository
only: give the step that of a GitHub App or a person who may write to the GitOps
repositories, and --user github-actions[bot] where it must be the workflow's.

It exits with 1 when an environment could not be planned or published; the others
are all the same. A problem in the platform model leaves the files that it
concerns as they are, opens an issue and is no such failure. With --exit-code it
exits with
  0  when nothing was to be done, and there are warnings at most
  1  when there are errors, with or without changes
  3  when something was changed, and there are warnings at most`,
		Example: `  kalypso scheduler once --config scheduler.yaml
  kalypso scheduler once -e dev --promote-to dev -o json
  kalypso scheduler once --forge github --control-plane https://github.com/acme/control-plane
  kalypso scheduler once --forge gitea --control-plane https://git.example.com/acme/control-plane --token-env FORGE_TOKEN`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			asJSON, err := format.JSON()
			if err != nil {
				return err
			}
			config, err := flags.once(c.Flags(), os.Getenv)
			if err != nil {
				return err
			}
			rounds, failure := controller.RunOnce(c.Context(), config, environment, slog.New(slog.NewTextHandler(a.Err, nil)))
			if err := showRounds(a, rounds, asJSON); err != nil {
				return err
			}
			if failure != nil {
				return forgeError(failure)
			}
			if exit {
				return roundsVerdict(rounds)
			}
			return nil
		},
	}
	flags.register(c.Flags())
	c.Flags().StringVarP(&environment, "environment", "e", "", "the environment (default all)")
	format.AddTo(c)
	c.Flags().BoolVar(&exit, "exit-code", false, "exit with 3 when something was changed, with 1 when there are errors")
	return c
}

// forgeError marks the error of a forge that has refused the account with
// what cmdutil.ExitCode and cmdutil.Hint know.
func forgeError(err error) error {
	if !errors.Is(err, gitclient.ErrDenied) {
		return err
	}
	return cmdutil.Classify(err, &source.Error{Err: source.ErrCredentials, Hint: "see `kalypso scheduler run --help` for what the account needs"})
}

// roundsVerdict is the error that --exit-code turns into an exit code.
func roundsVerdict(rounds []controller.RunReport) error {
	changed := false
	for _, r := range rounds {
		if r.HasErrors() {
			return cmdutil.Silent(errors.New("there are errors"))
		}
		changed = changed || r.Changed()
	}
	if changed {
		return cmdutil.Silent(cmdutil.ErrChanges)
	}
	return nil
}
