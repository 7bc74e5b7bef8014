package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

func newGet(a *app) *cobra.Command {
	var world worldFlags
	var output string
	c := &cobra.Command{
		Use:   "get KIND [NAME]",
		Short: "List what the platform model says",
		Long: `List the objects of the platform model, as the scheduler understands them.
Without -e those of all environments are listed.

Kinds, with their other names:
` + kindsHelp() + `
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
` + worldHelp,
		Example: `  kalypso get clustertypes -e qa
  kalypso get assignments -o wide --control-plane .
  kalypso get configs dev-config -e dev -o yaml
  kalypso get targets -o json --control-plane https://git.example.com/acme/control-plane`,
		Args:      kindAndName,
		ValidArgs: kindNames(),
		RunE: func(c *cobra.Command, args []string) error {
			kind, err := findKind(args[0])
			if err != nil {
				return err
			}
			if !slices.Contains([]string{"text", "wide", "json", "yaml"}, output) {
				return &sandbox.UsageError{Message: fmt.Sprintf("there is no output %q: choose text, wide, json or yaml", output)}
			}
			w, err := world.open(c.Context(), a)
			if err != nil {
				return err
			}
			list, err := a.collect(c.Context(), &world, w, kind)
			if err != nil {
				return err
			}
			if len(args) == 2 {
				if list, err = list.named(args[1]); err != nil {
					return err
				}
			}
			return a.showListing(list, output)
		},
	}
	world.register(c, "all")
	c.Flags().StringVarP(&output, "output", "o", "text", "text, wide, json or yaml")
	return c
}

// kindAndName checks the arguments of get.
func kindAndName(c *cobra.Command, args []string) error {
	switch len(args) {
	case 1, 2:
		return nil
	case 0:
		return &sandbox.UsageError{Message: fmt.Sprintf("which kind? Choose one of %s\nSee `%s --help`.", strings.Join(kindNames(), ", "), c.CommandPath())}
	}
	return &sandbox.UsageError{Message: fmt.Sprintf("usage: %s\nSee `%s --help`.", c.UseLine(), c.CommandPath())}
}

// collect lists a kind in the environments that were asked for. What may be
// missing from the list, and why, goes to people.
func (a *app) collect(ctx context.Context, f *worldFlags, w *source.World, k *kind) (*listing, error) {
	if k.environments {
		objects, diagnostics, err := w.EnvironmentObjects(ctx)
		if err != nil {
			return nil, err
		}
		for _, d := range diagnostics {
			a.talk("%s: %s: %s", d.Position, d.Severity, d.Message)
		}
		list := &listing{kind: k}
		for _, o := range objects {
			if f.environment == "" || f.environment == o.Name {
				list.rows = append(list.rows, environmentRow(o))
			}
		}
		return list, nil
	}
	names, err := f.several(ctx, w)
	if err != nil {
		return nil, err
	}
	list := &listing{kind: k, environments: names}
	for _, name := range names {
		env, err := w.Load(ctx, name)
		if err != nil {
			return nil, err
		}
		if n := errorsOf(env); n > 0 {
			a.talk("note: environment %s has %s, so something may be missing here; `kalypso plan -e %s` says what is wrong", name, counted(n, "error"), name)
		}
		if k.planned == nil {
			list.rows = append(list.rows, k.rows(env)...)
			continue
		}
		p, err := plan.New(ctx, env, nil)
		if err != nil {
			return nil, err
		}
		list.rows = append(list.rows, k.planned(planned{Plan: p, env: env})...)
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
func (a *app) showListing(l *listing, output string) error {
	if len(l.rows) == 0 {
		a.talk("There are no %s%s.", l.kind.name, l.where())
	}
	switch output {
	case "json":
		return a.printJSON(l.documents())
	case "yaml":
		b, err := yaml.Marshal(l.documents())
		if err != nil {
			return err
		}
		_, err = a.out.Write(b)
		return err
	}
	return l.table(a.out, output == "wide")
}
