package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/spf13/cobra"
)

// restartLimit is above the deadline of every component.
const restartLimit = 2 * time.Minute

func newRestart(a *app) *cobra.Command {
	limit := restartLimit
	c := &cobra.Command{
		Use:   "restart COMPONENT",
		Short: "End one component of the sandbox and start it again",
		Long: `End one component of the running sandbox and start it again, and wait until it
is ready. Its data stays, and what needs it goes on. A task, such as
"repositories", is done once more.`,
		Example: `  kalypso restart gitea
  kalypso restart scheduler --timeout 30s`,
		Args: onlyArgs("component"),
		RunE: func(c *cobra.Command, args []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			return a.restart(c.Context(), home, args[0], limit)
		},
	}
	c.Flags().DurationVar(&limit, "timeout", limit, "how long to wait until it is ready")
	return c
}

func (a *app) restart(ctx context.Context, home sandbox.Home, component string, limit time.Duration) error {
	began := time.Now()
	p := newProgress(a.err, began)
	s, err := sandbox.Restart(ctx, home, component, limit, func(s supervisor.Status) { p.show([]supervisor.Status{s}) })
	p.end()
	var failed *sandbox.FailedError
	var late *sandbox.TimeoutError
	switch {
	case errors.As(err, &failed):
		for _, s := range failed.Failed {
			for i, line := range s.LogTail {
				if i == 0 {
					a.talk("\nLast lines of %s:", s.Log)
				}
				a.talk("  | %s", line)
			}
		}
	case errors.As(err, &late):
		a.talk("It goes on starting: `kalypso status` tells, `kalypso logs %s` has its log.", component)
	case ctx.Err() != nil:
		a.talk("Interrupted; %s goes on starting. `kalypso status` tells.", component)
		return &silentError{ctx.Err()}
	case err == nil:
		process := ""
		if s.PID != 0 {
			process = fmt.Sprintf(", process %d", s.PID)
		}
		a.talk("%s is ready again (%.1f s%s).", component, time.Since(began).Seconds(), process)
	}
	return err
}
