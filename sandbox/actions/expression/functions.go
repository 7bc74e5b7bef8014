package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rhysd/actionlint"
)

// function is one of the functions that get values and give one.
type function struct {
	least, most int // number of arguments
	do          func(args []any) (any, error)
}

const unlimited = math.MaxInt

func functions(e Env) map[string]function {
	return map[string]function{
		"contains":   {2, 2, func(a []any) (any, error) { return contains(a[0], a[1]), nil }},
		"startswith": {2, 2, func(a []any) (any, error) { return strings.HasPrefix(folded(a[0]), folded(a[1])), nil }},
		"endswith":   {2, 2, func(a []any) (any, error) { return strings.HasSuffix(folded(a[0]), folded(a[1])), nil }},
		"format":     {1, unlimited, func(a []any) (any, error) { return format(Text(a[0]), a[1:]) }},
		"join":       {1, 2, func(a []any) (any, error) { return join(a), nil }},
		"tojson":     {1, 1, func(a []any) (any, error) { return toJSON(a[0]) }},
		"fromjson":   {1, 1, func(a []any) (any, error) { return fromJSON(Text(a[0])) }},
		"hashfiles":  {1, unlimited, e.hashFiles},
		"always":     {0, 0, func([]any) (any, error) { return true, nil }},
		"success":    {0, 0, func([]any) (any, error) { return e.Status.success(), nil }},
		"failure":    {0, 0, func([]any) (any, error) { return e.Status.Failed && !e.Status.Cancelled, nil }},
		"cancelled":  {0, 0, func([]any) (any, error) { return e.Status.Cancelled, nil }},
	}
}

func (e Env) call(n *actionlint.FuncCallNode) (any, error) {
	f, ok := functions(e)[strings.ToLower(n.Callee)]
	if !ok {
		return nil, fmt.Errorf("there is no function %q", n.Callee)
	}
	if len(n.Args) < f.least || len(n.Args) > f.most {
		return nil, fmt.Errorf("%s() does not take %d arguments", n.Callee, len(n.Args))
	}
	args := make([]any, len(n.Args))
	for i, a := range n.Args {
		v, err := e.eval(a)
		if err != nil {
			return nil, err
		}
		args[i] = plain(v)
	}
	v, err := f.do(args)
	if err != nil {
		return nil, fmt.Errorf("%s(): %w", n.Callee, err)
	}
	return v, nil
}

func folded(v any) string { return strings.ToLower(Text(v)) }

func contains(in, what any) bool {
	list, ok := in.([]any)
	if !ok {
		return !composite(in) && strings.Contains(folded(in), folded(what))
	}
	for _, element := range list {
		if compare(actionlint.CompareOpNodeKindEq, element, what) {
			return true
		}
	}
	return false
}

func join(args []any) string {
	separator := ","
	if len(args) == 2 {
		separator = Text(args[1])
	}
	list, ok := args[0].([]any)
	if !ok {
		return Text(args[0])
	}
	texts := make([]string, len(list))
	for i, element := range list {
		texts[i] = Text(element)
	}
	return strings.Join(texts, separator)
}

// format puts values in the place of {0}, {1} and so on; {{ and }} are braces.
func format(pattern string, values []any) (string, error) {
	var b strings.Builder
	for rest := pattern; ; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			b.WriteString(rest)
			return b.String(), nil
		}
		b.WriteString(rest[:i])
		brace := rest[i]
		rest = rest[i+1:]
		if rest != "" && rest[0] == brace {
			b.WriteByte(brace)
			rest = rest[1:]
			continue
		}
		index, after, closed := strings.Cut(rest, "}")
		if brace == '}' || !closed {
			return "", fmt.Errorf("a brace stands alone in %q: write it twice", pattern)
		}
		n, err := strconv.ParseUint(index, 10, 16)
		if err != nil {
			return "", fmt.Errorf("{%s} in %q is not the number of a value", index, pattern)
		}
		if n >= uint64(len(values)) {
			return "", fmt.Errorf("there is no value for {%d} in %q", n, pattern)
		}
		b.WriteString(Text(values[n]))
		rest = after
	}
}

func toJSON(v any) (any, error) {
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil, fmt.Errorf("%s has no form in JSON", Text(v))
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func fromJSON(s string) (any, error) {
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return nil, err
	}
	return v, nil
}

func (e Env) hashFiles(args []any) (any, error) {
	if e.HashFiles == nil {
		return nil, errors.New("there are no files to see here")
	}
	patterns := make([]string, len(args))
	for i, a := range args {
		patterns[i] = Text(a)
	}
	return e.HashFiles(patterns)
}
