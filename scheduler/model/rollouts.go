package model

import (
	"maps"
	"slices"
	"strconv"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxWaves is far beyond what rollouts have: each wave has a branch.
const maxWaves = 50

// rolloutCheck looks at one Rollout without the clusters that there are.
type rolloutCheck struct {
	rollout Rollout
	found   []Diagnostic
}

func (c *rolloutCheck) report(hint string, path []string, format string, args ...any) {
	c.found = append(c.found, errorAt(InvalidRollout, c.rollout.At(path...), hint, "Rollout "+c.rollout.Name+": "+format, args...))
}

func wavePath(i int, fields ...string) []string {
	return append([]string{"spec", "waves", strconv.Itoa(i)}, fields...)
}

// checkRollout finds waves that can hold no cluster, and those that take clusters from
// each other, whatever clusters there are.
func checkRollout(r Rollout) []Diagnostic {
	c := &rolloutCheck{rollout: r}
	waves := r.Spec.Waves
	if len(waves) > maxWaves {
		c.report("put several waves into one", []string{"spec", "waves"}, "there are %d waves, %d are the limit", len(waves), maxWaves)
		return c.found
	}
	percent := 0
	named := map[string]bool{}
	for i, w := range waves {
		switch messages := validation.IsDNS1123Label(w.Name); {
		case len(messages) > 0:
			c.report(Requirement(messages[0]), wavePath(i, "name"), "wave %q is not a name", w.Name)
		case named[w.Name]:
			c.report("rename one of them", wavePath(i, "name"), "there are two waves %s", w.Name)
		}
		named[w.Name] = true
		if w.Selects() && w.Clusters.Given {
			c.report("leave one of them out", wavePath(i, "clusters"), "wave %s has both a number of clusters and a selector", w.Name)
			continue
		}
		if _, err := metav1.LabelSelectorAsSelector(&w.Selector); err != nil {
			c.found = append(c.found, errorAt(InvalidSelector, r.At(wavePath(i, "selector")...), "operators are In, NotIn, Exists and DoesNotExist",
				"Rollout %s: wave %s: %s", r.Name, w.Name, err))
			continue
		}
		c.empty(i)
		if w.Clusters.Percent && !w.Rest() {
			before := percent
			if percent += w.Clusters.Number; percent > 100 && before <= 100 {
				c.report("make the shares smaller", wavePath(i, "clusters"), "the waves up to %s overlap: they hold %d%% of the clusters", w.Name, percent)
			}
		}
	}
	if last := len(waves) - 1; last >= 0 && !waves[last].Rest() {
		c.report("add a wave without clusters and selector at the end: it holds the clusters that are in no other", wavePath(last),
			"clusters that are in no wave would follow none")
	}
	for i, w := range r.Spec.Windows {
		if w.From == w.To {
			c.report("", []string{"spec", "windows", strconv.Itoa(i), "to"}, "a window ends when it begins, at %s", w.To)
		}
	}
	return c.found
}

// empty reports a wave that holds no cluster, since waves before it have all of them.
func (c *rolloutCheck) empty(i int) {
	w := c.rollout.Spec.Waves[i]
	if w.Clusters.Given && w.Clusters.Number == 0 {
		c.report("give it a cluster, or remove it", wavePath(i, "clusters"), "wave %s holds no cluster", w.Name)
		return
	}
	for _, before := range c.rollout.Spec.Waves[:i] {
		switch {
		case before.Rest():
			c.report("put the wave that holds all others last", wavePath(i), "wave %s holds no cluster: wave %s before it has all that are left", w.Name, before.Name)
			return
		case before.Selects() && w.Selects() && narrower(w.Selector, before.Selector):
			c.report("put it before that one, or select others", wavePath(i, "selector"),
				"wave %s holds no cluster: those that it selects are in wave %s already", w.Name, before.Name)
			return
		}
	}
}

// narrower says whether each cluster that a selector matches is matched by the other, too,
// as far as their conditions are the same ones.
func narrower(s, other metav1.LabelSelector) bool {
	for key, value := range other.MatchLabels {
		if own, ok := s.MatchLabels[key]; !ok || own != value {
			return false
		}
	}
	for _, e := range other.MatchExpressions {
		if !slices.ContainsFunc(s.MatchExpressions, func(own metav1.LabelSelectorRequirement) bool {
			return own.Key == e.Key && own.Operator == e.Operator && maps.Equal(set(own.Values), set(e.Values))
		}) {
			return false
		}
	}
	return true
}

func set(values []string) map[string]bool {
	all := map[string]bool{}
	for _, v := range values {
		all[v] = true
	}
	return all
}

// oneOfEach leaves out all Rollouts of a cluster type that has several: which of them is
// meant cannot be known.
func oneOfEach(rollouts []Rollout, f *findings) []Rollout {
	of := map[string][]Rollout{}
	for _, r := range rollouts {
		of[r.Spec.ClusterType] = append(of[r.Spec.ClusterType], r)
	}
	return slices.DeleteFunc(rollouts, func(r Rollout) bool {
		same := of[r.Spec.ClusterType]
		if len(same) < 2 {
			return false
		}
		other := same[0]
		if other.Name == r.Name {
			other = same[1]
		}
		f.add(v1alpha1.KindRollout, errorAt(InvalidRollout, r.At("spec", "clusterType"), "remove one of them; until then the waves stay as they are",
			"Rollout %s is for cluster type %s, and so is the one at %s", r.Name, r.Spec.ClusterType, other.Position))
		return true
	})
}
