package main

import (
	"context"
	"errors"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

func newStop(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stop CLUSTER",
		Short: "Stop one cluster, as if it had lost power",
		Long: `End everything of one cluster: its control plane, its node and its reconciler.
The rest of the sandbox goes on. The cluster stays away, also when the sandbox
or the machine starts again, until ` + "`kalypso start CLUSTER`" + ` brings it back with all
that was on it.`,
		Example: `  kalypso stop large`,
		Args:    onlyArgs("cluster"),
		RunE: func(c *cobra.Command, args []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			return a.stopCluster(c.Context(), home, args[0])
		},
	}
}

func (a *app) stopCluster(ctx context.Context, home sandbox.Home, cluster string) error {
	began := time.Now()
	p := newProgress(a.err, began)
	t, err := sandbox.StopCluster(ctx, home, cluster, p.show)
	p.end()
	switch {
	case ctx.Err() != nil:
		a.talk("Interrupted; %s goes on ending. `kalypso start %s` brings it back.", cluster, cluster)
		return &silentError{ctx.Err()}
	case err != nil:
		return err
	case !t.Changed:
		a.talk("%s has been stopped already; `kalypso start %s` brings it back.", cluster, cluster)
	case !t.Running:
		a.talk("The sandbox is down. %s stays away when it comes up, until `kalypso start %s`.", cluster, cluster)
	default:
		a.talk("%s is stopped (%.1f s) and stays so until `kalypso start %s`.", cluster, time.Since(began).Seconds(), cluster)
	}
	return nil
}

func newStart(a *app) *cobra.Command {
	limit := restartLimit
	c := &cobra.Command{
		Use:   "start CLUSTER",
		Short: "Start a cluster that was stopped",
		Long: `Start everything of a cluster that ` + "`kalypso stop CLUSTER`" + ` has ended, and wait until
it is ready.`,
		Example: `  kalypso start large`,
		Args:    onlyArgs("cluster"),
		RunE: func(c *cobra.Command, args []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			return a.startCluster(c.Context(), home, args[0], limit)
		},
	}
	c.Flags().DurationVar(&limit, "timeout", limit, "how long to wait until it is ready")
	return c
}

func (a *app) startCluster(ctx context.Context, home sandbox.Home, cluster string, limit time.Duration) error {
	began := time.Now()
	p := newProgress(a.err, began)
	t, err := sandbox.StartCluster(ctx, home, cluster, limit, p.show)
	p.end()
	var failed *sandbox.FailedError
	var late *sandbox.TimeoutError
	switch {
	case errors.As(err, &failed):
		a.lastWords(failed)
	case errors.As(err, &late):
		a.talk("It goes on starting: `kalypso status` tells.")
	case ctx.Err() != nil:
		a.talk("Interrupted; %s goes on starting. `kalypso status` tells.", cluster)
		return &silentError{ctx.Err()}
	case err != nil:
	case !t.Running:
		a.talk("The sandbox is down. %s comes with the next `kalypso up`.", cluster)
	case !t.Changed && !p.changed:
		a.talk("%s was not stopped; nothing changed.", cluster)
	default:
		a.talk("%s is ready again (%.1f s).", cluster, time.Since(began).Seconds())
	}
	return err
}

// lastWords shows the last log lines of what has failed.
func (a *app) lastWords(failed *sandbox.FailedError) {
	for _, s := range failed.Failed {
		if len(s.LogTail) == 0 {
			continue
		}
		a.talk("\nLast lines of %s:", s.Log)
		for _, line := range s.LogTail {
			a.talk("  | %s", line)
		}
	}
}
