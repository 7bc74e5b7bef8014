// Package reset has the command that brings a sandbox back to its beginning.
package reset

import (
	"context"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/cli/up"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso reset`.
type Options struct {
	*cmdutil.App
	Workshop string // as it is now; "" for what the sandbox was made of
	Yes      bool
}

// NewCommand makes `kalypso reset`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "reset",
		Short: "Bring the workshop back to its beginning",
		Long: `Make the forge, everything on the clusters, the scheduler and the reconcilers
anew, as after the first ` + "`kalypso up`" + `: all commits, pull requests and objects since
then are lost, and clusters that were stopped come back. Ports, URLs, passwords,
kubeconfigs and snapshots stay. ` + "`kalypso snapshot save NAME`" + ` keeps what there is.

The beginning is that of the workshop as it was when the sandbox was made. With
--workshop it is that of the same workshop as it is now: of a folder that was
changed since, or of a git repository with more commits.

Cut off in the middle, the next ` + "`kalypso up`" + ` finishes it.`,
		Example: `  kalypso reset
  kalypso reset --yes
  kalypso reset --workshop ./my-kata`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().StringVar(&o.Workshop, "workshop", "", "begin with the sandbox's workshop as it is now: "+cmdutil.WorkshopHelp())
	cmdutil.AddYes(c, &o.Yes)
	return c
}

// Run resets the sandbox and waits until it is ready, if it was up.
func Run(ctx context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	of, err := home.Load()
	if err != nil {
		return err
	}
	var p *cmdutil.Progress // from the answer on
	ask := func(more string) error {
		loss := fmt.Sprintf("All commits, pull requests and objects of the sandbox in %s will be lost.", home)
		if err := o.Confirm(ctx, o.Yes, strings.TrimSpace(more+"\n"+loss)); err != nil {
			return err
		}
		p = cmdutil.NewProgress(o.Err)
		return nil
	}
	var ran bool
	if o.Workshop == "" || o.Workshop == of.Workshop && of.Origin == "" {
		if of.IsOutdated() {
			o.Messagef("%s has changed since the sandbox was made of it. This goes back to what it was then; `kalypso reset --workshop %[1]s` takes it as it is now.", of.Origin)
		}
		if err := ask(""); err != nil {
			return err
		}
		ran, err = sandbox.Reset(ctx, home, p.Show)
	} else {
		ran, err = sandbox.Renew(ctx, sandbox.Options{
			Home:     home,
			Choice:   sandbox.Choice{Workshop: o.Workshop, Say: func(step string) { o.Messagef("  %s", step) }},
			Progress: func(all []supervisor.Status) { p.Show(all) },
			Trust: func(w *workshop.Workshop) error {
				workflows, err := up.Workflows(home, w)
				if err != nil {
					return err
				}
				return ask(workflows)
			},
		})
	}
	if p == nil {
		return err
	}
	p.Clear()
	if err = o.ReportStart(ctx, err); err != nil {
		return err
	}
	if ran {
		o.Messagef("Back at the beginning, and ready (%.1f s). Ports, URLs and passwords are as before.", p.Took())
	} else {
		o.Messagef("Back at the beginning (%.1f s). The sandbox is down: `kalypso up` brings it.", p.Took())
	}
	return nil
}
