package plan

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// text/template names the types of Go in its errors, which say nothing to
// those who write templates.

var (
	noField    = regexp.MustCompile(`^can't evaluate field (\S+) in type (.+)$`)
	plainTypes = strings.NewReplacer(
		"plan.renderData", "the template's data",
		"map[string]interface {}", "map", "map[string]string", "map of texts", "map[interface {}]interface {}", "map of any keys",
		"[]interface {}", "list", "[]string", "list",
		"interface {}", "value",
	)
)

// explainFields words an error about a field that its value does not have.
func explainFields(e *renderError, data renderData) *renderError {
	found := noField.FindStringSubmatch(e.message)
	if found == nil {
		e.message = plainTypes.Replace(e.message)
		return e
	}
	field, kind := found[1], found[2]
	if kind == fmt.Sprintf("%T", data) {
		known := slices.Sorted(maps.Keys(dataFields))
		e.message = fmt.Sprintf("unknown field .%s; known are .%s", field, strings.Join(known, ", ."))
		return e
	}
	owner, _, _ := strings.Cut(e.at+".", "."+field+".")
	if owner == "" {
		owner = "."
	}
	e.message = fmt.Sprintf("%s is %s and has no field .%s", owner, kindOf(owner, kind, data), field)
	return e
}

// kindOf says what a value is that was taken for a map. The type is often that
// of any value; then the data tells, where the value is one of the
// configuration.
func kindOf(owner, kind string, data renderData) string {
	path, isConfig := strings.CutPrefix(strings.TrimPrefix(owner, "$"), ".ConfigData.")
	if value, found := find(data.ConfigData, strings.Split(path, ".")); isConfig && found {
		kind = fmt.Sprintf("%T", value)
	}
	switch kind {
	case "string":
		return "a text"
	case "bool":
		return "a boolean"
	case "int", "int64", "uint64", "float64":
		return "a number"
	case "[]interface {}", "[]string":
		return "a list"
	}
	return "not a map"
}
