package validate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Trees reads once more what an environment was loaded from: its own branch
// and its base repositories, but not those of its workloads, which belong to
// others. The reader should be the one that the environment was loaded with;
// a repository that is not there is left out, because the model has reported
// it.
func Trees(ctx context.Context, r model.Reader, env *model.Environment) ([]Source, error) {
	var sources []Source
	for _, ref := range env.Sources {
		if isWorkload(env, ref) {
			continue
		}
		tree, err := r.Read(ctx, ref)
		if errors.Is(err, model.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s of environment %s: %w", ref, env.Name, err)
		}
		sources = append(sources, Source{Reference: ref, Tree: tree})
	}
	return sources, nil
}

// isWorkload says whether a source was read for a registration only: for what
// that says, or for what somebody has given in its place.
func isWorkload(env *model.Environment, ref model.Reference) bool {
	if sameFolder(ref, env.ControlPlane) {
		return false
	}
	registered := slices.ContainsFunc(env.Registrations, func(r model.WorkloadRegistration) bool {
		w := r.Spec.Workload
		return sameFolder(ref, model.Reference{Repo: w.Repo, Branch: w.Branch, Path: w.Path})
	})
	return registered || slices.ContainsFunc(env.Workloads, func(w model.Workload) bool {
		at := w.Position
		return at.Repo != w.Registration.Spec.Workload.Repo && at.Repo == ref.Repo && at.Branch == ref.Branch && within(at.File, ref.Path)
	})
}

// sameFolder says whether two references name the same place, at whatever
// commit.
func sameFolder(a, b model.Reference) bool {
	return a.Repo == b.Repo && a.Branch == b.Branch && cleanFolder(a.Path) == cleanFolder(b.Path)
}
