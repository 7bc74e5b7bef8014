// Package workshop has the commands about workshops: what a sandbox is made of.
package workshop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/spf13/cobra"
)

// Options are those of the commands below `kalypso workshop`.
type Options struct {
	*cmdutil.App
	Location string
	Output   cmdutil.Output
}

// NewCommand makes `kalypso workshop`.
func NewCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group(&cobra.Command{
		Use:   "workshop",
		Short: "Make, check and pack what a sandbox is made of",
		Long: `A workshop is a folder: workshop.yaml, the repositories with their branches, and
scenarios. ` + "`kalypso up --workshop DIR`" + ` makes a sandbox of it.`,
	}, newList(a, list), newShow(a, show), newNew(a, runNew), newValidate(a, runValidate), newSchema(a), newPack(a, pack), newFrom(a, from), newExport(a, export))
}

// listed is a workshop in the list.
type listed struct {
	Name      string `json:"name"`
	Title     string `json:"title"`
	Clusters  int    `json:"clusters"`
	Scenarios int    `json:"scenarios"`
	Current   bool   `json:"current"` // the sandbox is made of it
	Origin    string `json:"origin,omitempty"`
}

func newList(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "list",
		Short: "List the workshops that come with kalypso, and the sandbox's own",
		Args:  cmdutil.ExactArgs(),
		RunE:  func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.Output.AddTo(c, "text", "json")
	return c
}

