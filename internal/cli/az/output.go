package az

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/jmespath/go-jmespath"
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

func newAzPrinter(g global, columns []string) (*printer, error) {
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

func (p *printer) print(w io.Writer, v any) error {
	v, err := plainJSON(v)
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

// plainJSON is a value as maps, lists, texts and numbers.
func plainJSON(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	err = json.Unmarshal(b, &out)
	return out, err
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
