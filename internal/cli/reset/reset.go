package reset

import (
	"context"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

func NewCommand(a *cmdutil.App) *cobra.Command {
	var yes bool
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
		RunE: func(c *cobra.Command, _ []string) error {
			home, err := a.Home()
			if err != nil {
				return err
			}
			return reset(a, c.Context(), home, yes)
		},
	}
	cmdutil.AddYes(c, &yes)
	return c
}

func reset(a *cmdutil.App, ctx context.Context, home sandbox.Home, yes bool) error {
	if !home.Exists() {
		return sandbox.ErrNoSandbox
	}
	if err := a.Confirm(ctx, yes, fmt.Sprintf("All commits, pull requests and objects of the sandbox in %s will be lost.", home)); err != nil {
		return err
	}
	began := time.Now()
	p := cmdutil.NewProgress(a.Err, began)
	ran, err := sandbox.Reset(ctx, home, p.Show)
	p.End()
	took := time.Since(began).Seconds()
	if err = a.ReportStart(ctx, err); err != nil {
		return err
	}
	if ran {
		a.Messagef("Back at the beginning, and ready (%.1f s). Ports, URLs and passwords are as before.", took)
	} else {
		a.Messagef("Back at the beginning (%.1f s). The sandbox is down: `kalypso up` brings it.", took)
	}
	return nil
}
