package hub

import (
	"context"
	"fmt"
	"log/slog"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/hub"
	"github.com/kalypso-dev/kalypso/hub/history"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

// historyOptions are those of `kalypso hub backfill` and `kalypso hub verify`.
type historyOptions struct {
	Options
	Output cmdutil.Output
}

func (o *historyOptions) flags(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&o.Config, "config", "", "the hub's configuration file (default that of the running sandbox's hub)")
	o.Output.AddTo(c, "text", "json")
	return c
}

// hubConfig is the configuration of the hub that is named, or of the sandbox's.
func (o *historyOptions) hubConfig() (hub.Config, error) {
	if o.Config == "" {
		home, err := o.Home()
		if err != nil {
			return hub.Config{}, err
		}
		if _, err := home.Load(); err != nil {
			return hub.Config{}, err
		}
		o.Config = sandbox.HubConfig(home)
	}
	return o.load()
}

func (o *historyOptions) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(o.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func newBackfill(a *cmdutil.App, run func(context.Context, *historyOptions) error) *cobra.Command {
	o := &historyOptions{Options: Options{App: a}}
	return o.flags(&cobra.Command{
		Use:   "backfill",
		Short: "Read what git has said should run, now and at every commit before",
		Long: `Read the branches that clusters follow along their first parents: which
deployment target was assigned to which cluster type, and in which version. A hub
that runs does the same whenever a branch moves; here one sees what comes of it.

What was read before is not read again. A branch that was pushed with force is
numbered anew, in the next epoch. Copies of the repositories are kept in the
folder "mirrors" of the configuration; it can be removed at any time.`,
		Example: `  kalypso hub backfill
  kalypso hub backfill --config hub.yaml`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	})
}

func backfill(ctx context.Context, o *historyOptions) error {
	config, err := o.hubConfig()
	if err != nil {
		return err
	}
	results, failed := hub.Backfill(ctx, config, o.logger())
	if results == nil {
		results = []history.Result{}
	}
	err = o.Output.Print(o.App, results, func() error {
		w := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "REPOSITORY\tBRANCH\tEPOCH\tCOMMITS\tNEW")
		for _, r := range results {
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\n", r.Repo, r.Branch, r.Epoch, r.Commits, r.New)
		}
		return w.Flush()
	})
	if failed != nil {
		return failed
	}
	return err
}

func newVerify(a *cmdutil.App, run func(context.Context, *historyOptions) error) *cobra.Command {
	o := &historyOptions{Options: Options{App: a}}
	return o.flags(&cobra.Command{
		Use:   "verify",
		Short: "Compare a hub's database with git",
		Long: `Read all that git says into a second database, and compare it with the hub's:
the commits of the branches that clusters follow, what was assigned at each of
them, and the versions. The second one is removed again.

The exit code is 0 when both are the same, and 1 when they are not; then the first
differences are printed. What only the hub has seen, as the states of clusters, and
commits that were pushed over since, are not in git and not compared.`,
		Example: `  kalypso hub verify
  kalypso hub verify --config hub.yaml -o json`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	})
}

func verify(ctx context.Context, o *historyOptions) error {
	config, err := o.hubConfig()
	if err != nil {
		return err
	}
	found, err := hub.Verify(ctx, config, o.logger())
	if err != nil {
		return err
	}
	err = o.Output.Print(o.App, found, func() error {
		for _, d := range found.Differences {
			fmt.Fprintf(o.Out, "%s@%s: %s\n  the hub has %s\n  git has     %s\n", d.Repo, d.Branch, d.What, orNothing(d.Store), orNothing(d.Git))
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(found.Differences) > 0:
		return fmt.Errorf("the hub's database is not what git says: `kalypso hub backfill` reads what is new; a database that differs still is to be removed, and made again")
	}
	o.Messagef("The hub's database is what git says: %s, %s, %s.", cmdutil.Count(found.Commits, "commit"), cmdutil.Count(found.Assignments, "assignment"), cmdutil.Count(found.Versions, "version"))
	return nil
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}
