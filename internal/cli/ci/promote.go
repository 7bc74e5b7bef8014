package ci

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/spf13/cobra"
)

// promoteOptions are those of `kalypso ci promote`.
type promoteOptions struct {
	step
	promotion ci.Promotion
	repo      string
}

func newPromote(a *steps) *cobra.Command {
	o := &promoteOptions{}
	c := &cobra.Command{
		Use:   "promote",
		Short: "Promote a commit of the control plane to an environment",
		Long: `Set the commit in the BaseRepo of an environment's branch of the control plane:
from now on the environment takes templates and workloads as that commit has
them. The commit gets the status "Promoted".

Output: promoted, false when the environment has the commit already.`,
		Example: `  kalypso ci promote --environment stage --commit 4f1d...`,
	}
	f := c.Flags()
	f.StringVar(&o.repo, "repo", "", "the control plane; the workflow's own repository when not given")
	f.StringVar(&o.promotion.Environment, "environment", "", "the environment")
	f.StringVar(&o.promotion.Branch, "branch", "", "the environment's branch; its name when not given")
	f.StringVar(&o.promotion.Folder, "path", "", "the environment's folder in its branch")
	f.StringVar(&o.promotion.Commit, "commit", "", "the full commit ID; GITHUB_SHA when not given")
	return a.leaf(c, &o.step, func(ctx context.Context) error { return runPromote(ctx, o) })
}

func runPromote(ctx context.Context, o *promoteOptions) (err error) {
	if o.promotion.Repo, err = o.Repo(o.repo); err != nil {
		return err
	}
	if !o.given("commit") {
		o.promotion.Commit = o.Commit
	}
	o.promotion.URL, o.promotion.StatusURL, o.promotion.Now = o.CloneURL(o.promotion.Repo), o.RunURL(), o.now()
	forge, err := o.forge(o.Environment)
	if err != nil {
		return err
	}
	promoted, err := ci.Promote(ctx, forge, o.promotion)
	if err != nil {
		return err
	}
	if promoted {
		o.Messagef("promoted %.8s to %s", o.promotion.Commit, o.promotion.Environment)
	} else {
		o.Messagef("%s has %.8s already", o.promotion.Environment, o.promotion.Commit)
	}
	return o.set(output{"promoted", strconv.FormatBool(promoted)})
}

// promotedOptions are those of `kalypso ci promoted-commit`.
type promotedOptions struct {
	step
	push ci.Push
}

func newPromotedCommit(a *steps) *cobra.Command {
	o := &promotedOptions{}
	c := &cobra.Command{
		Use:   "promoted-commit",
		Short: "Print which commit of the control plane a push to a GitOps branch has promoted",
		Long: `Print which commit of the control plane the push that has started the workflow
brings to a GitOps branch: the one in the scheduler's tracking file, when the
push has changed it, or else nothing.

Output: promoted_commit_id. It is printed, too.`,
		Example: `  kalypso ci promoted-commit`,
	}
	c.Flags().StringVar(&o.push.Folder, "path", "", "the folder of the manifests in the branch")
	return a.leaf(c, &o.step, func(ctx context.Context) error { return runPromotedCommit(ctx, o) })
}

func runPromotedCommit(ctx context.Context, o *promotedOptions) error {
	name, err := o.Repo("")
	if err != nil {
		return err
	}
	o.push.URL, o.push.Commit = o.CloneURL(name), o.Commit
	if o.push.Before, err = o.Before(); err != nil {
		return err
	}
	forge, err := o.forge(o.Environment)
	if err != nil {
		return err
	}
	commit, err := ci.PromotedCommit(ctx, forge, o.push)
	if err != nil {
		return err
	}
	if commit == "" {
		o.Messagef("the push promotes nothing: it is about assignments or configuration alone")
	} else {
		fmt.Fprintln(o.Out, commit)
	}
	return o.set(output{"promoted_commit_id", commit})
}

