package explain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/spf13/cobra"
)

func NewCommand(a *cmdutil.App) *cobra.Command {
	var world cmdutil.ModelFlags
	c := cmdutil.ReadCommand(a, &cobra.Command{
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
where only one workload has it. -e is needed where there are several environments.

Exits with
  0  assigned or not
  1  when what was asked for may be in a file that cannot be read
  2  when there is no such deployment target or cluster type
` + cmdutil.ModelHelp,
		Example: `  kalypso explain basic-inference-dev -e dev
  kalypso explain functional-test drone -e dev --control-plane .
  kalypso explain functional-test drone -e dev --control-plane . -o json`,
		Args: targetAndClusterType,
	}, func(c *cobra.Command, args []string) (*explain.Explanation, error) {
		q := explain.Query{Target: args[0]}
		if len(args) > 1 {
			q.ClusterType = args[1]
		}
		return run(a, c.Context(), &world, q)
	}, func(e *explain.Explanation) error { return printExplanation(a, e) })
	world.Register(c, "the only one")
	return c
}

// targetAndClusterType checks the arguments of explain.
func targetAndClusterType(c *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) == 2 {
		return nil
	}
	return usage.Errorf("usage: %s\nSee `%s --help`.", c.UseLine(), c.CommandPath())
}

func run(a *cmdutil.App, ctx context.Context, f *cmdutil.ModelFlags, q explain.Query) (*explain.Explanation, error) {
	w, err := f.Open(ctx, a)
	if err != nil {
		return nil, err
	}
	name, err := f.One(ctx, w)
	if err != nil {
		return nil, err
	}
	env, err := w.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	gitops, err := w.GitOps(ctx, env)
	if err != nil {
		return nil, err
	}
	p, err := plan.New(ctx, env, gitops)
	if err != nil {
		return nil, err
	}
	e, err := explain.Explain(ctx, env, p, q)
	return e, unanswered(err)
}

// unanswered shows all that an error about a question knows. A name that is
// not there is the caller's mistake, unless something could not be read.
func unanswered(err error) error {
	var input *explain.InputError
	switch {
	case !errors.As(err, &input):
		return err
	case len(input.Diagnostics) > 0:
		return errors.New(input.Text())
	}
	return usage.New(input.Text())
}

// printExplanation prints the text, on a terminal with its headings in bold.
func printExplanation(a *cmdutil.App, e *explain.Explanation) error {
	st := cmdutil.NewStyle(a.Out)
	for line := range strings.Lines(e.Text()) {
		if heading := strings.TrimSuffix(line, "\n"); heading != "" && heading[0] != ' ' {
			line = st.Bold(heading) + "\n"
		}
		if _, err := fmt.Fprint(a.Out, line); err != nil {
			return err
		}
	}
	return nil
}
