// Package down has the command that stops or removes a sandbox.
package down

import (
	"context"
	"fmt"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso down`.
type Options struct {
	*cmdutil.App
	Delete, Forget bool
	Snapshots      bool // delete them, too
	Yes            bool
}

// NewCommand makes `kalypso down`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "down",
		Short: "Stop the sandbox; with --delete remove it",
		Long: `Stop the sandbox; ` + "`kalypso up`" + ` brings everything back. From clusters that you
have given with --cluster it takes what it has put there. When one does not
answer, that stays until the next ` + "`kalypso down`" + `.

With --delete it also deletes everything that the sandbox has made, and nothing
else; at a terminal it asks first. Snapshots stay, with the ports, passwords
and certificates that they belong to, for the next ` + "`kalypso up`" + `; --snapshots
deletes them, too.

As long as something is left on a cluster of yours that the kubeconfig
still leads to, nothing is deleted. The same goes for kind clusters whose
container engine does not answer; --forget gives them up.`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case o.Forget && !o.Delete:
				return usage.New("--forget is for --delete: what is only stopped is not forgotten")
			case o.Snapshots && !o.Delete:
				return usage.New("--snapshots is for --delete: what is only stopped keeps them")
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.Delete, "delete", false, "also delete everything the sandbox has made")
	c.Flags().BoolVar(&o.Forget, "forget", false, "give up clusters whose container engine is gone for good")
	c.Flags().BoolVar(&o.Snapshots, "snapshots", false, "with --delete: delete the snapshots, too")
	cmdutil.AddYes(c, &o.Yes)
	return c
}

// Run stops the sandbox, with --delete removes it.
func Run(ctx context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	if o.Delete && home.Exists() && o.Interactive() {
		loss := fmt.Sprintf("All commits, pull requests and objects of the sandbox in %s will be lost.", home)
		if o.Snapshots {
			loss = fmt.Sprintf("All commits, pull requests, objects and snapshots of the sandbox in %s will be lost.", home)
		}
		if err := o.Confirm(ctx, o.Yes, loss); err != nil {
			return err
		}
	}
	p := cmdutil.NewProgress(o.Err)
	say := func(text string) { p.Clear(); o.Messagef("  %s", text) }
	did, err := sandbox.Down(ctx, sandbox.DownOptions{Home: home, Delete: o.Delete, Snapshots: o.Snapshots, Forget: o.Forget, Progress: p.Show, Say: say, Note: say})
	p.Clear()
	switch {
	case ctx.Err() != nil:
		o.Messagef("Interrupted; what has been asked to end goes on ending. `kalypso down` again waits for it, `kalypso status` shows what runs.")
		return cmdutil.Silent(ctx.Err())
	case err != nil:
		return err
	case !did:
		o.Messagef("Nothing to do: no sandbox runs in %s.", home)
	case o.Delete:
		o.Messagef("Removed the sandbox in %s (%.1f s).", home, p.Took())
	default:
		o.Messagef("Stopped (%.1f s). `kalypso up` brings everything back; `kalypso down --delete` removes it.", p.Took())
	}
	return nil
}
