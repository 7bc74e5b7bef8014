package plan

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// The labels that a deployment target gets from the platform.
const (
	workloadLabel  = "workload"
	workspaceLabel = "workspace"
)

// target is a deployment target with all that planning needs of it.
type target struct {
	Target
	id        int64 // from 1; no other target of the planner has it
	manifests map[string]string
	schemas   []schema
	twins     []model.Position // other targets with the same name
	unfit     []Problem        // with what the workload says of it

	object model.Object[v1alpha1.WorkloadSpec] // that says it
	index  int                                 // of the target in there

	// What a planner notes about the target, and for which of its tables.
	asked     *policies
	selecting []int32 // the numbers of the policies that select it
	described *vocabulary
	words     *wordSet
}

// targetSet is all deployment targets of an environment, and what each workload
// has given.
type targetSet struct {
	sorted []*target
	twins  bool    // some share a name
	given  []given // sorted by the workload's name
}

// given is what a workload gives an environment.
type given struct {
	workload *model.Workload
	targets  []*target // never nil once they are known
}

func targetsOf(env *model.Environment) []*target {
	id := int64(0)
	return (*targetSet)(nil).next(env, func() int64 { id++; return id }).sorted
}

// next returns the environment's deployment targets, sorted by name. Those of
// a workload that has not changed are the same as before.
//
// The name joins two names by "-", so two targets may share one. Then nobody
// can say whose files lie in the folder of that name: all of them are marked.
func (s *targetSet) next(env *model.Environment, id func() int64) *targetSet {
	n := &targetSet{given: make([]given, len(env.Workloads))}
	for i := range n.given {
		n.given[i].workload = &env.Workloads[i]
	}
	gone := s.keep(n)
	var changed []*given
	for i := range n.given {
		if n.given[i].targets == nil {
			changed = append(changed, &n.given[i])
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
	n.sorted = make([]*target, 0, len(n.given))
	for _, g := range n.given {
		n.sorted = append(n.sorted, g.targets...)
	}
	slices.SortFunc(n.sorted, compareTargets)
	n.twins = markTwins(n.sorted)
	return n
}

// keep gives the workloads of the next set that have not changed the targets
// that they have in this one, and returns the targets that nobody took. Both
// sets are in order, so that no name is looked up: a fleet has many.
func (s *targetSet) keep(n *targetSet) (gone []*target) {
	if s == nil {
		return nil
	}
	old := s.given
	for i := range n.given {
		g := &n.given[i]
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
	if s.twins || len(gone)+len(added) > few {
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

// targetsFrom returns a workload's targets for an environment.
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
		labels[workloadLabel] = workload.Name
		labels[workspaceLabel] = workload.Registration.Spec.Workspace
		t := &target{
			Target: Target{
				Name:      workload.Name + "-" + spec.Name,
				Workload:  workload.Name,
				Workspace: workload.Registration.Spec.Workspace,
				Labels:    labels,
				Position:  workload.At(append(path, "name")...),
			},
			manifests: spec.Manifests,
			object:    workload.Object,
			index:     i,
		}
		t.unfit = textProblems(t, workload, path)
		for n, text := range spec.ConfigSchemas {
			t.schemas = append(t.schemas, schema{
				text:     text,
				position: workload.At(append(slices.Clone(path), "configSchemas", strconv.Itoa(n))...),
			})
		}
		for n, text := range workload.Spec.ConfigSchemas {
			t.schemas = append(t.schemas, schema{
				text:     text,
				position: workload.At("spec", "configSchemas", strconv.Itoa(n)),
			})
		}
		targets = append(targets, t)
	}
	return targets
}

// markTwins replaces targets that share a name by copies that know each other,
// and says whether there are any.
func markTwins(sorted []*target) (found bool) {
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
						marked.twins = append(marked.twins, other.Position)
					}
				}
				sorted[first+i] = &marked
			}
		}
		first = end
	}
	return found
}
