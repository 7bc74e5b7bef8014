package flux

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Configuration is a GitRepository that no Kustomization brought, with the
// Kustomizations that apply it.
type Configuration struct {
	Repository     *unstructured.Unstructured
	Kustomizations []*unstructured.Unstructured // by name
}

// Configurations are those of the cluster, by namespace and name.
func (o *Objects) Configurations() []Configuration {
	var all []Configuration
	for i := range o.Repositories {
		r := &o.Repositories[i]
		if _, brought := AppliedBy(r); brought {
			continue
		}
		c := Configuration{Repository: r}
		for j := range o.Kustomizations {
			k := &o.Kustomizations[j]
			if _, brought := AppliedBy(k); brought {
				continue
			}
			if source, ok := SourceOf(k); ok && source == refOf(r) {
				c.Kustomizations = append(c.Kustomizations, k)
			}
		}
		slices.SortFunc(c.Kustomizations, compare)
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Configuration) int { return compare(a.Repository, b.Repository) })
	return all
}

func compare(a, b *unstructured.Unstructured) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

// Statuses are those of the configuration's repository, of its Kustomizations,
// and of everything that these brought, in this order.
func (o *Objects) Statuses(c Configuration) []Status {
	all := []Status{repositoryStatus(c.Repository)}
	reached := map[Ref]bool{}
	next := c.Kustomizations
	for len(next) > 0 {
		level := next
		next = nil
		for _, k := range level {
			// two Kustomizations can bring each other
			if reached[refOf(k)] {
				continue
			}
			reached[refOf(k)] = true
			all = append(all, kustomizationStatus(k, o.revisionOf(k)))
			for _, r := range o.broughtBy(o.Repositories, refOf(k)) {
				all = append(all, repositoryStatus(r))
			}
			next = append(next, o.broughtBy(o.Kustomizations, refOf(k))...)
		}
	}
	return all
}

func (o *Objects) broughtBy(from []unstructured.Unstructured, by Ref) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for i := range from {
		if r, ok := AppliedBy(&from[i]); ok && r == by {
			all = append(all, &from[i])
		}
	}
	slices.SortFunc(all, compare)
	return all
}

// revisionOf is what the source of a Kustomization has fetched; "" when it is
// not known, as for sources of other kinds.
func (o *Objects) revisionOf(k *unstructured.Unstructured) string {
	source, ok := SourceOf(k)
	if !ok {
		return ""
	}
	for i := range o.Repositories {
		if refOf(&o.Repositories[i]) == source {
			return Revision(&o.Repositories[i])
		}
	}
	return ""
}

// Revision is what a GitRepository has fetched last, "" before the first time.
func Revision(repository *unstructured.Unstructured) string {
	return text(repository, "status", "artifact", "revision")
}

func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}
