package ci

import (
	"fmt"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/spf13/cobra"
)

func (a *steps) promote() *cobra.Command {
	var p ci.Promotion
	var repo string
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
	f.StringVar(&repo, "repo", "", "the control plane; the workflow's own repository when not given")
	f.StringVar(&p.Environment, "environment", "", "the environment")
	f.StringVar(&p.Branch, "branch", "", "the environment's branch; its name when not given")
	f.StringVar(&p.Folder, "path", "", "the environment's folder in its branch")
	f.StringVar(&p.Commit, "commit", "", "the full commit ID; GITHUB_SHA when not given")
	return a.leaf(c, func(c *cobra.Command, s *step, _ []string) (err error) {
		if p.Repo, err = s.Repo(repo); err != nil {
			return err
		}
		if !c.Flags().Changed("commit") {
			p.Commit = s.Commit
		}
		p.URL, p.StatusURL, p.Now = s.CloneURL(p.Repo), s.RunURL(), a.now()
		forge, err := a.forge(s.Environment)
		if err != nil {
			return err
		}
		promoted, err := ci.Promote(c.Context(), forge, p)
		if err != nil {
			return err
		}
		if promoted {
			a.Messagef("promoted %.8s to %s", p.Commit, p.Environment)
		} else {
			a.Messagef("%s has %.8s already", p.Environment, p.Commit)
		}
		return s.set(output{"promoted", yesNo(promoted)})
	})
}

func (a *steps) promotedCommit() *cobra.Command {
	var p ci.Push
	c := &cobra.Command{
		Use:   "promoted-commit",
		Short: "Print which commit of the control plane a push to a GitOps branch has promoted",
		Long: `Print which commit of the control plane the push that has started the workflow
brings to a GitOps branch: the one in the scheduler's tracking file, when the
push has changed it, or else nothing.

Output: promoted_commit_id. It is printed, too.`,
		Example: `  kalypso ci promoted-commit`,
	}
	c.Flags().StringVar(&p.Folder, "path", "", "the folder of the manifests in the branch")
	return a.leaf(c, func(c *cobra.Command, s *step, _ []string) error {
		name, err := s.Repo("")
		if err != nil {
			return err
		}
		p.URL, p.Commit = s.CloneURL(name), s.Commit
		if p.Before, err = s.Before(); err != nil {
			return err
		}
		forge, err := a.forge(s.Environment)
		if err != nil {
			return err
		}
		commit, err := ci.PromotedCommit(c.Context(), forge, p)
		if err != nil {
			return err
		}
		if commit == "" {
			a.Messagef("the push promotes nothing: it is about assignments or configuration alone")
		} else {
			fmt.Fprintln(a.Out, commit)
		}
		return s.set(output{"promoted_commit_id", commit})
	})
}

func (a *steps) startWorkflow() *cobra.Command {
	var w ci.WorkflowStart
	var repo string
	c := &cobra.Command{
		Use:   "start-workflow FILE [NAME=VALUE ...]",
		Short: "Start another workflow, here or in another repository",
		Long: `Start a workflow that has workflow_dispatch among its triggers, with inputs, and
do not wait for it. In another repository this needs KALYPSO_CI_TOKEN.`,
		Example: `  kalypso ci start-workflow cd.yaml environment=stage promoted_commit_id=4f1d...
  kalypso ci start-workflow --repo kalypso-control-plane check-promote.yaml environment=dev commit_id=4f1d...`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf("usage: %s\nSee `%s --help`.", c.UseLine(), c.CommandPath())
			}
			return nil
		},
	}
	c.Flags().StringVar(&repo, "repo", "", "the repository; the workflow's own when not given")
	c.Flags().StringVar(&w.Ref, "ref", "main", "the branch that the workflow is taken from")
	return a.leaf(c, func(c *cobra.Command, s *step, args []string) (err error) {
		w.File = args[0]
		if w.Inputs, err = ci.ParseInputs(args[1:]); err != nil {
			return err
		}
		if w.Repo, err = s.Repo(repo); err != nil {
			return err
		}
		forge, err := a.forge(s.Environment)
		if err != nil {
			return err
		}
		if err := ci.StartWorkflow(c.Context(), forge, w); err != nil {
			return err
		}
		a.Messagef("started %s of %s", w.File, w.Repo)
		return nil
	})
}

func (a *steps) deployedVersion() *cobra.Command {
	var repo, branch string
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
	c.Flags().StringVar(&repo, "repo", "", "the GitOps repository; the workflow's own when not given")
	c.Flags().StringVar(&branch, "branch", "", "the branch; the pushed commit when not given")
	return a.leaf(c, func(c *cobra.Command, s *step, _ []string) error {
		name, err := s.Repo(repo)
		if err != nil {
			return err
		}
		at, before := model.Reference{Repo: s.CloneURL(name), Branch: branch}, ""
		if branch == "" {
			if at.Commit = s.Commit; at.Commit == "" {
				return usage.New("the version on which branch? Give --branch, or set GITHUB_SHA as a runner does")
			}
			if before, err = s.Before(); err != nil {
				return err
			}
		}
		forge, err := a.forge(s.Environment)
		if err != nil {
			return err
		}
		version, isNew, err := ci.DeployedVersion(c.Context(), forge, at, before)
		if err != nil {
			return err
		}
		if version == (ci.Version{}) {
			a.Messagef("nothing has been deployed there yet")
		} else {
			fmt.Fprintln(a.Out, version.Version)
		}
		return s.set(output{"version", version.Version}, output{"commit_id", version.Commit}, output{"new", yesNo(isNew)})
	})
}
