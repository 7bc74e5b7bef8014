package source

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// checkBase finds a base that was given for an environment that has no use of
// it.
func (w *World) checkBase(l *loading) error {
	if w.base == nil || len(l.bases) == 0 || slices.Contains(l.bases, mainBase) {
		return nil
	}
	return &Error{
		Message: fmt.Sprintf("a base repository is given, which stands for the BaseRepo named %s, and environment %s has only %s",
			mainBase, l.env.Name, strings.Join(l.bases, ", ")),
	}
}

// checkWorkloads finds workloads that were given under names that no
// registration has. One that only other environments know has perhaps not been
// promoted to this one yet, which is worth a warning; one that none knows is an
// error, unless the registrations could not all be read.
func (w *World) checkWorkloads(ctx context.Context, l *loading, e *environments) error {
	known := slices.Clone(l.registrations)
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(w.workloads)) {
		if !slices.Contains(known, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	incomplete := hasErrors(l.env)
	for _, o := range e.objects {
		if o.Name == l.env.Name || incomplete {
			continue
		}
		c := o.Spec.ControlPlane
		other, err := w.load(ctx, o.Name, model.Reference{Repo: c.Repo, Branch: c.Branch, Path: c.Path}, e)
		if err != nil {
			return err
		}
		known = append(known, other.registrations...)
		incomplete = hasErrors(other.env)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, name := range missing {
		if !incomplete && !slices.Contains(known, name) {
			return unknown("workload registration", name, known)
		}
		l.env.Diagnostics = append(l.env.Diagnostics, model.Diagnostic{
			Severity: model.Warning,
			Position: model.Position{Repo: l.env.ControlPlane.Repo, Branch: l.env.ControlPlane.Branch},
			Message:  fmt.Sprintf("no workload is registered as %s in environment %s, so what was given for it has no effect", name, l.env.Name),
			Hint:     "promote the registration to this environment first",
		})
	}
	slices.SortStableFunc(l.env.Diagnostics, func(a, b model.Diagnostic) int {
		return model.ComparePositions(a.Position, b.Position)
	})
	return nil
}

// hasErrors says whether something of an environment could not be read. A file
// that holds nothing does not count, since it is no place to look for a name.
func hasErrors(env *model.Environment) bool {
	return slices.ContainsFunc(env.Diagnostics, func(d model.Diagnostic) bool { return d.Severity == model.Error })
}
