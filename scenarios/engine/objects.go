package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

func (s *script) runSameYAML(args []string) error {
	got, err := s.objects(args[0])
	if err != nil {
		return err
	}
	wanted, err := s.objects(args[1])
	if err != nil {
		return err
	}
	if findings := compareAll(got, wanted, true); len(findings) > 0 {
		return unmet("%s is not as it should be:\n  %s", s.nameOf(args[0]), strings.Join(findings, "\n  "))
	}
	return nil
}

func (s *script) runHasFields(args []string) error {
	n := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") })
	if n < 0 {
		n = len(args)
	}
	files, flags := args[:n], args[n:]
	if n == 0 {
		return errors.New("usage: has-fields WANTED... [FLAG...]")
	}
	command := append(slices.Clone(flags), "get", "--output", "yaml")
	var wanted []any
	for _, file := range files {
		objects, err := s.objects(file)
		if err != nil {
			return err
		}
		wanted = append(wanted, objects...)
		command = append(command, "--filename", file)
	}
	if err := s.kubectl(command); err != nil {
		return err
	}
	// the objects themselves are long: what differs is in the error
	printed := s.stdout.String()
	s.stdout.Reset()
	got, err := parseObjects("the cluster", s.spelled([]byte(printed)))
	if err != nil {
		return err
	}
	if findings := compareAll(got, wanted, false); len(findings) > 0 {
		return unmet("what is on %s is not as it should be:\n  %s", clusterOf(flags), strings.Join(findings, "\n  "))
	}
	return nil
}

// clusterOf is the cluster that kubectl's flags name.
func clusterOf(flags []string) string {
	if i := slices.Index(flags, "--context"); i >= 0 && i+1 < len(flags) {
		return flags[i+1]
	}
	return "the cluster"
}

func (s *script) objects(file string) ([]any, error) {
	b, err := s.read(file)
	if err != nil {
		return nil, err
	}
	return parseObjects(file, s.spelled(b))
}

// spelled is what was found somewhere, in the spelling that the scenario has.
func (s *script) spelled(content []byte) []byte {
	for other, text := range s.info.Spellings {
		content = bytes.ReplaceAll(content, []byte(other), []byte(text))
	}
	return content
}

// parseObjects reads the documents of a YAML file; the items of a List count
// as documents.
func parseObjects(name string, content []byte) ([]any, error) {
	var all []any
	d := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var o any
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		m, _ := o.(map[string]any)
		items, isList := m["items"].([]any)
		switch {
		case o == nil:
		case isList && m["kind"] == "List":
			all = append(all, items...)
		default:
			all = append(all, o)
		}
	}
}

// identity names a Kubernetes object; "" is none.
func identity(o any) string {
	m, _ := o.(map[string]any)
	meta, _ := m["metadata"].(map[string]any)
	if m["kind"] == nil || meta["name"] == nil {
		return ""
	}
	if meta["namespace"] != nil {
		return fmt.Sprintf("%v %v/%v", m["kind"], meta["namespace"], meta["name"])
	}
	return fmt.Sprintf("%v %v", m["kind"], meta["name"])
}

// compareAll compares documents, whatever their order if they are Kubernetes
// objects. Exact means that there must be no other documents or fields.
func compareAll(got, wanted []any, exact bool) []string {
	var findings []string
	rest := slices.Clone(got)
	for n, w := range wanted {
		id := identity(w)
		i := slices.IndexFunc(rest, func(o any) bool { return identity(o) == id })
		if id == "" {
			id = fmt.Sprintf("document %d", n+1)
		}
		if i < 0 {
			findings = append(findings, id+": missing")
			continue
		}
		compare(id+": ", "", rest[i], w, exact, &findings)
		rest = slices.Delete(rest, i, i+1)
	}
	if exact {
		for _, o := range rest {
			id := identity(o)
			if id == "" {
				id = "a document"
			}
			findings = append(findings, id+": not wanted")
		}
	}
	return findings
}

// compare adds a line for every field that differs.
func compare(prefix, path string, got, wanted any, exact bool, findings *[]string) {
	add := func(path, format string, args ...any) {
		*findings = append(*findings, prefix+strings.TrimPrefix(path, ".")+" "+fmt.Sprintf(format, args...))
	}
	switch w := wanted.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			add(path, "is %s instead of fields", show(got))
			return
		}
		for _, key := range slices.Sorted(maps.Keys(w)) {
			value, ok := g[key]
			if !ok {
				add(path+"."+key, "is missing, should be %s", show(w[key]))
				continue
			}
			compare(prefix, path+"."+key, value, w[key], exact, findings)
		}
		if exact {
			for _, key := range slices.Sorted(maps.Keys(g)) {
				if _, ok := w[key]; !ok {
					add(path+"."+key, "is %s, should not be there", show(g[key]))
				}
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			add(path, "is %s instead of %s", show(got), show(wanted))
			return
		}
		for i := range w {
			compare(prefix, fmt.Sprintf("%s[%d]", path, i), g[i], w[i], exact, findings)
		}
	default:
		if !reflect.DeepEqual(got, wanted) {
			add(path, "is %s instead of %s", show(got), show(wanted))
		}
	}
}

// show spells a value so that a string and a number look different.
func show(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	b, err := yaml.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Join(strings.Fields(string(b)), " ")
}
