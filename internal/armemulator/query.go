package armemulator

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The tables of the graph that there are.
const (
	tableConfigurations = "kubernetesconfigurationresources"
	tableClusters       = "resources"
)

// query is the part of the graph's language that kalypso, and the scripts of
// the original, use: a table and the operators where, project, order by, take
// and count.
type query struct {
	table string
	steps []func([]any) []any
}

func (q *query) run(rows []any) []any {
	for _, step := range q.steps {
		rows = step(rows)
	}
	return rows
}

// parseQuery reads a query. What it does not know is an error that says so: an
// answer to half a query would be wrong.
func parseQuery(source string) (*query, error) {
	words, err := lex(source)
	if err != nil {
		return nil, err
	}
	p := &parser{words: words}
	name := strings.ToLower(p.next().text)
	if name != tableConfigurations && name != tableClusters {
		return nil, fmt.Errorf("there is no table '%s', only '%s' and '%s'", name, tableConfigurations, tableClusters)
	}
	q := &query{table: name}
	for !p.done() {
		if !p.take("|") {
			return nil, fmt.Errorf("'|' is expected instead of '%s'", p.next().text)
		}
		step, err := p.step()
		if err != nil {
			return nil, err
		}
		q.steps = append(q.steps, step)
	}
	return q, nil
}

type word struct {
	text   string
	quoted bool
}

var (
	words    = regexp.MustCompile(`(?s)\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\w.$-]+|==|=~|!=|!~|\S)`)
	escapes  = regexp.MustCompile(`\\.`)
	isColumn = regexp.MustCompile(`^[\w.$-]+$`)
)

// lex splits a query into words, literals and signs.
func lex(s string) ([]word, error) {
	var all []word
	for _, m := range words.FindAllStringSubmatch(s, -1) {
		text := m[1]
		switch {
		case text[0] != '\'' && text[0] != '"':
			all = append(all, word{text, false})
		case len(text) == 1:
			return nil, errors.New("a text in quotes has no end")
		default:
			all = append(all, word{escapes.ReplaceAllStringFunc(text[1:len(text)-1], unescape), true})
		}
	}
	return all, nil
}

func unescape(s string) string {
	switch s[1] {
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	}
	return s[1:]
}

type parser struct{ words []word }

func (p *parser) done() bool { return len(p.words) == 0 }

func (p *parser) next() word {
	if p.done() {
		return word{}
	}
	w := p.words[0]
	p.words = p.words[1:]
	return w
}

// take goes past a word if it is the next.
func (p *parser) take(text string) bool {
	if p.done() || p.words[0].quoted || !strings.EqualFold(p.words[0].text, text) {
		return false
	}
	p.words = p.words[1:]
	return true
}

// column reads a path such as properties.gitRepository.url or properties['a'].
func (p *parser) column() ([]string, error) {
	w := p.next()
	if w.quoted || !isColumn.MatchString(w.text) {
		return nil, fmt.Errorf("a column is expected instead of '%s'", w.text)
	}
	if strings.EqualFold(w.text, "tostring") && p.take("(") {
		path, err := p.column()
		if err == nil && !p.take(")") {
			err = errors.New("')' is expected after tostring(")
		}
		return path, err
	}
	path := strings.Split(w.text, ".")
	for p.take("[") {
		key := p.next()
		if !key.quoted || !p.take("]") {
			return nil, errors.New("a text in quotes and ']' are expected after '['")
		}
		path = append(path, key.text)
	}
	return path, nil
}

// constant reads what a column is compared with.
func (p *parser) constant() (string, error) {
	w := p.next()
	if w.quoted || w.text == "true" || w.text == "false" {
		return w.text, nil
	}
	if _, err := strconv.ParseFloat(w.text, 64); err != nil {
		return "", fmt.Errorf("a text in quotes, a number or a truth value is expected instead of '%s'", w.text)
	}
	return w.text, nil
}

