package recipe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/sandbox/components"
)

// crds are the definitions that the controllers need: of the two kinds that
// are reconciled, and of the other sources, which the Kustomization reconciler
// watches whether they are used or not. The value says whether the tutorials'
// old API version is served too.
var crds = map[string]map[string]bool{
	"github.com/fluxcd/source-controller": {
		"source.toolkit.fluxcd.io_gitrepositories.yaml": true,
		"source.toolkit.fluxcd.io_ocirepositories.yaml": false,
		"source.toolkit.fluxcd.io_buckets.yaml":         false,
	},
	"github.com/fluxcd/kustomize-controller": {
		"kustomize.toolkit.fluxcd.io_kustomizations.yaml": true,
	},
}

// managers are the files with what a controller is run with in a cluster, the
// last of which has its version. Each controller's are in a folder of its name.
var managers = map[string][]string{
	"github.com/fluxcd/source-controller":    {"deployment.yaml", "service.yaml", "kustomization.yaml"},
	"github.com/fluxcd/kustomize-controller": {"deployment.yaml", "kustomization.yaml"},
}

// Flux is source-controller and kustomize-controller in one program, their
// resource definitions in the folder crds, and what they are run with in a
// cluster in the folder manager.
func Flux() Recipe {
	return Recipe{
		Name:     "flux",
		Revision: 2,
		Lists:    []string{fmt.Sprint(crds, managers)},
		Versions: map[string]string{
			"source-controller":    "github.com/fluxcd/source-controller",
			"kustomize-controller": "github.com/fluxcd/kustomize-controller",
		},
		Finish: finishFlux,
	}
}

func finishFlux(ctx context.Context, b Bench) ([]components.License, error) {
	for name, files := range managers {
		m, err := findModule(ctx, b.Source, name)
		if err != nil {
			return nil, err
		}
		config := filepath.Join(m.Dir, "config")
		for _, file := range files {
			if err := copyTree(filepath.Join(config, "manager", file), filepath.Join(b.Out, "manager", path.Base(name), file)); err != nil {
				return nil, err
			}
		}
		if err := packDefinitions(filepath.Join(config, "crd", "bases"), filepath.Join(b.Out, "crds"), crds[name], serveOldVersion); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// packDefinitions copies resource definitions, and changes those that are marked.
func packDefinitions(from, to string, definitions map[string]bool, change func([]byte) ([]byte, error)) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for name, changed := range definitions {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil && changed {
			data, err = change(data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(to, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A resourceDefinition is a CustomResourceDefinition with what is changed in it.
type resourceDefinition struct {
	object, spec map[string]any
	versions     []map[string]any
}

func parseDefinition(text []byte) (d resourceDefinition, err error) {
	if err := yaml.Unmarshal(text, &d.object); err != nil {
		return d, err
	}
	d.spec, _ = d.object["spec"].(map[string]any)
	versions, _ := d.spec["versions"].([]any)
	for _, v := range versions {
		v, ok := v.(map[string]any)
		if !ok {
			return d, errors.New("a version is no object")
		}
		d.versions = append(d.versions, v)
	}
	if len(versions) == 0 {
		return d, errors.New("not a definition with versions")
	}
	return d, nil
}

// oldVersion is the API version that the tutorials' manifests are written in.
// Flux serves it no longer. What they use of it is unchanged in its successor.
const oldVersion = "v1beta2"

// serveOldVersion adds oldVersion to a resource definition: served, not
// stored, deprecated, with the schema of the stored version. Objects are
// converted by changing their apiVersion, so a field that only the old version
// had is unknown here, as it is to the controller.
func serveOldVersion(text []byte) ([]byte, error) {
	d, err := parseDefinition(text)
	if err != nil {
		return nil, err
	}
	names, _ := d.spec["names"].(map[string]any)
	if names["kind"] == nil {
		return nil, errors.New("not a definition with a kind")
	}
	if conversion, ok := d.spec["conversion"].(map[string]any); ok && conversion["strategy"] != "None" {
		return nil, fmt.Errorf("conversion strategy is %v, must be None", conversion["strategy"])
	}
	var stored map[string]any
	for _, v := range d.versions {
		if v["name"] == oldVersion {
			if v["served"] == true {
				return text, nil
			}
			return nil, fmt.Errorf("%s is defined, but not served", oldVersion)
		}
		if v["storage"] == true {
			stored = v
		}
	}
	if stored == nil {
		return nil, errors.New("no version is stored")
	}
	old := maps.Clone(stored)
	old["name"], old["served"], old["storage"], old["deprecated"] = oldVersion, true, false, true
	old["deprecationWarning"] = fmt.Sprintf("%v/%s %v is served here for old manifests only, and is gone from Flux; use %v/%v",
		d.spec["group"], oldVersion, names["kind"], d.spec["group"], stored["name"])
	d.spec["versions"] = append(d.versions, old)
	d.spec["conversion"] = map[string]any{"strategy": "None"}
	return yaml.Marshal(d.object)
}
