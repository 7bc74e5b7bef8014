// Package plan has the command that shows what the scheduler would change.
package plan

import (
	"context"
	"errors"
	"slices"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/view"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso plan`.
type Options struct {
	*cmdutil.App
	Model    cmdutil.ModelFlags
	Output   cmdutil.Output
	ExitCode bool // says whether there are changes
}

// NewCommand makes `kalypso plan`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
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
        "summary", "rollouts"}]}; a change has "path", "action" (add, modify or remove),
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
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.Model.Register(a, c, "all")
	o.Output.AddTo(c, "diff", "tree", "json")
	c.Flags().BoolVar(&o.ExitCode, "exit-code", false, "exit with 3 when there are changes, with 1 when there are errors")
	return c
}

// Run plans the environments and prints what would change.
func Run(ctx context.Context, o *Options) error {
	p, err := o.plan(ctx)
	if err != nil {
		return err
	}
	var v any
	if o.Output.String() == "json" {
		v = p.Document()
	}
	changes := writeDiff
	if o.Output.String() == "tree" {
		changes = writeTree
	}
	err = o.Output.Print(o.App, v, func() error { return print(o.Out, p, changes) })
	if err != nil || !o.ExitCode {
		return err
	}
	return verdict(p)
}

// verdict is the error that --exit-code turns into an exit code. An error
// weighs more than changes: what the plan shows is not all that was asked for.
func verdict(p *view.Plans) error {
	changes, failed := false, len(model.Errors(p.Problems)) > 0
	for _, one := range p.Environments {
		changes = changes || len(one.Changes) > 0
		failed = failed || slices.ContainsFunc(one.Problems, func(p plan.Problem) bool { return p.Severity == model.Error })
	}
	if failed {
		return cmdutil.Silent(errors.New("the plan has errors"))
	}
	if changes {
		return cmdutil.Silent(cmdutil.ErrChanges)
	}
	return nil
}

func (o *Options) plan(ctx context.Context) (*view.Plans, error) {
	w, err := o.Model.Open(ctx, o.App)
	if err != nil {
		return nil, err
	}
	names, err := o.Model.Several(ctx, w)
	if err != nil {
		return nil, err
	}
	p := &view.Plans{}
	if o.Model.Environment == "" {
		all, err := w.Environments(ctx)
		if err != nil {
			return nil, err
		}
		p.Problems = all.Diagnostics
	}
	for _, name := range names {
		one, err := view.Load(ctx, w, name)
		if err != nil {
			return nil, err
		}
		p.Environments = append(p.Environments, one)
	}
	return p, nil
}
