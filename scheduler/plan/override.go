package plan

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Maps and lists merge, so most of what a later source says about such a value
// adds to the earlier ones. What it takes away lies deeper: a scalar inside the
// value, or a map where now is a text. Those are overrides as well, and people
// look for them where they no longer see the whole of what was replaced.

// step leads from a map or list to one of its elements: by its key, or by what
// a list's element calls itself.
type step struct {
	key    any
	name   any // nil for an element without one
	inList bool
}

// loss is a part of a value that a later value replaces by something else.
type loss struct {
	path  []step
	value any
}

// losses finds what is lost when earlier is merged with later, in order of the
// paths' keys. A value that is replaced as a whole is one loss with no path.
func losses(earlier, later any, path ...step) []loss {
	var found []loss
	switch b := later.(type) {
	case map[any]any:
		a, ok := earlier.(map[any]any)
		if !ok {
			break
		}
		byText := func(a, b any) int {
			return cmp.Or(strings.Compare(valueText(a), valueText(b)), strings.Compare(fmt.Sprintf("%T", a), fmt.Sprintf("%T", b)))
		}
		for _, key := range slices.SortedFunc(maps.Keys(b), byText) {
			if old, ok := a[key]; ok {
				found = append(found, losses(old, b[key], append(slices.Clip(path), step{key: key})...)...)
			}
		}
		return found
	case []any:
		a, ok := earlier.([]any)
		if !ok {
			break
		}
		index := byName(a)
		for _, element := range b {
			name, ok := elementName(element)
			if i, there := index[name]; ok && there {
				found = append(found, losses(a[i], element, append(slices.Clip(path), step{name: name, inList: true})...)...)
			}
		}
		return found
	}
	if reflect.DeepEqual(earlier, later) {
		return nil
	}
	return []loss{{path: path, value: earlier}}
}

// has says whether a value has something at a path.
func has(value any, path []step) bool {
	for _, s := range path {
		switch v := value.(type) {
		case map[any]any:
			element, ok := v[s.key]
			if !ok || s.inList {
				return false
			}
			value = element
		case []any:
			i := slices.IndexFunc(v, func(element any) bool {
				name, ok := elementName(element)
				return s.inList && ok && name == s.name
			})
			if i < 0 {
				return false
			}
			value = v[i]
		default:
			return false
		}
	}
	return true
}

// pathText writes a path as in limits.cpu or containers[web].image.
func pathText(path []step) string {
	var b strings.Builder
	for _, s := range path {
		if s.inList {
			if s.name == nil {
				s.name = ""
			}
			b.WriteString("[" + valueText(s.name) + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if key := valueText(s.key); key == "" || strings.ContainsAny(key, ".[]") {
			b.WriteString(strconv.Quote(key))
		} else {
			b.WriteString(key)
		}
	}
	return b.String()
}
