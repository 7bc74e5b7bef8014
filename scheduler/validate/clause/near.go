package clause

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// maxListed bounds how many values a hint lists.
const maxListed = 6

// Near says what the writer of a label may have meant, given the labels that
// there are: the nearest value of the key, or the nearest key, or what there is
// to choose from. It returns "" when there are no labels at all.
func Near(key string, wanted []string, sets []map[string]string) string {
	values, keys := map[string]bool{}, map[string]bool{}
	for _, labels := range sets {
		for k, v := range labels {
			keys[k] = true
			if k == key {
				values[v] = true
			}
		}
	}
	if len(values) > 0 {
		return Suggest(wanted, fmt.Sprintf("values of %s are", key), slices.Sorted(maps.Keys(values)))
	}
	return Suggest([]string{key}, "labels are", slices.Sorted(maps.Keys(keys)))
}

// Suggest names the candidate that is nearest to one of the names wanted, or
// else lists the candidates after the introduction.
func Suggest(wanted []string, introduction string, candidates []string) string {
	for _, name := range wanted {
		if near := model.Nearest(name, candidates); near != "" && near != name {
			return fmt.Sprintf("did you mean %s?", near)
		}
	}
	if len(candidates) == 0 {
		return ""
	}
	return introduction + " " + List(candidates)
}

// List joins names for people, and leaves out what is too many.
func List(names []string) string {
	if more := len(names) - maxListed; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}
