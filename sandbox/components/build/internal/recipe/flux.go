package recipe

import (
	"context"
	"errors"
	"fmt"
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
	if err := packManagers(ctx, b); err != nil {
		return nil, err
	}
	return nil, packCRDs(ctx, b)
}

func packManagers(ctx context.Context, b Bench) error {
	for module, files := range managers {
		m, err := findModule(ctx, b.Source, module)
		if err != nil {
			return err
		}
		to := filepath.Join(b.Out, "manager", path.Base(module))
		for _, name := range files {
			if err := copyTree(filepath.Join(m.Dir, "config", "manager", name), filepath.Join(to, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func packCRDs(ctx context.Context, b Bench) error {
	to := filepath.Join(b.Out, "crds")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for module, files := range crds {
		m, err := findModule(ctx, b.Source, module)
		if err != nil {
			return err
		}
		for name, old := range files {
			data, err := os.ReadFile(filepath.Join(m.Dir, "config", "crd", "bases", name))
			if err != nil {
				return err
			}
			if old {
				if data, err = serveOldVersion(data); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			if err := os.WriteFile(filepath.Join(to, name), data, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// oldVersion is the API version that the tutorials' manifests are written in.
// Flux serves it no longer. What they use of it is unchanged in its successor.
const oldVersion = "v1beta2"

// serveOldVersion adds oldVersion to a resource definition: served, not
// stored, deprecated, with the schema of the stored version. Objects are
// converted by changing their apiVersion, so a field that only the old version
// had is unknown here, as it is to the controller.
func serveOldVersion(definition []byte) ([]byte, error) {
	var crd map[string]any
	if err := yaml.Unmarshal(definition, &crd); err != nil {
		return nil, err
	}
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	names, _ := spec["names"].(map[string]any)
	if len(versions) == 0 || names["kind"] == nil {
		return nil, errors.New("not a definition with kind and versions")
	}
	if conversion, ok := spec["conversion"].(map[string]any); ok && conversion["strategy"] != "None" {
		return nil, fmt.Errorf("conversion strategy is %v, must be None", conversion["strategy"])
	}
	var stored map[string]any
	for _, v := range versions {
		v, _ := v.(map[string]any)
		if v["name"] == oldVersion {
			if v["served"] == true {
				return definition, nil
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
	old := make(map[string]any, len(stored)+2)
	for k, v := range stored {
		old[k] = v
	}
	old["name"] = oldVersion
	old["served"] = true
	old["storage"] = false
	old["deprecated"] = true
	old["deprecationWarning"] = fmt.Sprintf("%v/%s %v is served here for old manifests only, and is gone from Flux; use %v/%v",
		spec["group"], oldVersion, names["kind"], spec["group"], stored["name"])
	spec["versions"] = append(versions, old)
	spec["conversion"] = map[string]any{"strategy": "None"}
	return yaml.Marshal(crd)
}
