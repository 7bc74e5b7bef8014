// Package snapshot has the commands that keep the state of a sandbox.
package snapshot

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/snapshot"
	"github.com/spf13/cobra"
)

// Options are those of the commands below `kalypso snapshot`.
type Options struct {
	*cmdutil.App
	Name   string // of the snapshot
	Yes    bool
	Output cmdutil.Output
}

// NewCommand makes `kalypso snapshot`.
func NewCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group(&cobra.Command{
		Use:   "snapshot",
		Short: "Keep the state of the sandbox, and bring it back",
		Long: `Keep everything of one instant under a name: the forge with its commits, pull
requests and issues, the objects of all clusters, the scheduler and the
reconcilers. Not kept are logs, and images and volumes on the clusters' nodes.

A snapshot fits only the sandbox that it was saved of. "kalypso down --delete" keeps
it for the next "kalypso up".`,
	}, newSave(a, save), newLoad(a, load), newList(a, list), newDelete(a, remove))
}

func newSave(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	return &cobra.Command{
		Use:   "save NAME",
		Short: "Keep the state of this instant",
		Long: `Keep the state of this instant. The sandbox goes on running, after a moment in
which it stands still. A name consists of a-z, 0-9 and -.`,
		Example: `  kalypso snapshot save before-promotion`,
		Args:    cmdutil.ExactArgs("name"),
		RunE:    func(c *cobra.Command, args []string) error { return run(c.Context(), &Options{App: a, Name: args[0]}) },
	}
}

func save(ctx context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	began := time.Now()
	s, err := sandbox.SaveSnapshot(ctx, home, o.Name, o.Version)
	if err != nil {
		return err
	}
	still := ""
	if s.Still > 0 {
		still = fmt.Sprintf("; the sandbox stood still for %.2f s", s.Still.Seconds())
	}
	o.Messagef("Saved %s, %s, in %.1f s%s.", s.Name, size(s.Bytes), time.Since(began).Seconds(), still)
	o.Messagef("`kalypso snapshot load %s` brings it back.", s.Name)
	return nil
}

func newLoad(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "load NAME",
		Short: "Bring back what a snapshot holds",
		Long: `Bring back what a snapshot holds in place of what there is, which is lost.

Cut off in the middle, the next ` + "`kalypso up`" + ` finishes it.`,
		Example: `  kalypso snapshot load before-promotion
  kalypso snapshot load before-promotion --yes`,
		Args: cmdutil.ExactArgs("name"),

		ValidArgsFunction: cmdutil.Complete(false, names(a)),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	cmdutil.AddYes(c, &o.Yes)
	return c
}

// names are those of the sandbox's snapshots.
func names(a *cmdutil.App) cmdutil.Candidates {
	return func(context.Context) ([]string, error) {
		home, err := a.Home()
		if err != nil {
			return nil, err
		}
		all, err := snapshot.List(home)
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		return names, err
	}
}

func load(ctx context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	s, err := snapshot.Find(home, o.Name)
	if err != nil {
		return err
	}
	loss := fmt.Sprintf("All commits, pull requests and objects since %s will be lost.", s.Created.Local().Format(time.DateTime))
	if err := o.Confirm(ctx, o.Yes, loss); err != nil {
		return err
	}
	p := cmdutil.NewProgress(o.Err)
	ran, err := sandbox.LoadSnapshot(ctx, home, o.Name, p.Show)
	p.Clear()
	if err = o.ReportStart(ctx, err); err != nil {
		return err
	}
	if ran {
		o.Messagef("Loaded %s, and ready (%.1f s).", o.Name, p.Took())
	} else {
		o.Messagef("Loaded %s (%.1f s). The sandbox is down: `kalypso up` brings it.", o.Name, p.Took())
	}
	if s.Version != o.Version {
		o.Messagef("It was saved by kalypso %s, and this is %s.", s.Version, o.Version)
	}
	return nil
}

func newList(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "list",
		Short: "The snapshots of the sandbox",
		Example: `  kalypso snapshot list
  kalypso snapshot list -o json`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.Output.AddTo(c, "text", "json")
	return c
}

func list(_ context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	all, err := snapshot.List(home)
	if err != nil {
		return err
	}
	return o.Output.Print(o.App, all, func() error {
		if len(all) == 0 {
			o.Messagef("No snapshots. `kalypso snapshot save NAME` makes one.")
			return nil
		}
		return printSnapshots(o.Out, all, time.Local)
	})
}

func printSnapshots(out io.Writer, all []snapshot.Snapshot, zone *time.Location) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSAVED\tSIZE\tKALYPSO")
	for _, s := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, s.Created.In(zone).Format(time.DateTime), size(s.Bytes), s.Version)
	}
	return w.Flush()
}

func size(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

func newDelete(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME",
		Short:   "Remove a snapshot",
		Example: `  kalypso snapshot delete before-promotion`,
		Args:    cmdutil.ExactArgs("name"),

		ValidArgsFunction: cmdutil.Complete(false, names(a)),
		RunE:              func(c *cobra.Command, args []string) error { return run(c.Context(), &Options{App: a, Name: args[0]}) },
	}
}

func remove(_ context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	if err := snapshot.Delete(home, o.Name); err != nil {
		return err
	}
	o.Messagef("Deleted %s.", o.Name)
	return nil
}
