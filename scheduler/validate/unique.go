package validate

import "slices"

// unique returns the different names among names, sorted.
func unique(names []string) []string {
	names = slices.Sorted(slices.Values(names))
	return slices.Compact(names)
}
