package recipe

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

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
	return packCRDs(ctx, b)
}

func packManagers(ctx context.Context, b Bench) error {
	for module, files := range managers {
		m, err := findModule(ctx, b.Source, module)
		if err != nil {
			return err
		}
		to := filepath.Join(b.Out, "manager", path.Base(module))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		for _, name := range files {
			data, err := os.ReadFile(filepath.Join(m.Dir, "config", "manager", name))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(to, name), data, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func packCRDs(ctx context.Context, b Bench) ([]components.License, error) {
	to := filepath.Join(b.Out, "crds")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return nil, err
	}
	for module, files := range crds {
		m, err := findModule(ctx, b.Source, module)
		if err != nil {
			return nil, err
		}
		for name, old := range files {
			data, err := os.ReadFile(filepath.Join(m.Dir, "config", "crd", "bases", name))
			if err != nil {
				return nil, err
			}
			if old {
				if data, err = serveOldVersion(data); err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
			}
			if err := os.WriteFile(filepath.Join(to, name), data, 0o644); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}
