package plan

import (
	"cmp"
	"context"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// pair is one assignment before anything is made for it.
type pair struct {
	clusterType *model.ClusterType
	target      *target
	policies    []string
}

// selection is which policies select which targets.
type selection struct {
	policies *policies
	targets  []*target
	chosen   [][]int32 // by policy: the numbers of its targets, in order
	changed  []bool    // by policy: whether these are others than before
}

// selectTargets asks all policies about all targets. What was asked before of
// the same policies and targets is not asked again. When ctx ends the selection
// is not complete.
func selectTargets(ctx context.Context, p *policies, targets []*target, before *selection) *selection {
	s := &selection{policies: p, targets: targets, chosen: make([][]int32, len(p.rules)), changed: make([]bool, len(p.rules))}
	inParallel(len(targets), func(i int) {
		if t := targets[i]; t.asked != p && ctx.Err() == nil {
			t.asked, t.selecting = p, p.selecting(t)
		}
	})
	for i, t := range targets {
		for _, n := range t.selecting {
			s.chosen[n] = append(s.chosen[n], int32(i))
		}
	}
	for n := range s.changed {
		s.changed[n] = before == nil || before.policies != p || !slices.EqualFunc(s.chosen[n], before.chosen[n], func(a, b int32) bool {
			return targets[a] == before.targets[b]
		})
	}
	return s
}

// pairs returns the assignments on a cluster type that some policies admit,
// sorted by target. A pair that several policies select is one pair that names
// all of them. Targets that share a name share a pair.
func (s *selection) pairs(clusterType *model.ClusterType, admitting []int32) []pair {
	type choice struct{ target, policy int32 }
	var choices []choice
	for _, n := range admitting {
		for _, t := range s.chosen[n] {
			choices = append(choices, choice{t, n})
		}
	}
	if len(admitting) > 1 {
		slices.SortFunc(choices, func(a, b choice) int {
			return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.policy, b.policy))
		})
	}
	var pairs []pair
	for _, c := range choices {
		t, name := s.targets[c.target], s.policies.rules[c.policy].name
		last := len(pairs) - 1
		if last < 0 || pairs[last].target.Name != t.Name {
			pairs = append(pairs, pair{clusterType: clusterType, target: t, policies: s.policies.alone[c.policy]})
			continue
		}
		if p := &pairs[last]; !slices.Contains(p.policies, name) {
			p.policies = slices.Sorted(slices.Values(append(slices.Clone(p.policies), name)))
		}
	}
	return pairs
}
