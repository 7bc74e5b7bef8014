package az

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/jmespath/go-jmespath"
	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"sigs.k8s.io/yaml"
)

// printer prints what a command found as the Azure CLI does.
type printer struct {
	output  string
	query   *jmespath.JMESPath
	order   []string // of the keys that the query makes
	columns []string // of a table, when there is no query
}

var outputs = []string{"json", "jsonc", "table", "tsv", "yaml", "yamlc", "none"}

func newPrinter(g global, columns []string) (*printer, error) {
	p := &printer{output: g.output, columns: columns}
	if !slices.Contains(outputs, g.output) {
		return nil, usage.Errorf("there is no output %q: choose one of %s", g.output, strings.Join(outputs, ", "))
	}
	if g.query == "" {
		return p, nil
	}
	q, err := jmespath.Compile(g.query)
	if err != nil {
		return nil, usage.Errorf("--query %q: %v", g.query, err)
	}
	p.query, p.order, p.columns = q, queryKeys(g.query), nil
	return p, nil
}

func (p *printer) print(w io.Writer, result any) error {
	var v any
	err := convert(result, &v)
	if err != nil {
		return err
	}
	if p.query != nil && v != nil {
		if v, err = p.query.Search(v); err != nil {
			return fmt.Errorf("query: %w", err)
		}
	}
	if v == nil {
		return nil
	}
	switch p.output {
	case "none":
		return nil
	case "table":
		return printTable(w, v, p.columns, p.order)
	case "tsv":
		return printTSV(w, v, p.order)
	case "yaml", "yamlc":
		b, err := yaml.Marshal(v)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// convert makes of a value another one with the same JSON.
func convert(from, to any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}

var queryKey = regexp.MustCompile(`[{,]\s*("[^"]*"|[A-Za-z_][A-Za-z0-9_]*)\s*:`)

// queryKeys are the keys that a query makes, as in {name: name, state: x}, in
// their order: a map has none, and Azure keeps it.
func queryKeys(query string) []string {
	var keys []string
	for _, m := range queryKey.FindAllStringSubmatch(query, -1) {
		keys = append(keys, strings.Trim(m[1], `"`))
	}
	return keys
}

// flat is a resource as the Azure CLI prints it: its properties beside its
// name, and its resource group.
// It passes an error on.
func flat(resource any, err error) (map[string]any, error) {
	var m map[string]any
	if err == nil {
		err = convert(resource, &m)
	}
	if err != nil {
		return nil, err
	}
	properties, _ := m["properties"].(map[string]any)
	delete(m, "properties")
	for k, one := range properties {
		m[k] = one
	}
	if id, _ := m["id"].(string); id != "" {
		if c, err := armapi.ParseClusterID(id); err == nil {
			m["resourceGroup"] = c.ResourceGroup
		}
	}
	if g, ok := m["gitRepository"].(map[string]any); ok {
		g["httpsCaCert"] = g["httpsCACert"]
		delete(g, "httpsCACert")
		m["azureBlob"], m["bucket"], m["configurationProtectedSettings"] = nil, nil, map[string]any{}
	}
	times(m)
	return m, nil
}

func flatAll[T any](resources []T, err error) ([]map[string]any, error) {
	all := []map[string]any{}
	for _, r := range resources {
		m, err := flat(r, err)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, err
}

// times writes times as the Azure CLI does.
func times(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			if s, ok := one.(string); ok && (strings.HasSuffix(k, "At") || strings.HasSuffix(k, "Time")) {
				if rest, ok := strings.CutSuffix(s, "Z"); ok {
					v[k] = rest + "+00:00"
				}
			}
			times(one)
		}
	case []any:
		for _, one := range v {
			times(one)
		}
	}
}
