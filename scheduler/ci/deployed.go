package ci

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Version is a version of a workload, and what it is made of.
type Version struct {
	Version string
	Commit  string // of the application's repository
}

// DeployedVersion returns the version that the descriptors on a branch of an
// application's GitOps repository are about, the zero Version when there are no
// descriptors, and whether it is another one than before a push. A push that
// changes the configuration alone has no new version, and nothing to promote.
func DeployedVersion(ctx context.Context, f Forge, at model.Reference, before string) (v Version, isNew bool, err error) {
	if v, err = described(ctx, f, at); err != nil || v == (Version{}) {
		return Version{}, false, err
	}
	var old Version
	if before != "" {
		old, err = described(ctx, f, model.Reference{Repo: at.Repo, Commit: before})
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return Version{}, false, err
		}
	}
	return v, v != old, nil
}

func described(ctx context.Context, f Forge, at model.Reference) (Version, error) {
	tree, err := f.Read(ctx, at)
	if err != nil {
		return Version{}, told(err, "descriptors of %s", at)
	}
	var found Version
	for _, name := range slices.Sorted(maps.Keys(tree.Files)) {
		if !strings.HasPrefix(name, descriptorsFolder+"/") || !strings.HasSuffix(name, ".yaml") {
			continue
		}
		var d descriptor
		if err := yaml.Unmarshal(tree.Files[name], &d); err != nil {
			return Version{}, fmt.Errorf("%s of %s: %w", name, at, err)
		}
		one := Version{d.Spec.WorkloadVersion.Version, d.Spec.WorkloadVersion.Commit}
		switch {
		case d.Kind != "DeploymentDescriptor":
			continue
		case found != Version{} && one != found:
			return Version{}, withHint(fmt.Errorf("the descriptors of %s are about different versions: %s and %s", at, found.Version, one.Version),
				"deploy one version to all deployment targets of the environment")
		}
		found = one
	}
	return found, nil
}
