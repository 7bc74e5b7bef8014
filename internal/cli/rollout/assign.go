package rollout

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
)

func newAssign(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "assign NAME",
		Short: "Which wave each cluster is in, and how to have it follow the wave's branch",
		Long: `Say for each cluster of the type which wave the Rollout puts it in, which branch it
has to follow, and which it follows. It changes nothing.

Outputs:
  text      a table
  commands  a command for each cluster that follows another branch, to have it
            follow the right one: of kubectl for Flux and Argo CD, and where Azure
            has made the configuration, of az, with RESOURCE_GROUP to be filled in
  json      {"clusters": [...], "overlaps": [...], "empty": [...]}
  yaml      the same
` + where,
		Example: `  kalypso rollout assign large -e dev
  kalypso rollout assign large -e dev -o commands`,
		Args: cmdutil.ExactArgs("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	o.register(c)
	o.Output.AddTo(c, "text", "commands", "json", "yaml")
	return c
}

// Assign prints which wave each cluster is in.
func Assign(ctx context.Context, o *Options) error {
	p, err := o.find(ctx)
	if err != nil {
		return err
	}
	env, r, err := p.one(o.Name)
	if err != nil {
		return err
	}
	d := p.driver()
	assigned, err := d.Assign(ctx, env, r)
	if err != nil {
		return err
	}
	return o.Output.Print(o.App, assigned, func() error {
		if o.Output.String() == "commands" {
			return printCommands(o.Out, assigned)
		}
		return printAssigned(o.Out, assigned)
	})
}

func printAssigned(w io.Writer, a driver.Assigned) error {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "CLUSTER\tWAVE\tBRANCH\tFOLLOWS\n")
	for _, c := range a.Clusters {
		follows := "it"
		if c.Follows != c.Branch {
			follows = c.Follows
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.Cluster, c.Wave, c.Branch, follows)
	}
	_ = table.Flush() // to memory
	for _, overlap := range a.Overlaps {
		fmt.Fprintf(&out, "%s: it is in the first of them\n", overlap)
	}
	for _, wave := range a.Empty {
		fmt.Fprintf(&out, "wave %s holds no cluster\n", wave)
	}
	_, err := io.WriteString(w, redact.Text(out.String()))
	return err
}

func printCommands(w io.Writer, a driver.Assigned) error {
	var out strings.Builder
	for _, c := range a.Clusters {
		for _, command := range c.Commands {
			out.WriteString(command + "\n")
		}
	}
	_, err := io.WriteString(w, redact.Text(out.String()))
	return err
}
