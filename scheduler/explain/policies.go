package explain

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/expression"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// check makes a clause of each requirement, with the reason why it does not
// hold for the subjects.
func check(requirements []requirement, holds func(requirement) bool, v *labelValues, subjects ...subject) []Clause {
	clauses := make([]Clause, 0, len(requirements))
	for _, r := range requirements {
		clause := Clause{Text: r.String(), Place: r.position, Holds: holds(r), Values: r.valuesOf(subjects[0].object)}
		if !clause.Holds {
			clause.Miss = r.miss(subjects, v)
		}
		clauses = append(clauses, clause)
	}
	return clauses
}

func (x *explainer) targetClauses(policy model.SchedulingPolicy, t *target) []Clause {
	s := targetSubject(x.env.Name, t)
	return check(targetRequirements(policy), func(r requirement) bool { return r.holds(s.object) }, x.ofTargets, s)
}

func (x *explainer) clusterTypeClauses(requirements []requirement, c model.ClusterType) []Clause {
	s := clusterTypeSubject(x.env.Name, c)
	return check(requirements, func(r requirement) bool { return r.holds(s.object) }, x.ofClusterTypes, s)
}

func failing(clauses []Clause) []Clause {
	var fails []Clause
	for _, clause := range clauses {
		if !clause.Holds {
			fails = append(fails, clause)
		}
	}
	return fails
}

// policies says what every policy makes of a target and what those that select
// it, or else all, make of the given cluster types.
func (x *explainer) policies(t *target, clusterTypes []model.ClusterType, all bool) []Policy {
	policies := make([]Policy, 0, len(x.env.Policies))
	for _, object := range x.env.Policies {
		p := Policy{
			Name:         object.Name,
			Place:        object.Position,
			Clauses:      x.targetClauses(object, t),
			ClusterTypes: []Verdict{},
		}
		p.SelectsTarget = len(failing(p.Clauses)) == 0
		if p.SelectsTarget || all {
			p.ClusterTypes = x.verdicts(object, clusterTypes)
		}
		policies = append(policies, p)
	}
	slices.SortFunc(policies, func(a, b Policy) int {
		return cmp.Or(
			cmp.Compare(a.rank(), b.rank()),
			compareMisses(failing(a.Clauses), failing(b.Clauses)),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return policies
}

func (x *explainer) verdicts(policy model.SchedulingPolicy, clusterTypes []model.ClusterType) []Verdict {
	requirements := clusterTypeRequirements(policy)
	verdicts := make([]Verdict, 0, len(clusterTypes))
	for _, c := range clusterTypes {
		clauses := x.clusterTypeClauses(requirements, c)
		verdicts = append(verdicts, Verdict{
			ClusterType: c.Name,
			Place:       c.Position,
			Selected:    len(failing(clauses)) == 0,
			Clauses:     clauses,
		})
	}
	slices.SortFunc(verdicts, func(a, b Verdict) int {
		return cmp.Or(compareMisses(failing(a.Clauses), failing(b.Clauses)), cmp.Compare(a.ClusterType, b.ClusterType))
	})
	return verdicts
}

// rank orders policies: those that assign the target, those that select it,
// the others.
func (p Policy) rank() int {
	switch {
	case !p.SelectsTarget:
		return 2
	case p.selected() == 0:
		return 1
	}
	return 0
}

func (p Policy) selected() int {
	n := 0
	for _, v := range p.ClusterTypes {
		if v.Selected {
			n++
		}
	}
	return n
}

// assigned collects where policies send a target.
func assigned(policies []Policy) []Assigned {
	byClusterType := map[string][]string{}
	for _, p := range policies {
		for _, v := range p.ClusterTypes {
			if p.SelectsTarget && v.Selected {
				byClusterType[v.ClusterType] = append(byClusterType[v.ClusterType], p.Name)
			}
		}
	}
	all := make([]Assigned, 0, len(byClusterType))
	for _, c := range slices.Sorted(maps.Keys(byClusterType)) {
		slices.Sort(byClusterType[c])
		all = append(all, Assigned{ClusterType: c, Policies: byClusterType[c]})
	}
	return all
}

// nearest finds the policy and the cluster type that miss by the fewest
// clauses. Of equals the one counts where more looks misspelt, then the first
// by name. It is nil when there is no policy or no cluster type.
//
// There can be very many pairs, so first they are only counted, and why they
// miss is worded for the best of them.
func (x *explainer) nearest(t *target, clusterTypes []model.ClusterType) *Nearest {
	type pair struct {
		policy      model.SchedulingPolicy
		clusterType model.ClusterType
	}
	var best []pair
	fewest := 0
	for _, policy := range x.env.Policies {
		ofTarget := countFailing(targetRequirements(policy), plan.TargetObject(x.env.Name, &t.Target))
		requirements := clusterTypeRequirements(policy)
		for _, c := range clusterTypes {
			n := ofTarget + countFailing(requirements, plan.ClusterTypeObject(x.env.Name, &c))
			if len(best) == 0 || n < fewest {
				best, fewest = nil, n
			}
			if n == fewest {
				best = append(best, pair{policy, c})
			}
		}
	}
	var found *Nearest
	for _, p := range best {
		n := &Nearest{
			Policy:      p.policy.Name,
			ClusterType: p.clusterType.Name,
			Fails: failing(slices.Concat(
				x.targetClauses(p.policy, t),
				x.clusterTypeClauses(clusterTypeRequirements(p.policy), p.clusterType),
			)),
		}
		if found == nil || n.compare(found) < 0 {
			found = n
		}
	}
	return found
}

func countFailing(requirements []requirement, o *expression.Object) int {
	n := 0
	for _, r := range requirements {
		if !r.holds(o) {
			n++
		}
	}
	return n
}

func (n *Nearest) compare(other *Nearest) int {
	return cmp.Or(
		compareMisses(n.Fails, other.Fails),
		cmp.Compare(n.Policy, other.Policy),
		cmp.Compare(n.ClusterType, other.ClusterType),
	)
}

// compareMisses orders failing clauses: fewer first, then those that look more
// like a misspelling.
func compareMisses(a, b []Clause) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(misspelt(b), misspelt(a)))
}

// misspelt says how much clauses look as if something else was meant. It counts
// for more when the very object has that.
func misspelt(clauses []Clause) int {
	weight := 0
	for _, clause := range clauses {
		switch {
		case clause.Miss == nil || clause.Miss.Nearest == "":
		case clause.Miss.own:
			weight += 2
		default:
			weight++
		}
	}
	return weight
}
