package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// target is a deployment target with all that planning needs of it.
type target struct {
	Target
	id         int64 // from 1; no other target of the planner has it
	manifests  map[string]string
	schemas    []schema
	duplicates []model.Position // other targets with the same name
	badTexts   []Problem        // in the workload's labels and manifests

	object model.Object[v1alpha1.WorkloadSpec] // the workload
	index  int                                 // of the target in there

	// Caches of a planner, each with what it was computed from.
	asked     *policies
	selecting []int32 // the numbers of the policies that select the target
	indexedBy *labelIndex
	offered   *labelSet
}

type targetSet struct {
	sorted     []*target
	duplicates bool              // some share a name
	workloads  []workloadTargets // sorted by the workload's name
}

type workloadTargets struct {
	workload *model.Workload
	targets  []*target // never nil once they are known
}

// next returns the environment's deployment targets, sorted by name. Those of
// a workload that has not changed are the same as before.
//
// The name joins two names by "-", so two targets may share one, and the owner of
// a folder of that name is unknown: all of them are marked.
func (s *targetSet) next(env *model.Environment, id func() int64) *targetSet {
	n := &targetSet{workloads: make([]workloadTargets, len(env.Workloads))}
	for i := range n.workloads {
		n.workloads[i].workload = &env.Workloads[i]
	}
	gone := s.keep(n)
	var changed []*workloadTargets
	for i := range n.workloads {
		if n.workloads[i].targets == nil {
			changed = append(changed, &n.workloads[i])
		}
	}
	inParallel(len(changed), func(i int) { changed[i].targets = targetsFrom(changed[i].workload, env.Name) })
	var added []*target
	for _, g := range changed {
		for _, t := range g.targets {
			t.id = id()
			added = append(added, t)
		}
	}
	if s != nil && s.replace(n, gone, added) {
		return n
	}
	n.sorted = make([]*target, 0, len(n.workloads))
	for _, g := range n.workloads {
		n.sorted = append(n.sorted, g.targets...)
	}
	slices.SortFunc(n.sorted, compareTargets)
	n.duplicates = markDuplicates(n.sorted)
	return n
}

// keep gives the unchanged workloads of the next set the targets that they have in
// this one, and returns the other targets of this one. Both sets are in order, so
// that no name is looked up: a fleet has many.
func (s *targetSet) keep(n *targetSet) (gone []*target) {
	if s == nil {
		return nil
	}
	old := s.workloads
	for i := range n.workloads {
		g := &n.workloads[i]
		for len(old) > 0 && old[0].workload.Name < g.workload.Name {
			gone, old = append(gone, old[0].targets...), old[1:]
		}
		if len(old) > 0 && old[0].workload.Name == g.workload.Name && sameWorkload(old[0].workload, g.workload) {
			g.targets, old = old[0].targets, old[1:]
		}
	}
	for _, g := range old {
		gone = append(gone, g.targets...)
	}
	return gone
}

func compareTargets(a, b *target) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Workload, b.Workload), model.ComparePositions(a.Position, b.Position))
}

// replace sorts the targets of the next set by taking from this one those that
// are gone and putting in those that are new. It returns false where sorting is
// simpler.
func (s *targetSet) replace(n *targetSet, gone, added []*target) bool {
	const few = 100
	if s.duplicates || len(gone)+len(added) > few {
		return false
	}
	if len(gone)+len(added) == 0 {
		n.sorted = s.sorted
		return true
	}
	sorted := make([]*target, 0, len(s.sorted)+len(added))
	for _, t := range s.sorted {
		if !slices.Contains(gone, t) {
			sorted = append(sorted, t)
		}
	}
	for _, t := range added {
		i, found := slices.BinarySearchFunc(sorted, t.Name, func(other *target, name string) int { return cmp.Compare(other.Name, name) })
		if found {
			return false
		}
		sorted = slices.Insert(sorted, i, t)
	}
	n.sorted = sorted
	return true
}

func sameWorkload(a, b *model.Workload) bool {
	return a.Same(b.Object) && a.Registration.Same(b.Registration)
}

