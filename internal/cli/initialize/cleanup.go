package initialize

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/setup"
)

// cleanUp deletes what init has made for one workshop, or for all.
func cleanUp(a *cmdutil.App, ctx context.Context, flags *flags, one bool) error {
	workshops := fixtures.Workshops()
	if one {
		workshops = []string{flags.workshop}
	}
	f, err := flags.connect(os.Getenv, func(w github.Wait) { waits(a, w) })
	if err != nil {
		return err
	}
	where := f.OrganisationURL(flags.org)
	if !flags.dryRun {
		if err := setup.MayDelete(ctx, f, flags.org); err != nil {
			return setupError(err, "")
		}
	}
	made, err := setup.Find(ctx, f, flags.org, workshops)
	if err != nil {
		return setupError(err, "")
	}
	if len(made) == 0 {
		a.Messagef("Nothing to delete: init has made nothing that is still in %s.", where)
		return nil
	}
	if err := showMade(a, made); err != nil {
		return err
	}
	if flags.dryRun {
		a.Messagef("These %d repositories would be deleted. Nothing has been.", len(made))
		return nil
	}
	loss := fmt.Sprintf("This deletes these %d repositories of %s with all that they hold: issues, pull requests, secrets, environments.", len(made), where)
	if err := a.Confirm(ctx, flags.yes, loss); err != nil {
		return err
	}
	for _, m := range made {
		if err := m.Delete(ctx, f); err != nil {
			return setupError(err, "What is deleted is gone; the same command goes on with the rest.")
		}
		a.Messagef("  deleted %s", m.Name)
	}
	return nil
}

func showMade(a *cmdutil.App, made []setup.Made) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "REPOSITORY\tWORKSHOP\tVISIBILITY\tHOLDS")
	for _, m := range made {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, m.Workshop, m.Visibility, m.Loss())
	}
	return w.Flush()
}
