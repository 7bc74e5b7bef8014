// Package explain has the command that says why a deployment target is where it is.
package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/cli/rollout"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/scheduler/view"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso explain`.
type Options struct {
	*cmdutil.App
	Model  cmdutil.ModelFlags
	Query  explain.Query
	Output cmdutil.Output
	// Cluster is one whose waves are explained instead, and Config names whose clusters.
	Cluster, Config string
}

// NewCommand makes `kalypso explain`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "explain DEPLOYMENT_TARGET [CLUSTER_TYPE]",
		Short: "Why a deployment target is where it is, and its configuration what it is",
		Long: `Explain which cluster types a deployment target is assigned to and by which
policies: for every policy the clauses that hold and those that fail, where each
stands (file:line:column), what the target or the cluster type has instead, and
what was most likely meant.

With a cluster type also what the target gets there, or would get: where each
value of the configuration comes from and what it overrode, which ConfigMaps do
not match and why, schemas, templates and files.

DEPLOYMENT_TARGET is <workload>-<target>, <workload>/<target>, or <target> alone
where only one workload has it. Without -e it is looked for in all environments;
-e is needed where several have it.

With --cluster it is about a cluster instead: in which wave of the rollouts it is,
which commit it has, and what it waits for.

Exits with
  0  assigned or not
  1  when what was asked for may be in a file that cannot be read
  2  when there is no such deployment target or cluster type
` + cmdutil.ModelHelp,
		Example: `  kalypso explain functional-test -e dev
  kalypso explain functional-test edge -e dev --control-plane .
  kalypso explain functional-test edge -e dev --control-plane . -o json
  kalypso explain --cluster store-0042 -e dev`,
		Args: cmdutil.RangeArgs(0, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if o.Cluster != "" {
				if len(args) > 0 {
					return usage.Errorf("--cluster is about a cluster: leave %s out", strings.Join(args, " "))
				}
				return rollout.ExplainCluster(c.Context(), &rollout.Options{App: a, Environment: o.Model.Environment, Config: o.Config, Output: o.Output}, o.Cluster)
			}
			if len(args) == 0 {
				return usage.Errorf("usage: %s\nSee `%s --help`.", c.UseLine(), c.CommandPath())
			}
			o.Query.Target = args[0]
			if len(args) > 1 {
				o.Query.ClusterType = args[1]
			}
			return run(c.Context(), o)
		},
	}
	o.Output.AddTo(c, "text", "json")
	o.Model.Register(a, c, "the one that has the deployment target")
	c.Flags().StringVar(&o.Cluster, "cluster", "", "say in which waves of rollouts `CLUSTER` is, and what it waits for")
	c.Flags().StringVar(&o.Config, "config", "", "with --cluster: scheduler's or hub's configuration `FILE` (default the running sandbox's)")
	c.ValidArgsFunction = cmdutil.Complete(false, o.Model.TargetNames(a), o.Model.ClusterTypeNames(a))
	return c
}

// Run plans the environment and explains one of its deployment targets.
func Run(ctx context.Context, o *Options) error {
	w, err := o.Model.Open(ctx, o.App)
	if err != nil {
		return err
	}
	names, err := o.Model.Several(ctx, w)
	if err != nil {
		return err
	}
	e, err := o.explain(ctx, w, names)
	if err != nil {
		return inputError(err)
	}
	return o.Output.Print(o.App, e, func() error { return print(o.Out, e.Text()) })
}

// explain answers for the one environment that has the deployment target. Of those
// that do not have it, the error is of the one that knows most about the question.
func (o *Options) explain(ctx context.Context, w *source.Platform, names []string) (*explain.Explanation, error) {
	var found *explain.Explanation
	var with []string
	var failure error
	for _, name := range names {
		one, err := view.Load(ctx, w, name)
		if err != nil {
			return nil, err
		}
		query := o.Query
		query.Present = one.Before
		e, err := explain.Explain(ctx, one.Model, one.Plan, query)
		var input *explain.InputError
		if !errors.As(err, &input) && err != nil {
			return nil, err
		}
		if input == nil || !input.NoTarget {
			with, found, failure = append(with, name), e, err
		} else if len(with) == 0 && (failure == nil || len(input.Diagnostics) > 0) {
			failure = err
		}
	}
	if len(with) > 1 {
		return nil, usage.Errorf("%s is a deployment target of several environments: choose one of %s with --environment", o.Query.Target, strings.Join(with, ", "))
	}
	return found, failure
}

// inputError gives an error about a question all that is known. A name that is
// not there is a usage error, unless something could not be read.
func inputError(err error) error {
	var input *explain.InputError
	switch {
	case !errors.As(err, &input):
		return err
	case len(input.Diagnostics) > 0:
		return errors.New(input.Text())
	}
	return usage.New(input.Text())
}

// print prints the text, on a terminal with its headings in bold.
func print(w io.Writer, text string) error {
	style := cmdutil.NewStyle(w)
	for line := range strings.Lines(text) {
		if heading := strings.TrimSuffix(line, "\n"); heading != "" && heading[0] != ' ' {
			line = style.Bold(heading) + "\n"
		}
		if _, err := fmt.Fprint(w, line); err != nil {
			return err
		}
	}
	return nil
}
