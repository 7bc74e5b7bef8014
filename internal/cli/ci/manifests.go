package ci

import (
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/spf13/cobra"
)

const (
	defaultWorkload  = "workload/workload.yaml"
	defaultManifests = "manifests"
)

func (a *steps) render() *cobra.Command {
	var r ci.Rendering
	c := &cobra.Command{
		Use:   "render",
		Short: "Make manifests of a Helm chart for each deployment target of an environment",
		Long: `Render a Helm chart for each deployment target that the Workload has in an
environment, as helm template does, into the folder that the Workload names for
its manifests: FOLDER/` + ci.ManifestsFile + `.

The values are the chart's own, over them CONFIGS/values.yaml, over these
CONFIGS/TARGET/values.yaml, then --image and --set. An image without a slash in
its name is one that build-image makes of this repository.

Outputs: repo and branch, where the Workload wants the manifests. The files are
printed.`,
		Example: `  kalypso ci render --environment dev --configs configs --image web:0.0.1-7
  kalypso ci render --environment dev --configs configs --image ghcr.io/acme/shop/web:0.0.1-7`,
	}
	f := c.Flags()
	f.StringVar(&r.Workload, "workload", defaultWorkload, "the file with the Workload object")
	f.StringVar(&r.Environment, "environment", "", "the environment")
	f.StringVar(&r.Chart, "chart", "helm", "the chart's folder")
	f.StringVar(&r.Configs, "configs", "", "the folder with the environment's values")
	f.StringVar(&r.Image, "image", "", "`NAME:TAG` for the values image.repository and image.tag")
	f.StringArrayVar(&r.Set, "set", nil, "a value, as helm takes it: `KEY=VALUE`")
	f.StringVar(&r.To, "to", defaultManifests, "the folder for the manifests")
	return a.leaf(c, func(_ *cobra.Command, s *step, _ []string) error {
		if name, tag, ok := strings.Cut(r.Image, ":"); ok && !strings.Contains(r.Image, "/") {
			full, err := ci.ImageName(s.Environment, name)
			if err != nil {
				return err
			}
			r.Image = full + ":" + tag
		}
		done, err := ci.Render(r)
		if err != nil {
			return err
		}
		for _, note := range done.Notes {
			a.Messagef("%s", note)
		}
		for _, file := range done.Files {
			fmt.Fprintf(a.Out, "%s/%s\n", r.To, file)
		}
		return s.set(output{"repo", done.Repo}, output{"branch", done.Branch})
	})
}

func (a *steps) descriptor() *cobra.Command {
	var d ci.Description
	var built string
	c := &cobra.Command{
		Use:   "descriptor",
		Short: "Write down which version of a workload is deployed, for the observability hub",
		Long: `Write a DeploymentDescriptor (hub.kalypso.io/v1alpha1) for each deployment target
that the Workload has in an environment: which version of it, made of which
commit in which build, is deployed there. It goes to the folder descriptors,
beside those of the deployment targets, because clusters would not know it. The
files are printed.`,
		Example: `  kalypso ci descriptor --environment dev --version 0.0.1-7 --workspace kaizen-app-team`,
	}
	f := c.Flags()
	f.StringVar(&d.Workload, "workload", defaultWorkload, "the file with the Workload object")
	f.StringVar(&d.Environment, "environment", "", "the environment")
	f.StringVar(&d.Version, "version", "", "the version that is deployed")
	f.StringVar(&d.Application, "application", "", "what the workload is a part of; itself when not given")
	f.StringVar(&d.Workspace, "workspace", "", "the team; the repository's owner when not given")
	f.StringVar(&d.Commit, "commit", "", "the commit that it is made of; GITHUB_SHA when not given")
	f.StringVar(&built, "build-time", "", "when it was built, as in 2026-01-31T12:00:00Z; now when not given")
	f.StringVar(&d.To, "to", defaultManifests, "the folder to write to")
	return a.leaf(c, func(_ *cobra.Command, s *step, _ []string) (err error) {
		d.Built = a.now()
		if built != "" {
			if d.Built, err = time.Parse(time.RFC3339, built); err != nil {
				return usage.Errorf("--build-time %s: write it as in 2026-01-31T12:00:00Z", built)
			}
		}
		if d.Commit == "" {
			d.Commit = s.Commit
		}
		if d.Workspace == "" {
			d.Workspace = s.Owner()
		}
		if s.RunNumber != "" {
			d.Build = "build-" + s.RunNumber
		}
		d.Source, d.Branch = s.CloneURL(s.Repository), s.Branch
		files, err := ci.Describe(d)
		if err != nil {
			return err
		}
		for _, file := range files {
			fmt.Fprintf(a.Out, "%s/%s\n", d.To, file)
		}
		return nil
	})
}
