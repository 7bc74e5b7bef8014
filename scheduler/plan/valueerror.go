package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// nestedError makes an error in a later round one that can be understood: its
// line is one of the result before, which nobody has seen. The action that
// failed came out of a configuration value, which is named where it can be
// told.
func nestedError(err error, round int, text string, data renderData) error {
	var e *renderError
	if !errors.As(err, &e) {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(data.ConfigData)) {
		for _, value := range actions(data.ConfigData[key], nil) {
			line, found := failsLike(e, value, text, data)
			if !found {
				continue
			}
			where := "configuration value " + key
			if value == data.ConfigData[key] && strings.Contains(value, "\n") {
				where = fmt.Sprintf("line %d of %s", line, where)
			}
			return &renderError{message: where + ": " + e.message, hint: e.hint, key: key}
		}
	}
	return &renderError{
		message: fmt.Sprintf("in line %d of the result of round %d: %s", e.line, round, e.message),
		hint:    "a configuration value holds a template action",
	}
}

// actions returns the texts of a value that hold template actions, in an order
// that is always the same.
func actions(value any, found []string) []string {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, "{{") {
			found = append(found, v)
		}
	case map[any]any:
		fields, _ := fieldsOf(v)
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			found = actions(fields[key], found)
		}
	case []any:
		for _, element := range v {
			found = actions(element, found)
		}
	}
	return found
}

// failsLike says whether a configuration value stands where rendering failed
// and fails by itself the same way, and in which of its lines.
func failsLike(e *renderError, value, text string, data renderData) (int, bool) {
	lines, failing := strings.Split(value, "\n"), ""
	if all := strings.Split(text, "\n"); 0 < e.line && e.line <= len(all) {
		failing = all[e.line-1]
	}
	stands := func(line string) bool {
		line = strings.TrimSpace(line)
		return line != "" && strings.Contains(failing, line)
	}
	if !slices.ContainsFunc(lines, stands) {
		return 0, false
	}
	_, err := newRenderer().once(value, data)
	var own *renderError
	if !errors.As(err, &own) || own.message != e.message || own.line < 1 || own.line > len(lines) {
		return 0, false
	}
	return own.line, stands(lines[own.line-1])
}

// trace says in an error about a configuration value which ConfigMap it comes
// from.
func trace(err error, config []ConfigValue) error {
	var e *renderError
	if !errors.As(err, &e) || e.key == "" {
		return err
	}
	v, found := valueOf(config, e.key)
	if !found {
		return err
	}
	e.place = v.Source.Position
	hint := origin(v.Key, v.givers(nil))
	if e.hint != "" {
		hint += ": " + e.hint
	}
	e.hint = hint
	return err
}
