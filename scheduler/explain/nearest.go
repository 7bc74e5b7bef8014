package explain

import (
	"cmp"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// nearest finds the policy and the cluster type that miss by the fewest
// clauses. Of equals the one counts where more looks misspelt, then the first
// by name. It is nil when there is no policy or no cluster type.
//
// There can be very many pairs, so first they are only counted, and why they
// miss is worded for the best of them.
func (w *world) nearest(t *target, clusterTypes []model.ClusterType) *Nearest {
	type pair struct {
		policy      model.SchedulingPolicy
		clusterType model.ClusterType
	}
	var best []pair
	fewest := 0
	for _, policy := range w.env.Policies {
		ofTarget := countFailing(targetRequirements(policy), t.Labels)
		requirements := clusterTypeRequirements(policy)
		for _, c := range clusterTypes {
			n := ofTarget + countFailing(requirements, c.Labels)
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
				judge(targetRequirements(p.policy), targetSide(t), w.ofTargets),
				judge(clusterTypeRequirements(p.policy), clusterTypeSide(p.clusterType), w.ofClusterTypes),
			)),
		}
		if found == nil || n.compare(found) < 0 {
			found = n
		}
	}
	return found
}

func countFailing(requirements []requirement, labels map[string]string) int {
	n := 0
	for _, r := range requirements {
		if !r.holds(labels) {
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
