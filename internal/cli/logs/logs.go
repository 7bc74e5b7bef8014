package logs

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/spf13/cobra"
)

func NewCommand(a *cmdutil.App) *cobra.Command {
	var follow bool
	var since time.Duration
	var collect string
	q := supervisor.LogQuery{Lines: -1}
	c := &cobra.Command{
		Use:   "logs COMPONENT",
		Short: "Print a component's log",
		Long: `Print the log of a component; ` + "`kalypso status`" + ` lists the components, and
"daemon" is the supervisor itself. With --follow it goes on with what is added,
also when the component is started again, until ctrl-c.

With --collect and no component, all logs are copied into a new folder, with
those of the parts within the clusters: for a report, or for a CI job to keep.`,
		Example: `  kalypso logs gitea
  kalypso logs scheduler --follow --since 10m
  kalypso logs daemon -n 20
  kalypso logs --collect kalypso-logs`,
		Args: func(c *cobra.Command, args []string) error {
			if c.Flag("collect").Changed {
				return cmdutil.ExactArgs()(c, args)
			}
			return cmdutil.ExactArgs("component")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if collect != "" {
				if follow || c.Flag("since").Changed || c.Flag("lines").Changed {
					return usage.New("--collect copies all there is: leave out --follow, --since and --lines")
				}
				home, err := a.Home()
				if err != nil {
					return err
				}
				if err := sandbox.CollectLogs(c.Context(), home, collect); err != nil {
					return err
				}
				a.Messagef("Collected the logs in %s.", collect)
				return nil
			}
			if c.Flag("lines").Changed && q.Lines < 0 {
				return usage.Errorf("--lines %d: give a number of lines, 0 or more", q.Lines)
			}
			if c.Flag("since").Changed {
				if since <= 0 {
					return usage.Errorf("--since %s: give how long ago, such as 10m or 1h30m", since)
				}
				q.Since = time.Now().Add(-since)
			}
			home, err := a.Home()
			if err != nil {
				return err
			}
			path, err := sandbox.FindLog(home, args[0])
			if err != nil {
				return err
			}
			if follow {
				return followLog(c.Context(), a.Out, path, q)
			}
			return supervisor.ReadLog(a.Out, path, q)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is added")
	c.Flags().DurationVar(&since, "since", 0, "only what is not older than this, such as 10m")
	c.Flags().IntVarP(&q.Lines, "lines", "n", -1, "only that many of the last lines")
	c.Flags().StringVar(&collect, "collect", "", "copy all logs into this new folder")
	c.Flag("since").DefValue, c.Flag("lines").DefValue = "0s", "0" // all, which help then does not say
	return c
}

// followLog needs no words when it is interrupted: that is how it ends.
func followLog(ctx context.Context, w io.Writer, path string, q supervisor.LogQuery) error {
	err := supervisor.FollowLog(ctx, w, path, q)
	if errors.Is(err, context.Canceled) {
		return cmdutil.Silent(err)
	}
	return err
}
