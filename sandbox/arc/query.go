package arc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The tables of the graph that there are.
const (
	tableConfigurations = "kubernetesconfigurationresources"
	tableClusters       = "resources"
)

// query is the part of the graph's language that kalypso, and the scripts of
// the original, speak: a table and the operators where, project, order by, take
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

// lex splits a query into words, literals and signs.
func lex(s string) ([]word, error) {
	var all []word
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '\'' || c == '"':
			text, length, err := literal(s[i:])
			if err != nil {
				return nil, err
			}
			all = append(all, word{text, true})
			i += length
		case isName(c):
			from := i
			for i < len(s) && isName(s[i]) {
				i++
			}
			all = append(all, word{s[from:i], false})
		default:
			sign := s[i : i+1]
			for _, two := range []string{"==", "=~", "!=", "!~"} {
				if strings.HasPrefix(s[i:], two) {
					sign = two
				}
			}
			all = append(all, word{sign, false})
			i += len(sign)
		}
	}
	return all, nil
}

// isName is true for what names, paths and numbers are made of.
func isName(c byte) bool {
	return c == '_' || c == '.' || c == '-' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// literal reads a quoted text at the beginning of s, and how long it is there.
func literal(s string) (string, int, error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case s[0]:
			return b.String(), i + 1, nil
		case '\\':
			i++
			if i == len(s) {
				break
			}
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			default:
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return "", 0, errors.New("a text in quotes has no end")
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
	if w.text == "" || w.quoted || !isName(w.text[0]) {
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