func list(_ context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	of, err := home.Load()
	if err != nil && !errors.Is(err, sandbox.ErrNoSandbox) {
		return err
	}
	var all []listed
	for _, name := range workshop.Builtin() {
		w, err := workshop.OpenBuiltin(name)
		if err != nil {
			return err
		}
		all = append(all, listedOf(w, of != nil && of.Origin == "" && of.Workshop == name, ""))
	}
	if of != nil && of.Origin != "" {
		all = append(all, listedOf(of.Spec(), true, of.Origin))
	}
	return o.Output.Print(o.App, all, func() error {
		w := tabwriter.NewWriter(o.Out, 0, 0, 3, ' ', 0)
		fmt.Fprintln(w, "\tNAME\tTITLE\tCLUSTERS\tSCENARIOS\tFROM")
		for _, l := range all {
			mark, from := "", "kalypso"
			if l.Current {
				mark = "*"
			}
			if l.Origin != "" {
				from = l.Origin
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", mark, l.Name, l.Title, l.Clusters, l.Scenarios, from)
		}
		return w.Flush()
	})
}

func listedOf(w *workshop.Workshop, current bool, origin string) listed {
	return listed{
		Name: w.Name, Title: w.Title, Clusters: len(w.Clusters),
		Scenarios: len(w.Scenarios.Order) + len(w.Scenarios.Apart), Current: current, Origin: origin,
	}
}

// located makes a command about the workshop at one location.
func located(a *cmdutil.App, c *cobra.Command, run func(context.Context, *Options) error) (*Options, *cobra.Command) {
	o := &Options{App: a}
	c.Args = cmdutil.ExactArgs("workshop")
	c.RunE = func(c *cobra.Command, args []string) error {
		o.Location = args[0]
		return run(c.Context(), o)
	}
	c.ValidArgsFunction = cmdutil.Complete(false, cmdutil.Known(workshop.Builtin()...))
	return o, c
}

// with opens the workshop at a location, with all of its repositories when they
// are needed, while do runs.
func (o *Options) with(ctx context.Context, whole bool, do func(*workshop.Workshop) error) error {
	scratch, err := os.MkdirTemp("", "kalypso-workshop-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	open := workshop.Open
	if whole {
		open = func(ctx context.Context, location, scratch string) (*workshop.Workshop, error) {
			return workshop.OpenWhole(ctx, location, scratch, func(what string) { o.Messagef("%s", what) })
		}
	}
	w, err := open(ctx, o.Location, scratch)
	if err != nil {
		return asUsage(err)
	}
	return do(w)
}

// asUsage makes what is wrong with a workshop the caller's mistake.
func asUsage(err error) error {
	var wrong *workshop.Error
	if errors.As(err, &wrong) {
		return usage.New(err.Error())
	}
	return err
}

func newShow(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o, c := located(a, &cobra.Command{
		Use:   "show NAME|DIR|FILE|URL",
		Short: "Show a workshop's repositories, clusters and scenarios",
		Example: `  kalypso workshop show hello-world
  kalypso workshop show ./my-kata`,
	}, run)
	o.Output.AddTo(c, "text", "json")
	return c
}

// shown is a workshop as `show` prints it.
type shown struct {
	Name         string           `json:"name"`
	Title        string           `json:"title"`
	Description  string           `json:"description"`
	ControlPlane string           `json:"controlPlane"`
	Environments []string         `json:"environments"`
	Repositories []shownPart      `json:"repositories"`
	Clusters     []shownPart      `json:"clusters"`
	Scenarios    []scenarios.Info `json:"scenarios"`
}

type shownPart struct {
	Name   string `json:"name"`
	Detail string `json:"detail"`
}

func show(ctx context.Context, o *Options) error {
	return o.with(ctx, false, func(w *workshop.Workshop) error {
		s := shown{
			Name: w.Name, Title: w.Title, Description: w.Description,
			ControlPlane: w.ControlPlane.Repository, Environments: w.ControlPlane.Environments,
		}
		for _, r := range w.Repositories {
			var branches []string
			for _, b := range r.Branches {
				branches = append(branches, b.Name)
			}
			detail := "branches " + strings.Join(branches, ", ")
			if r.Git != "" {
				detail = strings.TrimPrefix(detail+", ", "branches , ") + "from " + r.Git
			}
			s.Repositories = append(s.Repositories, shownPart{r.Name, detail})
		}
		for _, c := range w.Clusters {
			detail := string(c.Reconciler)
			if c.Kind == workshop.VirtualCluster || c.Kind == workshop.Host {
				detail = string(c.Kind) + ", " + detail
			}
			for _, f := range c.Follows {
				detail += fmt.Sprintf(", %s of %s@%s", strings.TrimPrefix("/"+f.Path, "//"), f.Repository, f.Branch)
			}
			s.Clusters = append(s.Clusters, shownPart{c.Name, detail})
		}
		library, err := scenarios.Of(w)
		if err != nil {
			return err
		}
		if s.Scenarios, err = library.List(); err != nil {
			return err
		}
		return o.Output.Print(o.App, s, func() error { return s.print(o) })
	})
}

func (s shown) print(o *Options) error {
	w := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s: %s\n%s\n\n", s.Name, s.Title, strings.TrimSpace(s.Description))
	fmt.Fprintf(w, "Control plane %s, environments %s\n\nRepositories\n", s.ControlPlane, strings.Join(s.Environments, ", "))
	for _, r := range s.Repositories {
		fmt.Fprintf(w, "  %s\t%s\n", r.Name, r.Detail)
	}
	fmt.Fprintln(w, "\nClusters")
	for _, c := range s.Clusters {
		fmt.Fprintf(w, "  %s\t%s\n", c.Name, c.Detail)
	}
	if len(s.Scenarios) > 0 {
		fmt.Fprintln(w, "\nScenarios")
	}
	for _, i := range s.Scenarios {
		fmt.Fprintf(w, "  %s\t%s\n", i.Name, i.Title)
	}
	return w.Flush()
}

func newSchema(a *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of workshop.yaml, for editors",
		Long: `Print the JSON Schema of workshop.yaml. Editors with the YAML language server use
it by a first line in workshop.yaml:

    # yaml-language-server: $schema=workshop.schema.json`,
		Example: `  kalypso workshop schema >workshop.schema.json`,
		Args:    cmdutil.ExactArgs(),
		RunE: func(*cobra.Command, []string) error {
			_, err := a.Out.Write(workshop.Schema)
			return err
		},
	}
}

func newPack(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	_, c := located(a, &cobra.Command{
		Use:   "pack NAME|DIR|URL",
		Short: "Pack a workshop with all its repositories into NAME.tar.gz",
		Long: `Pack a workshop into NAME.tar.gz in this folder, for ` + "`kalypso up --workshop FILE`" + `.
Repositories that workshop.yaml takes from elsewhere are fetched and packed, too.
The same files make the same bytes.`,
		Example: `  kalypso workshop pack ./my-kata`,
	}, run)
	return c
}

func pack(ctx context.Context, o *Options) error {
	return o.with(ctx, true, func(w *workshop.Workshop) error {
		name := w.Name + ".tar.gz"
		partial, err := os.CreateTemp(".", "."+name+"-")
		if err != nil {
			return err
		}
		defer os.Remove(partial.Name())
		err = errors.Join(workshop.Pack(w, partial), partial.Sync(), partial.Close(), os.Chmod(partial.Name(), 0o644))
		if err != nil {
			return asUsage(err)
		}
		// an older one stays until the new one is whole
		if err := os.Rename(partial.Name(), name); err != nil {
			return err
		}
		o.Messagef("%s is written: `kalypso up --workshop %[1]s` makes a sandbox of it", name)
		return nil
	})
}
