package plan

// merge combines the value a key has with one that comes later. Maps merge key
// by key and lists element by element, all else is replaced; [losses] tells by
// what.
func merge(earlier, later any) any {
	switch b := later.(type) {
	case map[any]any:
		if a, ok := earlier.(map[any]any); ok {
			return mergeMaps(a, b)
		}
	case []any:
		if a, ok := earlier.([]any); ok {
			return mergeLists(a, b)
		}
	}
	return later
}

func mergeMaps(a, b map[any]any) map[any]any {
	m := make(map[any]any, len(a)+len(b))
	for key, value := range a {
		m[key] = value
	}
	for key, value := range b {
		if old, ok := m[key]; ok {
			value = merge(old, value)
		}
		m[key] = value
	}
	return m
}

// mergeLists merges the elements that have the same name and appends the
// others. An element of the earlier list that has none is the counterpart of all
// later ones without, as with the original scheduler.
func mergeLists(a, b []any) []any {
	list := make([]any, len(a), len(a)+len(b))
	copy(list, a)
	index := byName(a)
	for _, element := range b {
		name, ok := elementName(element)
		if i, found := index[name]; ok && found {
			list[i] = merge(list[i], element)
			continue
		}
		if ok && name != nil {
			index[name] = len(list)
		}
		list = append(list, element)
	}
	return list
}

// byName returns where in a list each name stands first.
func byName(list []any) map[any]int {
	index := make(map[any]int, len(list))
	for i, element := range list {
		if name, ok := elementName(element); ok {
			if _, found := index[name]; !found {
				index[name] = i
			}
		}
	}
	return index
}

// elementName returns what a list's element calls itself, nil for nothing, and
// false where it can have no name.
func elementName(element any) (name any, ok bool) {
	m, ok := element.(map[any]any)
	if name = m["name"]; isStructured(name) {
		return nil, false
	}
	return name, ok
}

// clone copies maps and lists, so that a template that changes its data
// changes its own copy only.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, element := range v {
			m[key] = clone(element)
		}
		return m
	case map[any]any:
		m := make(map[any]any, len(v))
		for key, element := range v {
			m[key] = clone(element)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = clone(element)
		}
		return list
	}
	return value
}
