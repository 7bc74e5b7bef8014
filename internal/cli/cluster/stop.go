package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

func NewStopCommand(a *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "stop CLUSTER",
		Short: "Stop one cluster, as if it had lost power",
		Long: `End everything of one cluster: its control plane, its node and its reconciler.
The rest of the sandbox goes on. The cluster stays away, also when the sandbox
or the machine starts again, until ` + "`kalypso start CLUSTER`" + ` brings it back with all
that was on it.`,
		Example: `  kalypso stop large`,
		Args:    cmdutil.ExactArgs("cluster"),
		RunE: func(c *cobra.Command, args []string) error {
			home, err := a.Home()
			if err != nil {
				return err
			}
			return stopCluster(a, c.Context(), home, args[0])
		},
	}
}

func stopCluster(a *cmdutil.App, ctx context.Context, home sandbox.Home, cluster string) error {
	began := time.Now()
	p := cmdutil.NewProgress(a.Err, began)
	t, err := sandbox.StopCluster(ctx, home, cluster, p.Show)
	p.End()
	switch {
	case ctx.Err() != nil:
		a.Messagef("Interrupted; %s goes on ending. `kalypso start %s` brings it back.", cluster, cluster)
		return cmdutil.Silent(ctx.Err())
	case err != nil:
		return err
	case !t.Changed:
		a.Messagef("%s has been stopped already; `kalypso start %s` brings it back.", cluster, cluster)
	case !t.Running:
		a.Messagef("The sandbox is down. %s stays away when it comes up, until `kalypso start %s`.", cluster, cluster)
	default:
		a.Messagef("%s is stopped (%.1f s) and stays so until `kalypso start %s`.", cluster, time.Since(began).Seconds(), cluster)
	}
	return nil
}

func NewStartCommand(a *cmdutil.App) *cobra.Command {
	limit := restartLimit
	c := &cobra.Command{
		Use:   "start CLUSTER",
		Short: "Start a cluster that was stopped",
		Long: `Start everything of a cluster that ` + "`kalypso stop CLUSTER`" + ` has ended, and wait until
it is ready.`,
		Example: `  kalypso start large`,
		Args:    cmdutil.ExactArgs("cluster"),
		RunE: func(c *cobra.Command, args []string) error {
			home, err := a.Home()
			if err != nil {
				return err
			}
			return startCluster(a, c.Context(), home, args[0], limit)
		},
	}
	c.Flags().DurationVar(&limit, "timeout", limit, "how long to wait until it is ready")
	return c
}

func startCluster(a *cmdutil.App, ctx context.Context, home sandbox.Home, cluster string, limit time.Duration) error {
	began := time.Now()
	p := cmdutil.NewProgress(a.Err, began)
	t, err := sandbox.StartCluster(ctx, home, cluster, limit, p.Show)
	p.End()
	var failed *sandbox.FailedError
	var late *sandbox.TimeoutError
	switch {
	case errors.As(err, &failed):
		a.PrintLogTails(failed)
	case errors.As(err, &late):
		a.Messagef("It goes on starting: `kalypso status` tells.")
	case ctx.Err() != nil:
		a.Messagef("Interrupted; %s goes on starting. `kalypso status` tells.", cluster)
		return cmdutil.Silent(ctx.Err())
	case err != nil:
	case !t.Running:
		a.Messagef("The sandbox is down. %s comes with the next `kalypso up`.", cluster)
	case !t.Changed && !p.Changed:
		a.Messagef("%s was not stopped; nothing changed.", cluster)
	default:
		a.Messagef("%s is ready again (%.1f s).", cluster, time.Since(began).Seconds())
	}
	return err
}
