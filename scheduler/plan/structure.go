package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"go.yaml.in/yaml/v3"
)

// A text that a template prints without quotes can end the value that it stands
// for and begin another, or another document. So a result is compared with what it
// is when each text of the workload is a plain word: the documents must have the
// same nodes, and objects must have the kinds that the platform gave them. Templates
// may decide by what a workload provides which documents to make: both results come
// from one execution.

// structureError reports a workload's text that is more than a text in a result.
type structureError struct {
	line     int            // of the template, from 1; 0 when unknown
	text     string         // that the template has printed
	position model.Position // of the text in the workload, when it is known
}

func (e *structureError) Error() string {
	return fmt.Sprintf("%.100q, from the workload, would change the structure of the result", e.text)
}

func parseNodes(text string) ([]*yaml.Node, error) {
	documents, err := yamlpos.Documents(strings.NewReader(text))
	if err != nil {
		return nil, yamlError(text, err)
	}
	return documents, nil
}

// parseYAML returns the documents of a rendered text, and what those that are not
// empty hold, or where it is not YAML.
func parseYAML(text string) ([]*yaml.Node, []any, error) {
	nodes, err := parseNodes(text)
	if err != nil {
		return nil, nil, err
	}
	var documents []any
	for _, node := range nodes {
		var document any
		if err := node.Decode(&document); err != nil {
			return nil, nil, yamlError(text, err)
		}
		if document != nil {
			documents = append(documents, document)
		}
	}
	return nodes, documents, nil
}

func yamlError(text string, err error) error {
	line, message := yamlpos.ExplainError([]byte(text), err)
	return &renderError{line: line, message: message}
}

// checkStructure finds a workload's text that the structure of a result in YAML
// depends on. The documents are those of the result.
func (r rendition) checkStructure(documents []*yaml.Node) error {
	if len(r.printed) == 0 {
		return nil
	}
	text, err := r.worded(-1)
	if err != nil {
		return err
	}
	worded, err := parseNodes(text)
	if err == nil && sameStructure(documents, worded) {
		return nil
	}
	return r.offendingText(func(text string) bool {
		documents, err := parseNodes(text)
		return err == nil && sameStructure(documents, worded)
	})
}

// Limits of the search for the offending text.
const (
	maxSuspects     = 100
	maxSuspectBytes = 4 * maxOutput
)

// offendingText reports the first text because of which alone a result differs from
// that in words, and the first of all where none does that alone.
func (r rendition) offendingText(asInWords func(string) bool) error {
	offending := r.printed[0]
	for n, p := range r.printed[:min(len(r.printed), maxSuspects, 1+maxSuspectBytes/(1+len(r.marked)))] {
		text, err := r.worded(n)
		if err != nil {
			return err
		}
		if !asInWords(text) {
			offending = p
			break
		}
	}
	return &structureError{line: offending.line, text: offending.text}
}

func sameStructure(documents, others []*yaml.Node) bool {
	return slices.EqualFunc(documents, others, func(a, b *yaml.Node) bool {
		return sameShape(a, b) && slices.EqualFunc(a.Content, b.Content, sameIdentity)
	})
}

func sameShape(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && slices.EqualFunc(a.Content, b.Content, sameShape)
}

// sameIdentity compares what names the kinds of two objects, and of the objects in
// two lists. Both have the same shape.
func sameIdentity(a, b *yaml.Node) bool {
	if a.Kind != yaml.MappingNode {
		return true
	}
	for i := 0; i+1 < len(a.Content); i += 2 {
		name, other := a.Content[i].Value, b.Content[i].Value
		value, otherValue := a.Content[i+1], b.Content[i+1]
		switch {
		case name != other && (identifiesKind(name) || identifiesKind(other)),
			name == "items" && !slices.EqualFunc(value.Content, otherValue.Content, sameIdentity),
			name != "items" && identifiesKind(name) && value.Value != otherValue.Value:
			return false
		}
	}
	return true
}

// identifiesKind says whether a field names an object's kind, or holds objects or
// fields that do.
func identifiesKind(name string) bool {
	return slices.Contains([]string{"apiVersion", "kind", "items", "<<"}, name)
}

// The output of a template for a shell is read as commands or as a file of
// variables. A workload's text must not end the word or the quotes that it stands
// in: all that means something to a shell must be the same in words.

// checkShell finds a workload's text that means something to a shell.
func (r rendition) checkShell() error {
	if len(r.printed) == 0 {
		return nil
	}
	text, err := r.text()
	if err != nil {
		return err
	}
	worded, err := r.worded(-1)
	if err != nil {
		return err
	}
	want := shellSigns(worded)
	if shellSigns(text) == want {
		return nil
	}
	return r.offendingText(func(text string) bool { return shellSigns(text) == want })
}

// shellSigns returns the characters of a text that mean something to a shell
// where they stand, in order. It knows words, quotes and comments. What follows
// anything in which these mean something else (a here-document, a substitution
// in quotes) counts unless it is a letter, a digit or the like.
func shellSigns(text string) string {
	var signs strings.Builder
	state := byte(0) // or the quotes that are open, or '*' when that is not known
	wordBegins := true
	for i := 0; i < len(text); i++ {
		c := text[i]
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		sign := !inShellWord(c)
		switch state {
		case '\'':
			sign = c == '\'' || c == '\n'
			if c == '\'' {
				state = 0
			}
		case '"':
			sign = strings.IndexByte("\"$`\\\n", c) >= 0
			switch {
			case c == '"':
				state = 0
			case c == '$' && (next == '(' || next == '{'), c == '`':
				state = '*'
			case c == '\\' && next != 0:
				signs.WriteByte(c)
				i++
				c, sign = next, !inShellWord(next)
			}
		case 0:
			switch {
			case c == '#' && wordBegins:
				signs.WriteByte(c)
				for i+1 < len(text) && text[i+1] != '\n' {
					i++
				}
				continue
			case c == '\'' || c == '"':
				state = c
			case c == '$' && next == '\'', c == '<' && next == '<', c == '`':
				state = '*'
			case c == '\\' && next != 0:
				signs.WriteByte(c)
				i++
				c, sign = next, !inShellWord(next)
			}
			wordBegins = strings.IndexByte(" \t\n;&|()", c) >= 0
		}
		if sign {
			signs.WriteByte(c)
		}
	}
	return signs.String()
}

// inShellWord says whether a byte is always part of a word and nothing else.
func inShellWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= 0x80 || strings.IndexByte("_@%+=:,./-", c) >= 0
}
