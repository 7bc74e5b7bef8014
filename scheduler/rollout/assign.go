package rollout

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Assignment says which waves the clusters of a type are in.
type Assignment struct {
	Waves map[string]string // by cluster
	// Overlaps are clusters that the selectors of several waves match: they are in the
	// first of these.
	Overlaps []string
	Empty    []string // waves without a cluster
}

// Assign puts clusters into the waves of a rollout. Selectors choose first, in the order of
// the waves. Of the others, waves with a number or a share take theirs in an order that
// follows from a hash of the clusters' names, and the last wave has the rest. So it does
// not matter in which order the clusters are listed, and one more moves at most one cluster
// at the end of each wave.
func Assign(spec v1alpha1.RolloutSpec, clusters []Cluster) Assignment {
	a := Assignment{Waves: make(map[string]string, len(clusters))}
	for _, w := range spec.Waves {
		selector, err := metav1.LabelSelectorAsSelector(&w.Selector)
		if !w.Selects() || err != nil {
			continue
		}
		for _, c := range clusters {
			if !selector.Matches(labels.Set(c.Labels)) {
				continue
			}
			if first, taken := a.Waves[c.Name]; taken {
				a.Overlaps = append(a.Overlaps, fmt.Sprintf("cluster %s is selected by waves %s and %s", c.Name, first, w.Name))
				continue
			}
			a.Waves[c.Name] = w.Name
		}
	}
	type ranked struct {
		name string
		hash [sha256.Size]byte
	}
	var left []ranked
	for _, c := range clusters {
		if _, taken := a.Waves[c.Name]; !taken {
			left = append(left, ranked{c.Name, sha256.Sum256([]byte(c.Name))})
		}
	}
	slices.SortFunc(left, func(x, y ranked) int { return cmp.Or(bytes.Compare(x.hash[:], y.hash[:]), cmp.Compare(x.name, y.name)) })
	for _, w := range spec.Waves {
		if w.Selects() {
			continue
		}
		n := len(left)
		if !w.Rest() {
			n = min(n, amountUp(w.Clusters, len(clusters)))
		}
		for _, c := range left[:n] {
			a.Waves[c.name] = w.Name
		}
		left = left[n:]
	}
	count := map[string]int{}
	for _, wave := range a.Waves {
		count[wave]++
	}
	for _, w := range spec.Waves {
		if count[w.Name] == 0 {
			a.Empty = append(a.Empty, w.Name)
		}
	}
	slices.Sort(a.Overlaps)
	return a
}

// amountUp is how many clusters an amount is, one at least of a share.
func amountUp(a v1alpha1.Amount, of int) int {
	if a.Percent {
		return (a.Number*of + 99) / 100
	}
	return a.Number
}

// amountDown is how many of a wave's clusters may fail.
func amountDown(a v1alpha1.Amount, of int) int {
	if a.Percent {
		return a.Number * of / 100
	}
	return a.Number
}
