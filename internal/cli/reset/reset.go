// Package reset has the command that brings a sandbox back to its beginning.
package reset

import (
	"context"
	"fmt"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso reset`.
type Options struct {
	*cmdutil.App
	Yes bool
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

Cut off in the middle, the next ` + "`kalypso up`" + ` finishes it.`,
		Example: `  kalypso reset
  kalypso reset --yes`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	cmdutil.AddYes(c, &o.Yes)
	return c
}

// Run resets the sandbox and waits until it is ready, if it was up.
func Run(ctx context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	if !home.Exists() {
		return sandbox.ErrNoSandbox
	}
	if err := o.Confirm(ctx, o.Yes, fmt.Sprintf("All commits, pull requests and objects of the sandbox in %s will be lost.", home)); err != nil {
		return err
	}
	p := cmdutil.NewProgress(o.Err)
	ran, err := sandbox.Reset(ctx, home, p.Show)
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
