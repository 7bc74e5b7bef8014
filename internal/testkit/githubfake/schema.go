package githubfake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// fields are what a request's body may hold: the kind of each field by name,
// with "!" before the kind when it must be there and "?" behind it when it may
// be null. Kinds: string, boolean, integer, strings, objects, object.
type fields map[string]string

// body reads a request's body and holds it to the fields (docs: using-the-
// rest-api/troubleshooting-the-rest-api, "Problems parsing JSON" to "Invalid
// request").
func (c *call) body(allowed fields) (object, error) {
	data, err := io.ReadAll(c.request.Body)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "Problems parsing JSON")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	} else if !strings.HasPrefix(c.request.Header.Get("Content-Type"), "application/json") {
		return nil, refuse(http.StatusUnsupportedMediaType, "Unsupported Media Type")
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil || !utf8.Valid(data) {
		return nil, refuse(http.StatusBadRequest, "Problems parsing JSON")
	}
	if list, ok := v.([]any); ok && len(allowed) == 1 { // some bodies may be the list alone
		for name, kind := range allowed {
			if strings.HasSuffix(kind, "s") {
				v = object{name: list}
			}
		}
	}
	o, ok := v.(object)
	if !ok {
		return nil, refuse(http.StatusBadRequest, "Body should be a JSON object")
	}
	return o, check(o, allowed)
}

func check(o object, allowed fields) error {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		kind, ok := allowed[name]
		kind = strings.TrimPrefix(kind, "!")
		nullable := strings.HasSuffix(kind, "?")
		kind = strings.TrimSuffix(kind, "?")
		switch {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%q is not a permitted key.", name))
		case o[name] == nil && nullable:
		case !is(o[name], kind):
			shown, _ := json.Marshal(o[name])
			wrong = append(wrong, fmt.Sprintf("For 'properties/%s', %s is not a %s.", name, shown, kind))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if _, there := o[name]; !there && strings.HasPrefix(allowed[name], "!") {
			wrong = append(wrong, fmt.Sprintf("%q wasn't supplied.", name))
		}
	}
	if len(wrong) > 0 {
		return unprocessable("Invalid request.\n\n" + strings.Join(wrong, "\n"))
	}
	return nil
}

func is(v any, kind string) bool {
	switch kind {
	case "string":
		_, ok := v.(string)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "integer":
		n, ok := v.(json.Number)
		_, err := n.Int64()
		return ok && err == nil
	case "object":
		_, ok := v.(object)
		return ok
	}
	list, ok := v.([]any)
	for _, one := range list {
		ok = ok && is(one, strings.TrimSuffix(kind, "s"))
	}
	return ok
}

// text returns a string field, "" when it is missing or null.
func text(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

func flag(o object, name string) bool {
	b, _ := o[name].(bool)
	return b
}

func texts(o object, name string) (all []string) {
	list, _ := o[name].([]any)
	for _, one := range list {
		all = append(all, one.(string))
	}
	return all
}

func has(o object, name string) bool {
	_, ok := o[name]
	return ok
}

// tooLong holds a text to what GitHub takes.
func tooLong(resource, field, s string, limit int) error {
	if utf8.RuneCountInString(s) > limit {
		return custom(resource, field, fmt.Sprintf("%s is too long (maximum is %d characters)", field, limit))
	}
	if strings.Contains(s, "\x00") {
		return invalid(resource, field, "invalid")
	}
	return nil
}
