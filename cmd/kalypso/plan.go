package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/spf13/cobra"
)

// errPlanHasChanges is the result of a plan that was asked to tell by its exit
// code.
var errPlanHasChanges = errors.New("the plan has changes")

func newPlan(a *app) *cobra.Command {
	var world worldFlags
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
` + worldHelp,
		Example: `  kalypso plan -e dev
  kalypso plan -e dev --control-plane . --workload hello=../hello
  kalypso plan --control-plane https://git.example.com/acme/control-plane -o tree
  kalypso plan -e dev --control-plane . --branch HEAD --exit-code >plan.diff`,
		Args: onlyArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			show, ok := planOutputs[output]
			if !ok {
				return &sandbox.UsageError{Message: fmt.Sprintf("there is no output %q: choose diff, tree or json", output)}
			}
			w, err := world.open(c.Context(), a)
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
				return p.verdict()
			}
			return nil
		},
	}
	world.register(c, "all")
	c.Flags().StringVarP(&output, "output", "o", "diff", "diff, tree or json")
	c.Flags().BoolVar(&exit, "exit-code", false, "exit with 3 when there are changes, with 1 when there are errors")
	return c
}

var planOutputs = map[string]func(*app, *plans) error{
	"diff": (*app).showDiff,
	"tree": (*app).showTree,
	"json": func(a *app, p *plans) error { return a.printJSON(plansJSON(p)) },
}

// plans is what the command has found out.
type plans struct {
	problems     []model.Diagnostic // of the Environment objects
	environments []planned
}

// planned is the plan of one environment with what it was made of.
type planned struct {
	*plan.Plan
	env    *model.Environment
	before map[string][]byte // what is on the GitOps branch
}

func makePlans(ctx context.Context, f *worldFlags, w *source.World) (*plans, error) {
	names, err := f.several(ctx, w)
	if err != nil {
		return nil, err
	}
	p := &plans{}
	if f.environment == "" {
		if _, p.problems, err = w.Environments(ctx); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		one := planned{}
		if one.env, err = w.Load(ctx, name); err != nil {
			return nil, err
		}
		branch, err := w.GitOps(ctx, one.env)
		if err != nil {
			return nil, err
		}
		if branch != nil {
			one.before = branch.Files
		}
		if one.Plan, err = plan.New(ctx, one.env, branch); err != nil {
			return nil, err
		}
		p.environments = append(p.environments, one)
	}
	return p, nil
}

// verdict is the error that --exit-code turns into an exit code. An error
// weighs more than changes: what the plan shows is not all that was asked for.
func (p *plans) verdict() error {
	changes := false
	for _, d := range p.problems {
		if d.Severity == model.Error {
			return &silentError{errors.New("the plan has errors")}
		}
	}
	for _, one := range p.environments {
		changes = changes || len(one.Changes) > 0
		for _, problem := range one.Problems {
			if problem.Severity == model.Error {
				return &silentError{errors.New("the plan has errors")}
			}
		}
	}
	if changes {
		return &silentError{errPlanHasChanges}
	}
	return nil
}
