package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// Placeholder is what the tutorials' texts have where an organisation's name
// belongs.
const Placeholder = "YOUR_ORG"

func notFoundHint(ref Reference) string {
	if strings.Contains(ref.Repo, Placeholder) {
		return "replace " + Placeholder + " by your organisation's name"
	}
	return "check the spelling, or create it"
}

func (l *loader) loadWorkloads(ctx context.Context) error {
	refs := make([]Reference, len(l.env.Registrations))
	for i, registration := range l.env.Registrations {
		var err error
		refs[i], err = l.substituted(ctx, v1alpha1.KindWorkloadRegistration, registration.Name, reference(registration.Spec.Workload))
		if err != nil {
			return err
		}
	}
	if err := l.reads.prefetch(ctx, refs); err != nil {
		return l.registeredAt(err, refs)
	}
	own := slices.Clone(l.env.Sources)
	l.cache.left = math.MaxInt // what there may be of these, reads.keep has limited
	all := make([]Workload, 0, len(refs))
	l.env.Sources = slices.Grow(l.env.Sources, len(refs))
	for i, registration := range l.env.Registrations {
		tree, err := l.read(ctx, refs[i])
		if l.reads.leavesOut(ctx, err) {
			l.all.findings.add(v1alpha1.KindWorkloadRegistration, l.reads.leftOut(refs[i], err, registration.At("spec", "workload", "repo")))
			if !isInput(err) {
				l.env.Unreadable = append(l.env.Unreadable, fmt.Errorf("%s: %w", registration.At("spec", "workload", "repo"), err))
			}
			continue
		}
		if err != nil {
			return err
		}
		if tree == nil {
			l.all.findings.add(v1alpha1.KindWorkloadRegistration, notFound(refs[i], registration.At("spec", "workload", "repo")))
			continue
		}
		isOwn := slices.ContainsFunc(own, func(o Reference) bool { return o.Repo == refs[i].Repo && o.Branch == refs[i].Branch })
		for _, object := range l.registered(tree, refs[i].Path, registration, isOwn) {
			all = append(all, Workload{Object: object, Registration: registration})
		}
	}
	l.env.Workloads = sorted(unique(v1alpha1.KindWorkload, l.registeredOnce(all), &l.all.findings))
	return nil
}

// registeredAt adds to an error about a repository where it is registered: a
// mistake there may be all that is wrong.
func (l *loader) registeredAt(err error, refs []Reference) error {
	var unread *readError
	if !errors.As(err, &unread) {
		return err
	}
	for i, registration := range l.env.Registrations {
		if key(refs[i]) == key(unread.ref) {
			return fmt.Errorf("%s: %w", registration.At("spec", "workload", "repo"), err)
		}
	}
	return err
}

// registeredOnce drops a workload that two registrations point to, except for
// the first of them, and reports the other. What is kept stays in all's array.
func (l *loader) registeredOnce(all []Workload) []Workload {
	first := make(map[Position]int, len(all))
	kept := all[:0]
	for _, workload := range all {
		i, found := first[workload.Position]
		if !found {
			first[workload.Position] = len(kept)
			kept = append(kept, workload)
			continue
		}
		earlier := kept[i].Registration
		l.all.findings.add(v1alpha1.KindWorkloadRegistration, errorAt(DuplicateObject, workload.Registration.Position, "remove one of the registrations; until then only the other one counts",
			"Workload %s is already registered at %s", workload.Name, earlier.Position))
	}
	return kept
}

// registered returns the workloads in a registration's folder. All else of the
// platform model is reported there, unless the repository is one of the platform's
// own.
func (l *loader) registered(tree *Tree, folder string, registration WorkloadRegistration, isOwn bool) []Object[v1alpha1.WorkloadSpec] {
	f := &l.all.findings
	before, config, schemas := len(f.diagnostics), f.configIncomplete, f.schemasIncomplete
	found := make([]Object[v1alpha1.WorkloadSpec], 0, 1) // nearly always
	for _, doc := range l.cache.documents(tree, folder, f, nil) {
		if doc.kind == v1alpha1.KindWorkload {
			keep(doc, f, &found, checkLimits, checkTargets)
		} else if !isOwn {
			f.add(doc.kind, misplaced(doc))
		}
	}
	if len(found) == 0 && len(Errors(f.diagnostics[before:])) == 0 {
		f.add(v1alpha1.KindWorkloadRegistration, l.noWorkload(tree, folder, registration))
	}
	f.configIncomplete, f.schemasIncomplete = config, schemas // none is read from here
	return found
}

// misplaced reports an object of the platform team in the repository of an
// application team, which must not configure the platform.
func misplaced(doc document) Diagnostic {
	hint := "move it to the control plane"
	if doc.kind == v1alpha1.KindConfigSchema {
		hint = "move it to the control plane, or write the schema into the workload's configSchemas"
	}
	return warningAt(MisplacedObject, doc.position, hint, "a %s is not read from the repository of a workload", doc.kind)
}

// noWorkload reports a registration whose path holds no Workload, and where in
// the repository there is one.
func (l *loader) noWorkload(tree *Tree, folder string, registration WorkloadRegistration) Diagnostic {
	hint := "put a Workload there, or correct the path"
	for _, doc := range l.cache.documents(tree, "", &findings{}, nil) {
		if doc.kind == v1alpha1.KindWorkload {
			hint = fmt.Sprintf("there is one in %s", doc.position.File)
			break
		}
	}
	for _, s := range tree.Skipped {
		if Within(folder, s.Path) {
			hint = fmt.Sprintf("%s is a %s, which is not followed", s.Path, s.What)
		}
	}
	return errorAt(MissingWorkload, registration.At("spec", "workload", "path"), hint,
		"there is no Workload at %q in %s@%s", folder, repoName(tree.Repo), tree.Branch)
}
