package snapshot

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

func NewCommand(a *cmdutil.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "snapshot",
		Short: "Keep the state of the sandbox, and bring it back",
		Long: `Keep everything of one instant under a name: the forge with its commits, pull
requests and issues, the objects of all clusters, the scheduler and the
reconcilers. Not kept are logs, and images and volumes on the clusters' nodes.

A snapshot belongs to its sandbox and goes with it.`,
		Args: cmdutil.SubcommandArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSnapshotSave(a), newSnapshotLoad(a), newSnapshotList(a), newSnapshotDelete(a))
	return c
}

func newSnapshotSave(a *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "save NAME",
		Short: "Keep the state of this instant",
		Long: `Keep the state of this instant. The sandbox goes on running, after a moment in
which it stands still. A name consists of a-z, 0-9 and -.`,
		Example: `  kalypso snapshot save before-promotion`,
		Args:    cmdutil.ExactArgs("name"),
		RunE: func(c *cobra.Command, args []string) error {
			home, err := a.Home()
			if err != nil {
				return err
			}
			return saveSnapshot(a, c.Context(), home, args[0])
		},
	}
}

func saveSnapshot(a *cmdutil.App, ctx context.Context, home sandbox.Home, name string) error {
	began := time.Now()
	s, err := sandbox.SaveSnapshot(ctx, home, name, a.Version)
	if err != nil {
		return err
	}
	still := ""
	if s.Still > 0 {
		still = fmt.Sprintf("; the sandbox stood still for %.2f s", s.Still.Seconds())
	}
	a.Messagef("Saved %s, %s, in %.1f s%s.", s.Name, size(s.Bytes), time.Since(began).Seconds(), still)
	a.Messagef("`kalypso snapshot load %s` brings it back.", s.Name)
	return nil
}

func newSnapshotLoad(a *cmdutil.App) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "load NAME",
		Short: "Bring back what a snapshot holds",
		Long: `Bring back what a snapshot holds in place of what there is, which is lost.

Cut off in the middle, the next ` + "`kalypso up`" + ` finishes it.`,
		Example: `  kalypso snapshot load before-promotion
  kalypso snapshot load before-promotion --yes`,
		Args: cmdutil.ExactArgs("name"),
		RunE: func(c *cobra.Command, args []string) error {
			home, err := a.Home()
			if err != nil {
				return err
			}
			return loadSnapshot(a, c.Context(), home, args[0], yes)
		},
	}
	cmdutil.AddYes(c, &yes)
	return c
}

func loadSnapshot(a *cmdutil.App, ctx context.Context, home sandbox.Home, name string, yes bool) error {
	s, err := sandbox.FindSnapshot(home, name)
	if err != nil {
		return err
	}
	loss := fmt.Sprintf("All commits, pull requests and objects since %s will be lost.", s.Created.Local().Format("2006-01-02 15:04:05"))
	if err := a.Confirm(ctx, yes, loss); err != nil {
		return err
	}
	began := time.Now()
	p := cmdutil.NewProgress(a.Err, began)
	ran, err := sandbox.LoadSnapshot(ctx, home, name, p.Show)
	p.End()
	took := time.Since(began).Seconds()
	if err = a.ReportStart(ctx, err); err != nil {
		return err
	}
	if ran {
		a.Messagef("Loaded %s, and ready (%.1f s).", name, took)
	} else {
		a.Messagef("Loaded %s (%.1f s). The sandbox is down: `kalypso up` brings it.", name, took)
	}
	if s.Version != a.Version {
		a.Messagef("It was saved by kalypso %s, and this is %s.", s.Version, a.Version)
	}
	return nil
}

func newSnapshotList(a *cmdutil.App) *cobra.Command {
	return cmdutil.ReadCommand(a, &cobra.Command{
		Use:   "list",
		Short: "The snapshots of the sandbox",
		Example: `  kalypso snapshot list
  kalypso snapshot list -o json`,
		Args: cmdutil.ExactArgs(),
	}, func(*cobra.Command, []string) ([]sandbox.Snapshot, error) {
		home, err := a.Home()
		if err != nil {
			return nil, err
		}
		return sandbox.Snapshots(home)
	}, func(all []sandbox.Snapshot) error {
		if len(all) == 0 {
			a.Messagef("No snapshots. `kalypso snapshot save NAME` makes one.")
			return nil
		}
		return printSnapshots(a.Out, all, time.Local)
	})
}

func printSnapshots(out io.Writer, all []sandbox.Snapshot, zone *time.Location) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSAVED\tSIZE\tKALYPSO")
	for _, s := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, s.Created.In(zone).Format("2006-01-02 15:04:05"), size(s.Bytes), s.Version)
	}
	return w.Flush()
}

func size(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

func newSnapshotDelete(a *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME",
		Short:   "Remove a snapshot",
		Example: `  kalypso snapshot delete before-promotion`,
		Args:    cmdutil.ExactArgs("name"),
		RunE: func(_ *cobra.Command, args []string) error {
			home, err := a.Home()
			if err != nil {
				return err
			}
			if err := sandbox.DeleteSnapshot(home, args[0]); err != nil {
				return err
			}
			a.Messagef("Deleted %s.", args[0])
			return nil
		},
	}
}
