package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/spf13/cobra"
)

// restartLimit is above the deadline of every component.
const restartLimit = 2 * time.Minute

func NewRestartCommand(a *cmdutil.App) *cobra.Command {
	limit := restartLimit
	c := &cobra.Command{
		Use:   "restart COMPONENT",
		Short: "End one component of the sandbox and start it again",
		Long: `End one component of the running sandbox and start it again, and wait until it
is ready. Its data stays, and what needs it goes on. A task, such as
"repositories", is done once more.`,
		Example: `  kalypso restart gitea
  kalypso restart scheduler --timeout 30s`,
		Args: cmdutil.ExactArgs("component"),
		RunE: func(c *cobra.Command, args []string) error {
			home, err := a.Home()
			if err != nil {
				return err
			}
			return restart(a, c.Context(), home, args[0], limit)
		},
	}
	c.Flags().DurationVar(&limit, "timeout", limit, "how long to wait until it is ready")
	return c
}

func restart(a *cmdutil.App, ctx context.Context, home sandbox.Home, component string, limit time.Duration) error {
	began := time.Now()
	p := cmdutil.NewProgress(a.Err, began)
	s, err := sandbox.Restart(ctx, home, component, limit, func(s supervisor.Status) { p.Show([]supervisor.Status{s}) })
	p.End()
	var failed *sandbox.FailedError
	var late *sandbox.TimeoutError
	switch {
	case errors.As(err, &failed):
		for _, s := range failed.Failed {
			for i, line := range s.LogTail {
				if i == 0 {
					a.Messagef("\nLast lines of %s:", s.Log)
				}
				a.Messagef("  | %s", line)
			}
		}
	case errors.As(err, &late):
		a.Messagef("It goes on starting: `kalypso status` tells, `kalypso logs %s` has its log.", component)
	case ctx.Err() != nil:
		a.Messagef("Interrupted; %s goes on starting. `kalypso status` tells.", component)
		return cmdutil.Silent(ctx.Err())
	case err == nil:
		process := ""
		if s.PID != 0 {
			process = fmt.Sprintf(", process %d", s.PID)
		}
		a.Messagef("%s is ready again (%.1f s%s).", component, time.Since(began).Seconds(), process)
	}
	return err
}