// step reads one operator of a query.
func (p *parser) step() (func([]any) []any, error) {
	switch w := p.next(); strings.ToLower(w.text) {
	case "where":
		return p.where()
	case "project":
		return p.project()
	case "order", "sort":
		if !p.take("by") {
			return nil, fmt.Errorf("'by' is expected after '%s'", w.text)
		}
		return p.order()
	case "take", "limit":
		n, err := strconv.Atoi(p.next().text)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("a number is expected after '%s'", w.text)
		}
		return func(rows []any) []any { return rows[:min(n, len(rows))] }, nil
	case "count":
		return func(rows []any) []any { return []any{map[string]any{"Count": len(rows)}} }, nil
	default:
		return nil, fmt.Errorf("the sandbox does not know the operator '%s', only where, project, order by, take and count", w.text)
	}
}

// where reads conditions that must all be true.
func (p *parser) where() (func([]any) []any, error) {
	var all []func(any) bool
	for {
		path, err := p.column()
		if err != nil {
			return nil, err
		}
		operator := strings.ToLower(p.next().text)
		wanted, err := p.constant()
		if err != nil {
			return nil, err
		}
		test, err := comparison(operator, path, wanted)
		if err != nil {
			return nil, err
		}
		all = append(all, func(row any) bool { return test(plain(at(row, path))) })
		if !p.take("and") {
			break
		}
	}
	return func(rows []any) []any {
		return slices.DeleteFunc(slices.Clone(rows), func(row any) bool {
			return slices.ContainsFunc(all, func(test func(any) bool) bool { return !test(row) })
		})
	}, nil
}

func comparison(operator string, path []string, wanted string) (func(string) bool, error) {
	equal := func(s string) bool { return s == wanted }
	if slices.Equal(path, []string{"properties", "sourceSyncedCommitId"}) {
		equal = func(s string) bool { return sameRevision(s, wanted) }
	}
	fold := func(s string) bool { return strings.EqualFold(s, wanted) }
	switch operator {
	case "==":
		return equal, nil
	case "!=":
		return func(s string) bool { return !equal(s) }, nil
	case "=~":
		return fold, nil
	case "!~":
		return func(s string) bool { return !fold(s) }, nil
	case "contains":
		return func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(wanted)) }, nil
	}
	return nil, fmt.Errorf("the sandbox does not know the comparison '%s', only ==, !=, =~, !~ and contains", operator)
}

// sameRevision takes the two ways to write a revision for the same: Flux writes
// dev@sha1:COMMIT, and the original's wait-for-deployment script asks for
// dev/COMMIT, as Flux wrote it then.
func sameRevision(is, wanted string) bool {
	return is == wanted || is != "" && strings.Replace(is, "@sha1:", "/", 1) == strings.Replace(wanted, "@sha1:", "/", 1)
}

func (p *parser) project() (func([]any) []any, error) {
	var columns [][]string
	for {
		path, err := p.column()
		if err != nil {
			return nil, err
		}
		columns = append(columns, path)
		if !p.take(",") {
			break
		}
	}
	return func(rows []any) []any {
		var out []any
		for _, row := range rows {
			m := map[string]any{}
			for _, path := range columns {
				m[strings.Join(path, "_")] = at(row, path)
			}
			out = append(out, m)
		}
		return out
	}, nil
}

// order sorts by a column, the largest first unless asc is said, as the graph
// does.
func (p *parser) order() (func([]any) []any, error) {
	path, err := p.column()
	if err != nil {
		return nil, err
	}
	sign := -1
	if p.take("asc") {
		sign = 1
	} else {
		p.take("desc")
	}
	return func(rows []any) []any {
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b any) int { return sign * cmp.Compare(plain(at(a, path)), plain(at(b, path))) })
		return rows
	}, nil
}

// at is the value at a path of a row, nil when there is none.
func at(row any, path []string) any {
	for _, key := range path {
		m, ok := row.(map[string]any)
		if !ok {
			return nil
		}
		row = m[key]
	}
	return row
}

// plain is a value as text; nothing is the empty text.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	}
	return fmt.Sprint(v)
}
