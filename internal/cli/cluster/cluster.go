// Package cluster has the commands that stop and start one part of a sandbox.
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

// Options are those of stop, start and restart.
type Options struct {
	*cmdutil.App
	Name    string        // of a cluster; for restart, of a component
	Timeout time.Duration // of start and restart
}

// defaultTimeout is above the deadline of every component.
const defaultTimeout = 2 * time.Minute

// NewStopCommand makes `kalypso stop`.
func NewStopCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	return &cobra.Command{
		Use:   "stop CLUSTER",
		Short: "Stop one cluster, as if it had lost power",
		Long: `End everything of one cluster: its control plane, its node and its reconciler.
The rest of the sandbox goes on. The cluster stays stopped, also when the sandbox
or the machine starts again, until ` + "`kalypso start CLUSTER`" + ` brings it back with all
that was on it.`,
		Example: `  kalypso stop store-001`,
		Args:    cmdutil.ExactArgs("cluster"),

		ValidArgsFunction: cmdutil.Complete(false, a.ClusterNames),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
}

// NewStartCommand makes `kalypso start`.
func NewStartCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "start CLUSTER",
		Short: "Start a cluster that was stopped",
		Long: `Start everything of a cluster that ` + "`kalypso stop CLUSTER`" + ` has ended, and wait until
it is ready.`,
		Example: `  kalypso start store-001`,
		Args:    cmdutil.ExactArgs("cluster"),

		ValidArgsFunction: cmdutil.Complete(false, a.ClusterNames),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	c.Flags().DurationVar(&o.Timeout, "timeout", defaultTimeout, "how long to wait until it is ready")
	return c
}

// NewRestartCommand makes `kalypso restart`.
func NewRestartCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "restart COMPONENT",
		Short: "End one component of the sandbox and start it again",
		Long: `End one component of the running sandbox and start it again, and wait until it
is ready. Its data stays, and what needs it goes on. A task, such as
"repositories", is done once more.`,
		Example: `  kalypso restart gitea
  kalypso restart scheduler --timeout 30s`,
		Args: cmdutil.ExactArgs("component"),

		ValidArgsFunction: cmdutil.Complete(false, a.ComponentNames),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	c.Flags().DurationVar(&o.Timeout, "timeout", defaultTimeout, "how long to wait until it is ready")
	return c
}

// Stop stops a cluster.
func Stop(ctx context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	p := cmdutil.NewProgress(o.Err)
	t, err := sandbox.StopCluster(ctx, home, o.Name, p.Show)
	p.Clear()
	switch {
	case ctx.Err() != nil:
		o.Messagef("Interrupted; %s goes on ending. `kalypso start %[1]s` brings it back.", o.Name)
		return cmdutil.Silent(ctx.Err())
	case err != nil:
		return err
	case !t.Changed:
		o.Messagef("%s has been stopped already; `kalypso start %[1]s` brings it back.", o.Name)
	case !t.Running:
		o.Messagef("The sandbox is down. %s stays stopped when it comes up, until `kalypso start %[1]s`.", o.Name)
	default:
		o.Messagef("%s is stopped (%.1f s) and stays so until `kalypso start %[1]s`.", o.Name, p.Took())
	}
	return nil
}

// Start starts a cluster and waits until it is ready.
func Start(ctx context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	p := cmdutil.NewProgress(o.Err)
	t, err := sandbox.StartCluster(ctx, home, o.Name, o.Timeout, p.Show)
	p.Clear()
	switch {
	case err != nil || ctx.Err() != nil:
		return o.startError(ctx, err, "")
	case !t.Running:
		o.Messagef("The sandbox is down. %s comes with the next `kalypso up`.", o.Name)
	case !t.Changed && !p.Changed:
		o.Messagef("%s was not stopped; nothing changed.", o.Name)
	default:
		o.Messagef("%s is ready again (%.1f s).", o.Name, p.Took())
	}
	return nil
}

// Restart restarts a component and waits until it is ready.
func Restart(ctx context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	p := cmdutil.NewProgress(o.Err)
	s, err := sandbox.Restart(ctx, home, o.Name, o.Timeout, func(s supervisor.Status) { p.Show([]supervisor.Status{s}) })
	var renewed []string
	if err == nil {
		renewed, err = sandbox.RenewCredentials(ctx, home)
	}
	p.Clear()
	if err != nil || ctx.Err() != nil {
		return o.startError(ctx, err, ", `kalypso logs "+o.Name+"` has its log")
	}
	process := ""
	if s.PID != 0 {
		process = fmt.Sprintf(", process %d", s.PID)
	}
	o.Messagef("%s is ready again (%.1f s%s).", o.Name, p.Took(), process)
	o.Renewed(renewed)
	return nil
}

// startError prints what is known of a start that has failed or was not waited
// for.
func (o *Options) startError(ctx context.Context, err error, logs string) error {
	var failed *sandbox.FailedError
	var late *sandbox.TimeoutError
	switch {
	case errors.As(err, &failed):
		o.PrintLogTails(failed)
	case errors.As(err, &late):
		o.Messagef("It goes on starting: `kalypso status` shows it%s.", logs)
	case ctx.Err() != nil:
		o.Messagef("Interrupted; %s goes on starting. `kalypso status` shows it.", o.Name)
		return cmdutil.Silent(ctx.Err())
	}
	return err
}
