package ci

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/kalypso-dev/kalypso/internal/usage"
)

// ManifestsFile is where the manifests of a deployment target go, in its
// folder.
const ManifestsFile = "gen_manifests.yaml"

const valuesFile = "values.yaml"

// Rendering says what to make manifests of.
type Rendering struct {
	Workload    string // file
	Environment string
	Chart       string // folder or archive
	// Configs is the folder with the environment's values: values.yaml for all
	// deployment targets and <target>/values.yaml for one of them. The
	// target's win.
	Configs string
	Image   string // NAME:TAG, becomes image.repository and image.tag
	Set     []string
	To      string // folder for the manifests
}

// Rendered is what Render has written.
type Rendered struct {
	Repo   string // URL of the repository that the manifests are for
	Branch string
	Files  []string // below Rendering.To
	// Notes are what users should know, such as targets without values.
	Notes []string
}

// Render renders the chart for each deployment target that the workload has in
// the environment, as `helm template` would, into the folder that the workload
// names for it. Release and namespace are the same for all, since where the
// manifests go is the platform's business: the release is called like the
// workload.
func Render(r Rendering) (Rendered, error) {
	workload, err := ReadWorkload(r.Workload)
	if err != nil {
		return Rendered{}, err
	}
	targets, err := workload.In(r.Environment)
	if err != nil {
		return Rendered{}, err
	}
	if r.To == "" {
		return Rendered{}, usage.Errorf("manifests to which folder? Give --to")
	}
	result := Rendered{Repo: targets[0].Repo, Branch: targets[0].Branch}
	for _, target := range targets {
		values, notes, err := r.values(target)
		if err != nil {
			return result, fmt.Errorf("values of deployment target %s: %w", target.Name, err)
		}
		result.Notes = append(result.Notes, notes...)
		manifests, err := template(r.Chart, workload.Name, values)
		if err != nil {
			return result, fmt.Errorf("deployment target %s: %w", target.Name, err)
		}
		file := path.Join(target.Folder, ManifestsFile)
		if err := writeFile(r.To, file, manifests); err != nil {
			return result, fmt.Errorf("manifests of deployment target %s: %w", target.Name, err)
		}
		result.Files = append(result.Files, file)
	}
	return result, nil
}

// values puts together what overrides the chart's own values.
func (r Rendering) values(target Target) (values map[string]any, notes []string, err error) {
	values = map[string]any{}
	if r.Configs != "" {
		if _, err := os.Stat(r.Configs); err != nil {
			return nil, nil, withHint(err, "check the environment's configs branch out into this folder ahead of this step")
		}
		found := false
		for _, name := range []string{valuesFile, filepath.Join(target.Name, valuesFile)} {
			if err := checkLink(r.Configs, name); err != nil {
				return nil, nil, err
			}
			file := filepath.Join(r.Configs, name)
			own, err := common.ReadValuesFile(file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", file, err)
			}
			found = true
			values = loader.MergeMaps(values, own)
		}
		if !found {
			notes = append(notes, fmt.Sprintf("deployment target %s has no %s in %s: it gets the chart's own values", target.Name, valuesFile, r.Configs))
		}
	}
	if r.Image != "" {
		name, tag, err := splitImage(r.Image)
		if err != nil {
			return nil, nil, err
		}
		values = loader.MergeMaps(values, map[string]any{"image": map[string]any{"repository": name, "tag": tag}})
	}
	for _, set := range r.Set {
		if err := strvals.ParseInto(set, values); err != nil {
			return nil, nil, usage.Errorf("--set %s: %v", set, err)
		}
	}
	return values, notes, nil
}

// splitImage takes NAME:TAG apart; the name may have a port.
func splitImage(image string) (name, tag string, err error) {
	colon := strings.LastIndexByte(image, ':')
	if colon <= 0 || strings.Contains(image[colon:], "/") || colon == len(image)-1 {
		return "", "", usage.Errorf("image %q is not of the form NAME:TAG", image)
	}
	return image[:colon], image[colon+1:], nil
}

// template is `helm template` of a chart without a cluster: custom resource
// definitions first, then the objects in the order of installation. Tests are
// left out, since nothing would run them; other hooks are not, but a reconciler
// knows nothing of their moment.
func template(folder, name string, values map[string]any) ([]byte, error) {
	if err := checkLinks(folder); err != nil { // the library follows them
		return nil, fmt.Errorf("chart %s: %w", folder, err)
	}
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

// writeFile writes a file below a folder and makes the folders on the way.
func writeFile(folder, name string, content []byte) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	name = filepath.FromSlash(name)
	for on := name; on != "."; on = filepath.Dir(on) { // the file itself, or what there is of its folders
		if err := checkLink(folder, on); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return root.WriteFile(name, content, 0o644)
}
