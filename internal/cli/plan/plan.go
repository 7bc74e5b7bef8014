package plan

import (
	"context"
	"errors"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/scheduler/view"
	"github.com/spf13/cobra"
)

func NewCommand(a *cmdutil.App) *cobra.Command {
	var world cmdutil.ModelFlags
	var output string
	var exit bool
	c := &cobra.Command{
		Use:   "plan",
		Short: "What the scheduler would change on the GitOps branches",
		Long: `Show what the scheduler would change on an environment's GitOps branch, and why.
Nothing is written anywhere. Without -e all environments are planned.

Outputs:
  diff  a unified diff of each file, which ` + "`git apply`" + ` takes
  tree  cluster types, deployment targets and files: + added, ~ changed, - removed,
        ! left as it is because of a problem
  json  {"problems": [...], "environments": [{"environment", "gitOps", "promoted",
        "incomplete", "sources", "targets", "assignments", "changes", "problems",
        "summary"}]}; a change has "path", "action" (add, modify or remove),
        "clusterType" and "target" where it belongs to an assignment, "content"
        unless it is removed, and "diff"

A problem leaves the files that it concerns as they are and does not stop the
rest, so plan exits with 0 whatever it finds. With --exit-code it exits with
  0  when there is nothing to change, and warnings at most
  1  when there are errors, with or without changes
  3  when there are changes, and warnings at most
` + cmdutil.ModelHelp,
		Example: `  kalypso plan -e dev
  kalypso plan -e dev --control-plane . --workload hello=../hello
  kalypso plan --control-plane https://git.example.com/acme/control-plane -o tree
  kalypso plan -e dev --control-plane . --branch HEAD --exit-code >plan.diff`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			show, ok := outputs[output]
			if !ok {
				return usage.Errorf("there is no output %q: choose diff, tree or json", output)
			}
			w, err := world.Open(c.Context(), a)
			if err != nil {
				return err
			}
			p, err := makePlans(c.Context(), &world, w)
			if err != nil {
				return err
			}
			if err := show(a, p); err != nil {
				return err
			}
			if exit {
				return verdict(p)
			}
			return nil
		},
	}
	world.Register(c, "all")
	c.Flags().StringVarP(&output, "output", "o", "diff", "diff, tree or json")
	c.Flags().BoolVar(&exit, "exit-code", false, "exit with 3 when there are changes, with 1 when there are errors")
	return c
}

var outputs = map[string]func(*cmdutil.App, *view.Plans) error{
	"diff": showDiff,
	"tree": showTree,
	"json": func(a *cmdutil.App, p *view.Plans) error { return a.PrintJSON(view.NewDocument(p)) },
}

// verdict is the error that --exit-code turns into an exit code. An error
// weighs more than changes: what the plan shows is not all that was asked for.
func verdict(p *view.Plans) error {
	changes := false
	for _, d := range p.Problems {
		if d.Severity == model.Error {
			return cmdutil.Silent(errors.New("the plan has errors"))
		}
	}
	for _, one := range p.Environments {
		changes = changes || len(one.Changes) > 0
		for _, problem := range one.Problems {
			if problem.Severity == model.Error {
				return cmdutil.Silent(errors.New("the plan has errors"))
			}
		}
	}
	if changes {
		return cmdutil.Silent(cmdutil.ErrChanges)
	}
	return nil
}

func makePlans(ctx context.Context, f *cmdutil.ModelFlags, w *source.World) (*view.Plans, error) {
	names, err := f.Several(ctx, w)
	if err != nil {
		return nil, err
	}
	p := &view.Plans{}
	if f.Environment == "" {
		if _, p.Problems, err = w.Environments(ctx); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		one := view.Plan{}
		if one.Model, err = w.Load(ctx, name); err != nil {
			return nil, err
		}
		branch, err := w.GitOps(ctx, one.Model)
		if err != nil {
			return nil, err
		}
		if branch != nil {
			one.Before = branch.Files
		}
		if one.Plan, err = plan.New(ctx, one.Model, branch); err != nil {
			return nil, err
		}
		p.Environments = append(p.Environments, one)
	}
	return p, nil
}
