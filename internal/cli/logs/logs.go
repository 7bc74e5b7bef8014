// Package logs has the command that prints the logs of a sandbox.
package logs

import (
	"context"
	"errors"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso logs`.
type Options struct {
	*cmdutil.App
	Component string
	Query     supervisor.LogQuery
	Follow    bool
	Collect   string // the folder for all logs, in place of printing one
}

// NewCommand makes `kalypso logs`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	var since time.Duration
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
			ago, lines := c.Flag("since").Changed, c.Flag("lines").Changed
			switch {
			case o.Collect != "" && (o.Follow || ago || lines):
				return usage.New("--collect copies all there is: leave out --follow, --since and --lines")
			case lines && o.Query.Lines < 0:
				return usage.Errorf("--lines %d: give a number of lines, 0 or more", o.Query.Lines)
			case ago && since <= 0:
				return usage.Errorf("--since %s: give how long ago, such as 10m or 1h30m", since)
			case ago:
				o.Query.Since = time.Now().Add(-since)
			}
			if len(args) > 0 {
				o.Component = args[0]
			}
			return run(c.Context(), o)
		},
	}
	c.ValidArgsFunction = cmdutil.Complete(false, func(context.Context) ([]string, error) {
		home, err := a.Home()
		if err != nil {
			return nil, err
		}
		return sandbox.LogNames(home)
	})
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on with what is added")
	c.Flags().DurationVar(&since, "since", 0, "only what is not older than this, such as 10m")
	c.Flags().IntVarP(&o.Query.Lines, "lines", "n", -1, "only that many of the last lines")
	c.Flags().StringVar(&o.Collect, "collect", "", "copy all logs into this new folder")
	c.Flag("since").DefValue, c.Flag("lines").DefValue = "0s", "0" // all, which help then does not say
	return c
}

// Run prints a log, with --follow until ctx ends, or collects all.
func Run(ctx context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	if o.Collect != "" {
		if err := sandbox.CollectLogs(ctx, home, o.Collect); err != nil {
			return err
		}
		o.Messagef("Collected the logs in %s.", o.Collect)
		return nil
	}
	path, err := sandbox.FindLog(home, o.Component)
	if err != nil {
		return err
	}
	if !o.Follow {
		return supervisor.ReadLog(o.Out, path, o.Query)
	}
	err = supervisor.FollowLog(ctx, o.Out, path, o.Query)
	if errors.Is(err, context.Canceled) {
		return cmdutil.Silent(err) // that is how it ends
	}
	return err
}
