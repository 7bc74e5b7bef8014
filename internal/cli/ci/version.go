package ci

import (
	"fmt"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/spf13/cobra"
)

func (a *steps) deployedVersion() *cobra.Command {
	var repo, branch string
	c := &cobra.Command{
		Use:   "deployed-version",
		Short: "Tell which version of a workload is on a branch of its GitOps repository",
		Long: `Tell which version of a workload is on a branch of its GitOps repository, by the
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