// workflowOptions are those of `kalypso ci start-workflow`.
type workflowOptions struct {
	step
	start ci.WorkflowStart
	repo  string
}

func newStartWorkflow(a *steps) *cobra.Command {
	o := &workflowOptions{}
	c := &cobra.Command{
		Use:   "start-workflow FILE [NAME=VALUE ...]",
		Short: "Start another workflow, here or in another repository",
		Long: `Start a workflow that has workflow_dispatch among its triggers, with inputs, and
do not wait for it. In another repository this needs KALYPSO_CI_TOKEN.`,
		Example: `  kalypso ci start-workflow cd.yaml environment=stage promoted_commit_id=4f1d...
  kalypso ci start-workflow --repo kalypso-control-plane check-promote.yaml environment=dev commit_id=4f1d...`,
		Args: cmdutil.RangeArgs(1, math.MaxInt),
	}
	c.Flags().StringVar(&o.repo, "repo", "", "the repository; the workflow's own when not given")
	c.Flags().StringVar(&o.start.Ref, "ref", "main", "the branch that the workflow is taken from")
	return a.leaf(c, &o.step, func(ctx context.Context) error { return runStartWorkflow(ctx, o) })
}

func runStartWorkflow(ctx context.Context, o *workflowOptions) (err error) {
	o.start.File = o.args[0]
	if o.start.Inputs, err = ci.ParseInputs(o.args[1:]); err != nil {
		return err
	}
	if o.start.Repo, err = o.Repo(o.repo); err != nil {
		return err
	}
	forge, err := o.forge(o.Environment)
	if err != nil {
		return err
	}
	if err := ci.StartWorkflow(ctx, forge, o.start); err != nil {
		return err
	}
	o.Messagef("started %s of %s", o.start.File, o.start.Repo)
	return nil
}

// versionOptions are those of `kalypso ci deployed-version`.
type versionOptions struct {
	step
	repo, branch string
}

func newDeployedVersion(a *steps) *cobra.Command {
	o := &versionOptions{}
	c := &cobra.Command{
		Use:   "deployed-version",
		Short: "Print which version of a workload is on a branch of its GitOps repository",
		Long: `Print which version of a workload is on a branch of its GitOps repository, by the
descriptors there. Without --branch it is about the push that has started the
workflow.

Outputs: version, commit_id (what it is made of), new (false when the push has
brought the same version as before, with another configuration). The version is
printed.`,
		Example: `  kalypso ci deployed-version
  kalypso ci deployed-version --repo basic-inference-orchestration-gitops --branch dev`,
	}
	c.Flags().StringVar(&o.repo, "repo", "", "the GitOps repository; the workflow's own when not given")
	c.Flags().StringVar(&o.branch, "branch", "", "the branch; the pushed commit when not given")
	return a.leaf(c, &o.step, func(ctx context.Context) error { return runDeployedVersion(ctx, o) })
}

func runDeployedVersion(ctx context.Context, o *versionOptions) error {
	name, err := o.Repo(o.repo)
	if err != nil {
		return err
	}
	at, before := model.Reference{Repo: o.CloneURL(name), Branch: o.branch}, ""
	if o.branch == "" {
		if at.Commit = o.Commit; at.Commit == "" {
			return usage.New("the version on which branch? Give --branch, or set GITHUB_SHA as a runner does")
		}
		if before, err = o.Before(); err != nil {
			return err
		}
	}
	forge, err := o.forge(o.Environment)
	if err != nil {
		return err
	}
	version, isNew, err := ci.DeployedVersion(ctx, forge, at, before)
	if err != nil {
		return err
	}
	if version == (ci.Version{}) {
		o.Messagef("nothing has been deployed there yet")
	} else {
		fmt.Fprintln(o.Out, version.Version)
	}
	return o.set(output{"version", version.Version}, output{"commit_id", version.Commit}, output{"new", strconv.FormatBool(isNew)})
}