func targetsFrom(workload *model.Workload, environment string) []*target {
	targets := []*target{}
	for i, spec := range workload.Spec.DeploymentTargets {
		if spec.Environment != environment {
			continue
		}
		path := []string{"spec", "deploymentTargets", strconv.Itoa(i)}
		labels := make(map[string]string, len(spec.Labels)+len(workload.Labels)+2)
		maps.Copy(labels, spec.Labels)
		maps.Copy(labels, workload.Labels)
		labels[WorkloadLabel] = workload.Name
		labels[WorkspaceLabel] = workload.Registration.Spec.Workspace
		t := &target{
			Target: Target{
				Name:      workload.Name + "-" + spec.Name,
				Workload:  workload.Name,
				Workspace: workload.Registration.Spec.Workspace,
				Labels:    labels,
				Position:  workload.At(append(path, "name")...),

				WorkloadLabels: workload.Labels,
			},
			manifests: spec.Manifests,
			object:    workload.Object,
			index:     i,
		}
		t.badTexts = textProblems(t, workload)
		for n, text := range spec.ConfigSchemas {
			at := workload.At(append(slices.Clone(path), "configSchemas", strconv.Itoa(n))...)
			t.schemas = append(t.schemas, schema{text: text, position: at})
		}
		for n, text := range workload.Spec.ConfigSchemas {
			t.schemas = append(t.schemas, schema{text: text, position: workload.At("spec", "configSchemas", strconv.Itoa(n))})
		}
		targets = append(targets, t)
	}
	return targets
}

// markDuplicates replaces targets that share a name by copies that know each other,
// and says whether there are any.
func markDuplicates(sorted []*target) (found bool) {
	for first := 0; first < len(sorted); {
		end := first + 1
		for end < len(sorted) && sorted[end].Name == sorted[first].Name {
			end++
		}
		if end > first+1 {
			group := slices.Clone(sorted[first:end])
			found = true
			for i := range group {
				marked := *group[i]
				for j, other := range group {
					if i != j {
						marked.duplicates = append(marked.duplicates, other.Position)
					}
				}
				sorted[first+i] = &marked
			}
		}
		first = end
	}
	return found
}

// Kalypso joins names by "-": a deployment target's from its workload's and its
// own, a namespace's from three. What is joined grows long, and two lists of
// names can join to the same text.

// nameProblems finds what is wrong with the names that an assignment's objects
// get. Kubernetes takes 63 characters for most names.
func nameProblems(p pair) []Problem {
	const limit = validation.DNS1123LabelMaxLength
	var problems []Problem
	if name := p.clusterType.Name; len(name) > limit {
		problems = append(problems, newProblem(model.Error, InvalidName, p.clusterType.At("metadata", "name"), "shorten it",
			"the name of cluster type %s has %d characters, %d is the limit", name, len(name), limit))
	}
	return append(problems, targetProblems(p.target)...)
}

// targetProblems finds what is wrong with a target wherever it is assigned.
func targetProblems(t *target) []Problem {
	const limit = validation.DNS1123LabelMaxLength
	problems := slices.Clone(t.badTexts)
	if len(t.Name) > limit {
		problems = append(problems, newProblem(model.Error, InvalidName, t.Position, "shorten the name of the workload or of its target",
			"the deployment target's name %s has %d characters, %d is the limit", t.Name, len(t.Name), limit))
	}
	if len(t.duplicates) > 0 {
		var positions []string
		for _, duplicate := range t.duplicates {
			positions = append(positions, duplicate.String())
		}
		p := newProblem(model.Error, InvalidName, t.Position, "rename one of the workloads or targets",
			"the deployment target's name %s is ambiguous: it also stands for %s", t.Name, strings.Join(positions, " and "))
		p.Code = AmbiguousName
		problems = append(problems, p)
	}
	return problems
}

// namespaceCollisions warns of assignments whose .Namespace is the same: cluster type
// a-b with target c, and a with b-c. That is an error only on a cluster of both
// types, and if a template uses the value. Each is compared with the first of its name.
func namespaceCollisions(s *state) []Problem {
	if !s.templates.useNamespace {
		return nil
	}
	var problems []Problem
	for name, r := range s.rows {
		for i := range name {
			first := s.rows[name[:i]]
			if name[i] != '-' || first == nil {
				continue
			}
			for _, c := range r.cells {
				duplicate, found := first.cell(name[i+1:] + "-" + c.target.Name)
				if !found || s.earlierCollision(name[:i], duplicate) {
					continue
				}
				p := newProblem(model.Warning, InvalidName, c.target.Position, "rename a cluster type, a workload or a target before a cluster follows both",
					"namespace %s is ambiguous: it stands for %s/%s and for %s/%s", namespaceOf(s.env.Name, c.pair), first.clusterType.Name, duplicate.target.Name, name, c.target.Name)
				p.Code = SharedNamespace
				problems = append(problems, p)
			}
		}
	}
	return problems
}

