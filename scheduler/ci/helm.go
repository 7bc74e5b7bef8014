package ci

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

// template is `helm template` of a chart without a cluster: custom resource
// definitions first, then the objects in the order of installation. Tests are
// left out, since nobody would run them; other hooks are not, but a reconciler
// knows nothing of their moment.
func template(folder, name string, values map[string]any) ([]byte, error) {
	c, err := loader.Load(folder)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", folder, err)
	}
	if err := complete(c); err != nil {
		return nil, fmt.Errorf("chart %s: %w", folder, err)
	}
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, fmt.Errorf("dependencies of chart %s: %w", folder, err)
	}
	options := common.ReleaseOptions{Name: name, Namespace: "default", Revision: 1, IsInstall: true}
	top, err := util.ToRenderValues(c, values, options, nil)
	if err != nil {
		return nil, fmt.Errorf("values of chart %s: %w", folder, err)
	}
	files, err := engine.Render(c, top)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", folder, err)
	}
	for file := range files {
		if path.Base(file) == "NOTES.txt" {
			delete(files, file)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", folder, err)
	}
	var out bytes.Buffer
	write := func(source, content string) {
		fmt.Fprintf(&out, "---\n# Source: %s\n%s\n", source, strings.TrimRight(content, "\n"))
	}
	for _, definition := range c.CRDObjects() {
		write(definition.Filename, string(definition.File.Data))
	}
	for _, manifest := range manifests {
		write(manifest.Name, manifest.Content)
	}
	for _, hook := range hooks {
		if !slices.Contains(hook.Events, release.HookTest) {
			write(hook.Path, hook.Manifest)
		}
	}
	if out.Len() == 0 {
		return nil, fmt.Errorf("chart %s makes no objects of these values", folder)
	}
	return out.Bytes(), nil
}

// complete makes sure that all dependencies are in the chart's folder: nothing
// is downloaded while a workflow renders.
func complete(c *chart.Chart) error {
	var missing []string
	for _, needed := range c.Metadata.Dependencies {
		there := slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return d.Name() == needed.Name })
		if !there {
			missing = append(missing, needed.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return withHint(fmt.Errorf("its dependencies %s are not in its folder charts", strings.Join(missing, ", ")),
		"run `helm dependency build` and commit the folder charts")
}
