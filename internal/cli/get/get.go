package get

import (
	"context"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/scheduler/view"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

func NewCommand(a *cmdutil.App) *cobra.Command {
	var world cmdutil.ModelFlags
	var output string
	c := &cobra.Command{
		Use:   "get KIND [NAME]",
		Short: "List what the platform model says",
		Long: `List the objects of the platform model, as the scheduler understands them.
Without -e those of all environments are listed.

Kinds, with their other names:
` + view.KindsHelp() + `
An assignment is a deployment target on a cluster type.

Outputs:
  text  a table
  wide  a table with labels and where each object stands
  json  a list of objects with "environment", "name", "labels", "position" and
        "spec", or what else the kind has
  yaml  the same

Exits with
  0  also when there is nothing to list
  1  when there is no object of the NAME
` + cmdutil.ModelHelp,
		Example: `  kalypso get clustertypes -e qa
  kalypso get assignments -o wide --control-plane .
  kalypso get configs dev-config -e dev -o yaml
  kalypso get targets -o json --control-plane https://git.example.com/acme/control-plane`,
		Args:      kindAndName,
		ValidArgs: view.KindNames(),
		RunE: func(c *cobra.Command, args []string) error {
			kind, err := view.FindKind(args[0])
			if err != nil {
				return err
			}
			if !slices.Contains([]string{"text", "wide", "json", "yaml"}, output) {
				return usage.Errorf("there is no output %q: choose text, wide, json or yaml", output)
			}
			w, err := world.Open(c.Context(), a)
			if err != nil {
				return err
			}
			list, err := collect(a, c.Context(), &world, w, kind)
			if err != nil {
				return err
			}
			if len(args) == 2 {
				if list, err = list.Named(args[1]); err != nil {
					return err
				}
			}
			return showListing(a, list, output)
		},
	}
	world.Register(c, "all")
	c.Flags().StringVarP(&output, "output", "o", "text", "text, wide, json or yaml")
	return c
}

// kindAndName checks the arguments of get.
func kindAndName(c *cobra.Command, args []string) error {
	switch len(args) {
	case 1, 2:
		return nil
	case 0:
		return usage.Errorf("which kind? Choose one of %s\nSee `%s --help`.", strings.Join(view.KindNames(), ", "), c.CommandPath())
	}
	return usage.Errorf("usage: %s\nSee `%s --help`.", c.UseLine(), c.CommandPath())
}

// collect lists a kind in the environments that were asked for. What may be
// missing from the list, and why, goes to people.
func collect(a *cmdutil.App, ctx context.Context, f *cmdutil.ModelFlags, w *source.World, k *view.Kind) (*view.Listing, error) {
	if k.Environments {
		objects, diagnostics, err := w.EnvironmentObjects(ctx)
		if err != nil {
			return nil, err
		}
		for _, d := range diagnostics {
			a.Messagef("%s: %s: %s", d.Position, d.Severity, d.Message)
		}
		list := &view.Listing{Kind: k}
		for _, o := range objects {
			if f.Environment == "" || f.Environment == o.Name {
				list.Rows = append(list.Rows, view.EnvironmentRow(o))
			}
		}
		return list, nil
	}
	names, err := f.Several(ctx, w)
	if err != nil {
		return nil, err
	}
	list := &view.Listing{Kind: k, Environments: names}
	for _, name := range names {
		env, err := w.Load(ctx, name)
		if err != nil {
			return nil, err
		}
		if n := errorsOf(env); n > 0 {
			a.Messagef("note: environment %s has %s, so something may be missing here; `kalypso plan -e %s` says what is wrong", name, view.Count(n, "error"), name)
		}
		if k.Planned == nil {
			list.Rows = append(list.Rows, k.Rows(env)...)
			continue
		}
		p, err := plan.New(ctx, env, nil)
		if err != nil {
			return nil, err
		}
		list.Rows = append(list.Rows, k.Planned(view.Plan{Plan: p, Model: env})...)
	}
	return list, nil
}

func errorsOf(env *model.Environment) int {
	n := 0
	for _, d := range env.Diagnostics {
		if d.Severity == model.Error {
			n++
		}
	}
	return n
}

// showListing prints a list in one of the outputs.
func showListing(a *cmdutil.App, l *view.Listing, output string) error {
	if len(l.Rows) == 0 {
		a.Messagef("There are no %s%s.", l.Kind.Name, l.Where())
	}
	switch output {
	case "json":
		return a.PrintJSON(l.Documents())
	case "yaml":
		b, err := yaml.Marshal(l.Documents())
		if err != nil {
			return err
		}
		_, err = a.Out.Write(b)
		return err
	}
	return l.Table(a.Out, output == "wide")
}
