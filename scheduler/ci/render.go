package ci

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
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
	// Notes are what a person should know, such as targets without values.
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
		return Rendered{}, usage("manifests to which folder? Give --to")
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
		for _, file := range []string{filepath.Join(r.Configs, valuesFile), filepath.Join(r.Configs, target.Name, valuesFile)} {
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
			return nil, nil, usage("--set %s: %v", set, err)
		}
	}
	return values, notes, nil
}

// splitImage takes NAME:TAG apart; the name may have a port.
func splitImage(image string) (name, tag string, err error) {
	colon := strings.LastIndexByte(image, ':')
	if colon <= 0 || strings.Contains(image[colon:], "/") || colon == len(image)-1 {
		return "", "", usage("image %q is not of the form NAME:TAG", image)
	}
	return image[:colon], image[colon+1:], nil
}
