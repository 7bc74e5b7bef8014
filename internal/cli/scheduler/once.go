package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/spf13/cobra"
)

// OnceOptions are those of `kalypso scheduler once`.
type OnceOptions struct {
	*cmdutil.App
	Config      controller.Config
	Environment string // "" for all
	Output      cmdutil.Output
	ExitCode    bool // with another one where something was changed
}

func newOnce(a *cmdutil.App, run func(context.Context, *OnceOptions) error) *cobra.Command {
	flags := flags{command: "once"}
	o := &OnceOptions{App: a}
	c := &cobra.Command{
		Use:   "once",
		Short: "Plan and publish every environment once, then exit",
		Long: `Do what ` + "`kalypso scheduler run`" + ` does whenever something is pushed, once: promote,
plan every environment, bring its pull request and its issues up to date, and
exit. For workflows and cron jobs; it listens nowhere and needs no webhooks.

What to do is in a configuration file (see ` + "`kalypso scheduler run --help`" + `; the secret
for webhooks may be missing), or in flags. In a workflow of GitHub or Gitea
nothing needs to be said where the control plane is the workflow's own
repository: the runner's variables have it (GITHUB_SERVER_URL, GITHUB_API_URL,
GITHUB_REPOSITORY).

The token is that of KALYPSO_CI_TOKEN, or else GITHUB_TOKEN, which are good for
the server in GITHUB_SERVER_URL, github.com without it; --token-env names another
variable. A workflow's own GITHUB_TOKEN is good for the workflow's repository
only: give the step that of a GitHub App or a user who may write to the GitOps
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
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if o.Config, err = flags.once(c.Flags(), os.Getenv); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	flags.register(c.Flags())
	c.Flags().StringVarP(&o.Environment, "environment", "e", "", "the environment (default all)")
	o.Output.AddTo(c, "text", "json")
	c.Flags().BoolVar(&o.ExitCode, "exit-code", false, "exit with 3 when something was changed, with 1 when there are errors")
	return c
}

// once prints what was done also when some of it has failed, but nothing of a
// scheduler that could not begin.
func once(ctx context.Context, o *OnceOptions) error {
	reports, failure := controller.RunOnce(ctx, o.Config, o.Environment, slog.New(slog.NewTextHandler(o.Err, nil)))
	if reports != nil {
		err := o.Output.Print(o.App, reportsDocument{reports}, func() error { return printReports(o.Out, reports) })
		if err != nil {
			return err
		}
	}
	if failure != nil {
		return forgeError(failure)
	}
	if o.ExitCode {
		return verdict(reports)
	}
	return nil
}

// forgeError marks the error of a forge that has refused the account with
// what cmdutil.ExitCode and cmdutil.Hint know.
func forgeError(err error) error {
	if !errors.Is(err, gitclient.ErrDenied) {
		return err
	}
	return cmdutil.Classify(err, &source.Error{Err: source.ErrCredentials, Hint: "see `kalypso scheduler run --help` for what the account needs"})
}

// verdict is the error that --exit-code turns into an exit code.
func verdict(reports []controller.RunReport) error {
	changed := false
	for _, r := range reports {
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

// reportsDocument is what -o json prints, which scripts rely on: fields are
// added, not changed.
type reportsDocument struct {
	ControlPlanes []controller.RunReport `json:"controlPlanes"`
}

func printReports(out io.Writer, reports []controller.RunReport) error {
	for _, r := range reports {
		if len(reports) > 1 {
			fmt.Fprintf(out, "%s@%s\n", r.ControlPlane.Repo, r.ControlPlane.Branch)
		}
		for _, problem := range r.ControlPlane.Problems {
			fmt.Fprintln(out, problem)
		}
		for _, e := range r.Environments {
			printResult(out, e)
		}
		if len(r.Environments) == 0 && r.ControlPlane.Error == "" {
			fmt.Fprintln(out, "no environments")
		}
	}
	return nil
}

func printResult(out io.Writer, e controller.RunResult) {
	fmt.Fprintf(out, "%s: %s\n", e.Name, outcome(e))
	if e.Promotes {
		fmt.Fprintf(out, "  promotes %.10s\n", e.Promoted)
	}
	if pr := e.PullRequest; pr != nil && pr.Held {
		fmt.Fprintln(out, "  it removes more than half of what is there, and waits for a user to take the label mass-delete off")
	}
	for _, problem := range e.Problems {
		fmt.Fprintf(out, "  %s\n", problem)
	}
	for _, issue := range e.Issues {
		fmt.Fprintf(out, "  see %s\n", issue)
	}
}

// outcome is what became of an environment, in one line.
func outcome(e controller.RunResult) string {
	var where string
	if e.PullRequest != nil {
		where = e.PullRequest.URL
	}
	size := fmt.Sprintf("%s of %s", cmdutil.Count(e.Assignments, "assignment"), cmdutil.Count(e.Targets, "deployment target"))
	switch {
	case e.State != controller.Synced:
		return "failed"
	case e.Action == publish.Opened:
		return "opened " + where + ", " + size
	case e.Action == publish.Updated:
		return "updated " + where + ", " + size
	case e.Action == publish.Unchanged:
		return "nothing to do, " + where + " waits to be merged, " + size
	case e.Action == publish.Withdrawn:
		return "closed its pull request, since nothing differs any more, " + size
	case e.Action == publish.Withheld:
		return "proposed nothing: most assignments would go, and the forge has no drafts to hold that, see the issue, " + size
	case e.Action == publish.LeftClosed:
		return "nothing to do, a user has closed " + where + ", " + size
	}
	return "nothing to do, " + size
}
