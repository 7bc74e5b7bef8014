package initialize

import (
	"context"
	"errors"
	"os"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/setup"
	"github.com/spf13/cobra"
)

func NewCommand(a *cmdutil.App) *cobra.Command {
	var flags flags
	c := &cobra.Command{
		Use:   "init --org ORG",
		Short: "Make a workshop's repositories in an organisation on GitHub",
		Long: `Make the repositories of a workshop in an organisation on GitHub, as the sandbox
has them on its own forge: branches and their contents, secrets, environments
with their variables, pull requests and, with --webhook, the webhooks that a
scheduler listens to. In the end it says how a scheduler follows them.

It looks first, and stops before anything is made when one of the names is taken.
Interrupted at any point, the same command goes on where it stopped. What people
have changed since stays as they have it. Each repository carries the topic
kalypso-init-WORKSHOP; --cleanup finds them by it, shows them with what has come
into them since, asks, and deletes them. Images in the organisation's packages
stay.

The token is that of GITHUB_TOKEN, which is good for the server in
GITHUB_SERVER_URL, github.com without it; --token-env or --token-file name
another one. It needs, in the organisation:
  a classic token     the scopes repo and workflow; for --cleanup also delete_repo
  a fine-grained one  for all repositories, write access to administration,
  or a GitHub App     contents, workflows, pull requests, secrets, variables,
                      environments and webhooks
A scheduler needs less: give it an account of its own.

The secrets are tokens that the workflows use: CONTROL_PLANE_TOKEN starts
workflows in the control plane, CD_TOKEN writes to the GitOps repositories and
the registry. Without them everything else is made, and said what is missing.`,
		Example: `  kalypso init --org acme --dry-run
  kalypso init --org acme --secret-env CONTROL_PLANE_TOKEN=BOT_TOKEN --secret-env CD_TOKEN=BOT_TOKEN --config scheduler.yaml
  kalypso init --org acme --webhook https://kalypso.example.com/webhook --webhook-secret-file webhook-secret
  kalypso init --org acme --url https://github.example.com --token-file token
  kalypso init --org acme --cleanup`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := flags.check(c.Flags()); err != nil {
				return err
			}
			if flags.cleanup {
				return cleanUp(a, c.Context(), &flags, c.Flags().Changed("workshop"))
			}
			return setUp(a, c.Context(), &flags)
		},
	}
	flags.register(c.Flags())
	return c
}

func setUp(a *cmdutil.App, ctx context.Context, flags *flags) error {
	options, err := flags.options(os.Getenv, func(w github.Wait) { waits(a, w) })
	if err != nil {
		return err
	}
	config, err := flags.schedulerConfig(options)
	if err != nil {
		return err
	}
	if err := keepsOther(flags.config, config); err != nil {
		return err
	}
	plan, err := setup.Look(ctx, options)
	if err != nil {
		return setupError(err, "")
	}
	where := options.Forge.OrganisationURL(options.Organisation)
	if flags.dryRun {
		showSteps(a, plan.Steps)
		a.Messagef("%d steps would make the workshop %s in %s. Nothing has been written.", len(plan.Steps), options.Workshop.Name, where)
		missingSecrets(a, plan.Missing)
		return nil
	}
	a.Messagef("Making the workshop %s in %s", options.Workshop.Name, where)
	repository := ""
	err = plan.Do(ctx, func(s setup.Step) {
		if s.Repository != repository {
			repository = s.Repository
			a.Messagef("  %s", repository)
		}
		a.Messagef("    %s", s.What)
	})
	if err != nil {
		return setupError(err, "What is made stays; the same command goes on where this one stopped.")
	}
	if len(plan.Steps) == 0 {
		a.Messagef("Nothing to do: all of it is there.")
	}
	missingSecrets(a, plan.Missing)
	return sayNext(a, flags, config)
}

// setupError gives an error the exit code and the hint that go with it.
func setupError(err error, what string) error {
	known := &source.Error{Err: err, Hint: what}
	switch {
	case errors.Is(err, gitclient.ErrDenied):
		known.Err, known.Hint = source.ErrCredentials, "see `kalypso init --help` for what the account needs"
	case what == "":
		return err
	}
	return cmdutil.Classify(err, known)
}

// usageError is a mistake in how init was called.
func usageError(message string) error {
	return usage.New(message + "\nSee `kalypso init --help`.")
}
