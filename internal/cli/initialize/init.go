// Package initialize has the command that makes a workshop in an organisation on
// GitHub.
package initialize

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/fixtures/githuborg"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/spf13/cobra"
)

// NewCommand makes `kalypso init`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "init --org ORG",
		Short: "Make a workshop's repositories in an organisation on GitHub",
		Long: `Make the repositories of a workshop in an organisation on GitHub, as the sandbox
has them on its own forge: branches and their contents, secrets, environments
with their variables, pull requests and, with --webhook, the webhooks that a
scheduler listens to. In the end it says how a scheduler follows them.

It looks first, and stops before anything is made when one of the names is taken.
Interrupted at any point, the same command goes on where it stopped. What users
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
			o.oneWorkshop = c.Flags().Changed("workshop")
			if err := o.check(c.Flags()); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	o.register(c.Flags())
	return c
}

// Run makes a workshop's repositories, or deletes them.
func Run(ctx context.Context, o *Options) error {
	if o.cleanup {
		return o.cleanUp(ctx)
	}
	return o.setUp(ctx)
}

func (f *Options) setUp(ctx context.Context) error {
	scratch, err := os.MkdirTemp("", "kalypso-init-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	w, err := workshop.OpenWhole(ctx, f.workshop, scratch, func(what string) { f.Messagef("%s", what) })
	if err != nil {
		return err
	}
	options, err := f.options(w)
	if err != nil {
		return err
	}
	config, err := f.schedulerConfig(options)
	if err != nil {
		return err
	}
	if err := keepsOther(f.config, config); err != nil {
		return err
	}
	plan, err := githuborg.Look(ctx, options)
	if err != nil {
		return failure(err, "")
	}
	where := options.Forge.OrganisationURL(options.Organisation)
	if f.dryRun {
		f.showSteps(plan.Steps)
		f.Messagef("%d steps would make the workshop %s in %s. Nothing has been written.", len(plan.Steps), options.Workshop.Name, where)
		f.missingSecrets(plan.Missing)
		return nil
	}
	f.Messagef("Making the workshop %s in %s", options.Workshop.Name, where)
	repository := ""
	err = plan.Do(ctx, func(s githuborg.Step) {
		if s.Repository != repository {
			repository = s.Repository
			f.Messagef("  %s", repository)
		}
		f.Messagef("    %s", s.What)
	})
	if err != nil {
		return failure(err, "What is made stays; the same command goes on where this one stopped.")
	}
	if len(plan.Steps) == 0 {
		f.Messagef("Nothing to do: all of it is there.")
	}
	f.missingSecrets(plan.Missing)
	return f.sayNext(config)
}

// failure gives an error the exit code and the hint that go with it.
func failure(err error, what string) error {
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

// cleanUp deletes what init has made for one workshop, or for all.
func (f *Options) cleanUp(ctx context.Context) error {
	var of *workshop.Workshop
	if f.oneWorkshop {
		scratch, err := os.MkdirTemp("", "kalypso-init-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(scratch)
		if of, err = workshop.Open(ctx, f.workshop, scratch); err != nil {
			return err
		}
	}
	client, err := f.connect()
	if err != nil {
		return err
	}
	where := client.OrganisationURL(f.org)
	if !f.dryRun {
		if err := githuborg.MayDelete(ctx, client, f.org); err != nil {
			return failure(err, "")
		}
	}
	made, err := githuborg.Find(ctx, client, f.org, of)
	if err != nil {
		return failure(err, "")
	}
	if len(made) == 0 {
		f.Messagef("Nothing to delete: init has made nothing that is still in %s.", where)
		return nil
	}
	if err := f.showMade(made); err != nil {
		return err
	}
	if f.dryRun {
		f.Messagef("These %d repositories would be deleted. Nothing has been.", len(made))
		return nil
	}
	loss := fmt.Sprintf("This deletes these %d repositories of %s with all that they hold: issues, pull requests, secrets, environments.", len(made), where)
	if err := f.Confirm(ctx, f.yes, loss); err != nil {
		return err
	}
	for _, m := range made {
		if err := m.Delete(ctx, client); err != nil {
			return failure(err, "What is deleted is gone; the same command goes on with the rest.")
		}
		f.Messagef("  deleted %s", m.Name)
	}
	return nil
}

func (f *Options) showMade(made []githuborg.Made) error {
	w := tabwriter.NewWriter(f.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "REPOSITORY\tWORKSHOP\tVISIBILITY\tHOLDS")
	for _, m := range made {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, m.Workshop, m.Visibility, m.Loss())
	}
	return w.Flush()
}