// earlierCollision says whether an assignment collides with one on a cluster type
// with a shorter name.
func (s *state) earlierCollision(name string, c *cell) bool {
	for i := range name {
		if r := s.rows[name[:i]]; name[i] == '-' && r != nil {
			if _, found := r.cell(name[i+1:] + "-" + c.target.Name); found {
				return true
			}
		}
	}
	return false
}

// namespaceOf is what templates get as .Namespace, as the original scheduler
// makes it.
func namespaceOf(environment string, p pair) string {
	return environment + "-" + p.clusterType.Name + "-" + p.target.Name
}

func usesNamespace(templates []model.Template) bool {
	for _, t := range templates {
		for _, manifest := range t.Spec.Manifests {
			if strings.Contains(manifest.Text, ".Namespace") {
				return true
			}
		}
	}
	return false
}

// What an application's team writes ends in files that clusters obey, so templates
// must limit what it can say there. Labels, manifests and names are single lines
// (here), none is read as a template (see taint.go), and no document's structure
// depends on one (see structure.go).

// unwritable returns the first character of a text that must not stand in
// generated files: control characters, among which are all that end a line or
// begin a terminal's sequences, Unicode's own line ends, and what YAML cannot
// hold. It returns -1 when there is none.
func unwritable(s string) rune {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return unwritableRune(s[i:])
		}
	}
	return -1
}

func unwritableRune(s string) rune {
	for i, r := range s {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point) || r == '\ufeff' {
			return r
		}
		if _, size := utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
			return r
		}
	}
	return -1
}

// textMap is a part of a workload that holds texts.
type textMap struct {
	what   string
	values map[string]string
	path   []string
}

// texts returns what a workload says about a target.
func (t *target) texts() []textMap {
	path := []string{"spec", "deploymentTargets", strconv.Itoa(t.index)}
	return []textMap{
		{"label", t.object.Labels, []string{"metadata", "labels"}},
		{"label", t.object.Spec.DeploymentTargets[t.index].Labels, append(slices.Clone(path), "labels")},
		{"manifests field", t.manifests, append(slices.Clone(path), "manifests")},
	}
}

// textProblems finds what a target's labels and manifests must not hold.
func textProblems(t *target, workload *model.Workload) []Problem {
	if !anyBad(t.Labels) && !anyBad(t.manifests) && !anyBad(workload.Spec.DeploymentTargets[t.index].Labels) {
		return nil
	}
	var problems []Problem
	check := func(what, text string, at func() model.Position) {
		if r := unwritable(text); r >= 0 {
			problems = append(problems, newProblem(model.Error, InvalidText, at(), "write it in one line, without control characters",
				"deployment target %s: %s holds the character %U", t.Name, what, r))
		}
	}
	for _, texts := range t.texts() {
		for _, key := range slices.Sorted(maps.Keys(texts.values)) {
			at := func() model.Position { return workload.At(append(texts.path, key)...) }
			what := fmt.Sprintf("%s %q", texts.what, key)
			check(what, key+texts.values[key], at)
			if redact.HasPassword(texts.values[key]) {
				problems = append(problems, newProblem(model.Error, InvalidText, at(), "take it out, and give the reconciler a Secret",
					"deployment target %s: %s holds a password, which all who read the GitOps repository would get", t.Name, what))
			}
		}
	}
	check("its workspace", t.Workspace, func() model.Position { return workload.Registration.At("spec", "workspace") })
	return problems
}

func anyBad(texts map[string]string) bool {
	for key, value := range texts {
		if unwritable(key) >= 0 || unwritable(value) >= 0 || redact.HasPassword(value) {
			return true
		}
	}
	return false
}

// positionOf returns where a workload says a text, or the target's position where
// that is not known because a template has changed the text.
func (t *target) positionOf(text string) model.Position {
	holds := func(s string) bool { return strings.Contains(s, text) || len(s) > 3 && strings.Contains(text, s) }
	for _, texts := range slices.Backward(t.texts()) {
		for _, key := range slices.Sorted(maps.Keys(texts.values)) {
			if holds(texts.values[key]) || holds(key) {
				return t.object.At(append(texts.path, key)...)
			}
		}
	}
	return t.Position
}
