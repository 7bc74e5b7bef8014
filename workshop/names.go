package workshop

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxRange is how many clusters one entry may stand for.
const maxRange = 10_000

// FieldError is a field of workshop.yaml, by its path, with what is wrong with its
// value and what to write instead.
type FieldError struct {
	Path   []string // keys of mappings and indexes of lists, from 0
	Reason string
}

func (e *FieldError) Error() string { return strings.Join(e.Path, ".") + ": " + e.Reason }

func fieldErrorf(field, format string, args ...any) *FieldError {
	return &FieldError{strings.Split(field, "."), fmt.Sprintf(format, args...)}
}

var (
	nameRange = regexp.MustCompile(`^([^{}]*)\{([0-9]+)\.\.([0-9]+)\}([^{}]*)$`)
	// isName is what Kubernetes takes for the name of a cluster's parts, and a file
	// system for their folders.
	isName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$`)
)

// ExpandName returns the names that a name stands for: itself, or store-001 to
// store-200 for store-{001..200}. The error is a [FieldError] about the field name.
func ExpandName(name string) ([]string, error) {
	if !strings.ContainsAny(name, "{}") {
		if !isName.MatchString(name) {
			return nil, fieldErrorf("name", "%q is no name for a cluster: take lower case letters, digits and '-', 53 of them at most", name)
		}
		return []string{name}, nil
	}
	m := nameRange.FindStringSubmatch(name)
	if m == nil {
		return nil, fieldErrorf("name", "%q has no range that can be read: write one, of two numbers, as in store-{001..200}", name)
	}
	first, last := m[2], m[3]
	if len(first) != len(last) {
		return nil, fieldErrorf("name", "the numbers of the range in %q have %d and %d digits: write as many in both, as in {001..200}", name, len(first), len(last))
	}
	from, fromErr := strconv.Atoi(first)
	to, toErr := strconv.Atoi(last)
	switch {
	case fromErr != nil || toErr != nil || to-from >= maxRange:
		return nil, fieldErrorf("name", "the range in %q has more than %d numbers: write several entries, or fewer clusters", name, maxRange)
	case to < from:
		return nil, fieldErrorf("name", "the range in %q goes down: write the lower number first", name)
	}
	all := make([]string, 0, to-from+1)
	for n := from; n <= to; n++ {
		one := fmt.Sprintf("%s%0*d%s", m[1], len(first), n, m[4])
		if !isName.MatchString(one) {
			return nil, fieldErrorf("name", "%q, of %q, is no name for a cluster: take lower case letters, digits and '-', 53 of them at most", one, name)
		}
		all = append(all, one)
	}
	return all, nil
}

// Expand returns the clusters that an entry stands for: one for each number of the
// range in its name, or itself. The error is a [FieldError] about a field of the
// entry.
func (c Cluster) Expand() ([]Cluster, error) {
	names, err := ExpandName(c.Name)
	if err != nil {
		return nil, err
	}
	if c.Kind != VirtualCluster {
		switch {
		case len(names) > 1 || names[0] != c.Name:
			return nil, fieldErrorf("name", "%q has a range, which only virtual clusters may have: add kind: %s, or write an entry for each cluster", c.Name, VirtualCluster)
		case c.Virtual != nil:
			return nil, fieldErrorf("virtual", "%s is no virtual cluster: add kind: %s, or remove this", c.Name, VirtualCluster)
		}
	} else if err := c.Virtual.check(); err != nil {
		return nil, err
	}
	all := make([]Cluster, len(names))
	for i, name := range names {
		all[i] = c
		all[i].Name = name
	}
	return all, nil
}

// check returns a [FieldError] about a value that no cluster can have.
func (v *Virtual) check() error {
	if v == nil {
		return nil
	}
	for _, share := range []struct {
		field string
		value float64
	}{{"virtual.failing", v.Failing}, {"virtual.offline", v.Offline}} {
		if !(share.value >= 0 && share.value <= 1) {
			return fieldErrorf(share.field, "%v is no share: write a number from 0 to 1, such as 0.05 for one in twenty", share.value)
		}
	}
	switch {
	case v.Delay < 0:
		return fieldErrorf("virtual.delay", "%v is no delay: write a time such as 30s", v.Delay)
	case v.OfflineFor < 0:
		return fieldErrorf("virtual.offlineFor", "%v is no length of time: write one such as 2m", v.OfflineFor)
	case v.Offline > 0 && v.OfflineFor == 0:
		return fieldErrorf("virtual.offline", "it is not said for how long at a time: add offlineFor, such as 2m")
	}
	return nil
}

// Expand returns the clusters that all entries stand for, in their order. The error
// is a [FieldError] with a path from the root of workshop.yaml: about an entry, or
// about the second of two clusters of one name.
func Expand(entries []Cluster) ([]Cluster, error) {
	var all []Cluster
	known := map[string]int{} // the entry of a name
	for i, entry := range entries {
		at := []string{"clusters", strconv.Itoa(i)}
		some, err := entry.Expand()
		if err != nil {
			var field *FieldError
			if errors.As(err, &field) {
				return nil, &FieldError{slices.Concat(at, field.Path), field.Reason}
			}
			return nil, err
		}
		for _, c := range some {
			if first, twice := known[c.Name]; twice {
				return nil, &FieldError{append(at, "name"), fmt.Sprintf("there is a cluster %s already, of the entry %q: give each its own name", c.Name, entries[first].Name)}
			}
			known[c.Name] = i
		}
		all = append(all, some...)
	}
	return all, nil
}

const longestRepositoryName = 100

var repositoryName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// RepositoryNameProblem says why Gitea does not take the name of a repository; "" for
// one that it takes.
func RepositoryNameProblem(name string) string {
	switch {
	case len(name) > longestRepositoryName:
		return fmt.Sprintf("is longer than %d characters", longestRepositoryName)
	case !repositoryName.MatchString(name) || strings.Trim(name, ".-") == "":
		return "has other characters than letters, digits, dots, dashes and underscores"
	case slices.Contains([]string{".git", ".wiki", ".rss", ".atom"}, path.Ext(name)):
		return "ends in " + path.Ext(name)
	}
	return ""
}
