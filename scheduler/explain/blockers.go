package explain

import (
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// blockers returns the errors that may be why a target is not there, the
// closest ones there are: those about registrations that have led to no
// workload, first of the registrations whose name the target's begins with,
// then of all; then those of workloads that were read elsewhere than their
// registration says; then all.
func (x *explainer) blockers(asked string) []model.Diagnostic {
	var named, registrations, elsewhere []model.Diagnostic
	errors := model.Errors(x.env.Diagnostics)
	for _, r := range x.env.Registrations {
		if x.registered(r) {
			continue
		}
		for _, d := range errors {
			switch {
			case !concerns(d, r):
				if !sameBranch(d, x.env.ControlPlane.Repo, x.env.ControlPlane.Branch) && !sameBranch(d, r.Position.Repo, r.Position.Branch) {
					elsewhere = append(elsewhere, d)
				}
			case asked == r.Name, strings.HasPrefix(asked, r.Name+"-"), strings.HasPrefix(asked, r.Name+"/"):
				named = append(named, d)
			default:
				registrations = append(registrations, d)
			}
		}
	}
	for _, found := range [][]model.Diagnostic{named, registrations, elsewhere} {
		if len(found) > 0 {
			return ordered(found)
		}
	}
	return errors
}

func sameBranch(d model.Diagnostic, repo, branch string) bool {
	return d.Position.Repo == repo && d.Position.Branch == branch
}

func (x *explainer) registered(r model.WorkloadRegistration) bool {
	return slices.ContainsFunc(x.env.Workloads, func(workload model.Workload) bool {
		return workload.Registration.Name == r.Name
	})
}

// concerns reports whether an error is about a registration's document or
// anything at the place that it names.
func concerns(d model.Diagnostic, r model.WorkloadRegistration) bool {
	file := d.Position.File
	if sameBranch(d, r.Position.Repo, r.Position.Branch) && file == r.Position.File {
		return true
	}
	folder := r.Spec.Workload
	return sameBranch(d, folder.Repo, folder.Branch) && model.Within(file, folder.Path)
}

func ordered(diagnostics []model.Diagnostic) []model.Diagnostic {
	slices.SortStableFunc(diagnostics, func(a, b model.Diagnostic) int {
		return model.ComparePositions(a.Position, b.Position)
	})
	return slices.Compact(diagnostics)
}
