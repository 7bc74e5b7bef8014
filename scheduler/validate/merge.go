package validate

import (
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// merge makes one finding of equal ones, which lists all their environments
// and assignments, and drops what only some environments find unused. The
// result is sorted.
func merge(findings []Finding, all []*examination) []Finding {
	type key struct {
		rule          string
		severity      model.Severity
		position      model.Position
		message, hint string
	}
	var merged []*Finding
	byKey := map[key]*Finding{}
	used := usedSomewhere(findings, all)
	for _, f := range findings {
		if f.unused && used[unusedKey{f.Rule, f.object.id(), f.field}] {
			continue
		}
		k := key{f.Rule, f.Severity, f.Position, f.Message, f.Hint}
		if first := byKey[k]; first != nil {
			first.Environments = append(first.Environments, f.Environments...)
			first.Assignments = append(first.Assignments, f.Assignments...)
			continue
		}
		f.Environments, f.Assignments = slices.Clone(f.Environments), slices.Clone(f.Assignments)
		byKey[k] = &f
		merged = append(merged, &f)
	}
	out := make([]Finding, len(merged))
	for i, f := range merged {
		slices.Sort(f.Environments)
		f.Environments = slices.Compact(f.Environments)
		slices.SortFunc(f.Assignments, compareAssignments)
		f.Assignments = slices.Compact(f.Assignments)
		out[i] = *f
	}
	slices.SortFunc(out, compareFindings)
	return out
}

type unusedKey struct {
	rule   string
	object object
	field  string
}

// usedSomewhere returns what a rule calls unused in some of the environments
// that have it, and not in all.
func usedSomewhere(findings []Finding, all []*examination) map[unusedKey]bool {
	unusedIn := map[unusedKey]map[string]bool{}
	for _, f := range findings {
		if !f.unused {
			continue
		}
		k := unusedKey{f.Rule, f.object.id(), f.field}
		if unusedIn[k] == nil {
			unusedIn[k] = map[string]bool{}
		}
		for _, name := range f.Environments {
			unusedIn[k][name] = true
		}
	}
	has := map[object]map[string]bool{}
	for _, e := range all {
		for _, o := range e.objects {
			if has[o.id()] == nil {
				has[o.id()] = map[string]bool{}
			}
			has[o.id()][e.Model.Name] = true
		}
	}
	used := map[unusedKey]bool{}
	for k, environments := range unusedIn {
		used[k] = len(environments) < len(has[k.object])
	}
	return used
}
