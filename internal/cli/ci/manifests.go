package ci

import (
	"context"
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

// renderOptions are those of `kalypso ci render`.
type renderOptions struct {
	step
	rendering ci.Rendering
}

func newRender(a *steps) *cobra.Command {
	o := &renderOptions{}
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
	f.StringVar(&o.rendering.Workload, "workload", defaultWorkload, "the file with the Workload object")
	f.StringVar(&o.rendering.Environment, "environment", "", "the environment")
	f.StringVar(&o.rendering.Chart, "chart", "helm", "the chart's folder")
	f.StringVar(&o.rendering.Configs, "configs", "", "the folder with the environment's values")
	f.StringVar(&o.rendering.Image, "image", "", "`NAME:TAG` for the values image.repository and image.tag")
	f.StringArrayVar(&o.rendering.Set, "set", nil, "a value, as helm takes it: `KEY=VALUE`")
	f.StringVar(&o.rendering.To, "to", defaultManifests, "the folder for the manifests")
	return a.leaf(c, &o.step, func(ctx context.Context) error { return runRender(ctx, o) })
}

func runRender(ctx context.Context, o *renderOptions) error {
	if name, tag, ok := strings.Cut(o.rendering.Image, ":"); ok && !strings.Contains(o.rendering.Image, "/") {
		full, err := ci.ImageName(o.Environment, name)
		if err != nil {
			return err
		}
		o.rendering.Image = full + ":" + tag
	}
	done, err := ci.Render(o.rendering)
	if err != nil {
		return err
	}
	for _, note := range done.Notes {
		o.Messagef("%s", note)
	}
	for _, file := range done.Files {
		fmt.Fprintf(o.Out, "%s/%s\n", o.rendering.To, file)
	}
	return o.set(output{"repo", done.Repo}, output{"branch", done.Branch})
}

// descriptorOptions are those of `kalypso ci descriptor`.
type descriptorOptions struct {
	step
	description ci.Description
	built       string
}

func newDescriptor(a *steps) *cobra.Command {
	o := &descriptorOptions{}
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
	f.StringVar(&o.description.Workload, "workload", defaultWorkload, "the file with the Workload object")
	f.StringVar(&o.description.Environment, "environment", "", "the environment")
	f.StringVar(&o.description.Version, "version", "", "the version that is deployed")
	f.StringVar(&o.description.Application, "application", "", "what the workload is a part of; itself when not given")
	f.StringVar(&o.description.Workspace, "workspace", "", "the team; the repository's owner when not given")
	f.StringVar(&o.description.Commit, "commit", "", "the commit that it is made of; GITHUB_SHA when not given")
	f.StringVar(&o.built, "build-time", "", "when it was built, as in 2026-01-31T12:00:00Z; now when not given")
	f.StringVar(&o.description.To, "to", defaultManifests, "the folder to write to")
	return a.leaf(c, &o.step, func(ctx context.Context) error { return runDescriptor(ctx, o) })
}

func runDescriptor(ctx context.Context, o *descriptorOptions) (err error) {
	o.description.Built = o.now()
	if o.built != "" {
		if o.description.Built, err = time.Parse(time.RFC3339, o.built); err != nil {
			return usage.Errorf("--build-time %s: write it as in 2026-01-31T12:00:00Z", o.built)
		}
	}
	if o.description.Commit == "" {
		o.description.Commit = o.Commit
	}
	if o.description.Workspace == "" {
		o.description.Workspace = o.Owner()
	}
	if o.RunNumber != "" {
		o.description.Build = "build-" + o.RunNumber
	}
	o.description.Source, o.description.Branch = o.CloneURL(o.Repository), o.Branch
	files, err := ci.Describe(o.description)
	if err != nil {
		return err
	}
	for _, file := range files {
		fmt.Fprintf(o.Out, "%s/%s\n", o.description.To, file)
	}
	return nil
}
