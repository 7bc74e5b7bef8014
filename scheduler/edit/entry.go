package edit

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
)

// replaceScalar puts a string in the place of another on one line, and says whether it could.
func (d *document) replaceScalar(old *yaml.Node, value any) ([]byte, bool) {
	text, isString := value.(string)
	if !isString || old.Kind != yaml.ScalarNode || old.Style&yaml.TaggedStyle != 0 || strings.ContainsAny(text, "\r\n") {
		return nil, false
	}
	var was string
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	switch {
	case old.Style == 0 && old.Value != "":
		was = old.Value
	case old.Style&yaml.DoubleQuotedStyle != 0:
		was, node.Style = `"`+old.Value+`"`, yaml.DoubleQuotedStyle
	case old.Style&yaml.SingleQuotedStyle != 0:
		was, node.Style = `'`+strings.ReplaceAll(old.Value, `'`, `''`)+`'`, yaml.SingleQuotedStyle
	default:
		return nil, false
	}
	next, err := encode(node)
	at := d.offset(old.Line, old.Column)
	if err != nil || at < 0 || !bytes.HasPrefix(d.content[at:], []byte(was)) {
		return nil, false
	}
	return slices.Concat(d.content[:at], bytes.TrimSuffix(next, []byte("\n")), d.content[at+len(was):]), true
}

// replaceEntry writes a field of a block mapping anew.
func (d *document) replaceEntry(key, old *yaml.Node, value any) ([]byte, error) {
	begin := d.offset(key.Line, key.Column)
	if begin < 0 {
		return nil, errPosition
	}
	end := d.end(key.Line, key.Column, old.Kind == yaml.SequenceNode)
	text, err := d.entryText(key.Line, key.Column, map[string]any{key.Value: value})
	if err != nil {
		return nil, err
	}
	if old.Kind == yaml.ScalarNode && old.LineComment+key.LineComment != "" {
		first, rest, _ := bytes.Cut(text, []byte("\n"))
		comment := []byte(" " + old.LineComment + key.LineComment)
		text = slices.Concat(bytes.TrimSuffix(first, []byte("\r")), comment, d.newline(key.Line), rest)
	}
	return d.splice(begin, end, text), nil
}

// replaceElement writes an element of a block list anew.
func (d *document) replaceElement(list *yaml.Node, name string, value any) ([]byte, error) {
	element, _ := yamlpos.Field(list, name)
	begin, end, alone, err := d.entry(list, element)
	if err != nil {
		return nil, err
	}
	if !alone {
		return nil, errors.New("it does not begin its line")
	}
	text, err := d.entryText(element.Line, list.Column, []any{value})
	if err != nil {
		return nil, err
	}
	return d.splice(begin+list.Column-1, end, text), nil
}

// append adds a field, or an element, behind the last of a block mapping or list.
func (d *document) append(parent *yaml.Node, name string, value any) ([]byte, error) {
	var last *yaml.Node
	var content any
	if parent.Kind == yaml.MappingNode {
		last, content = parent.Content[len(parent.Content)-2], map[string]any{name: value}
	} else {
		last, content = parent.Content[len(parent.Content)-1], []any{value}
	}
	_, end, _, err := d.entry(parent, last)
	if err != nil {
		return nil, err
	}
	text, err := d.entryText(last.Line, parent.Column, content)
	if err != nil {
		return nil, err
	}
	text = slices.Concat(bytes.Repeat([]byte(" "), parent.Column-1), text)
	if d.content[end-1] != '\n' {
		newline := d.newline(1)
		text = slices.Concat(newline, bytes.TrimSuffix(text, newline))
	}
	return slices.Concat(d.content[:end], text, d.content[end:]), nil
}

// empty leaves {} or [] of a block mapping or list.
func (d *document) empty(parent *yaml.Node) ([]byte, error) {
	if parent == d.root {
		return nil, errors.New("the document would hold nothing")
	}
	holder, name := d.holderOf(d.root, parent)
	if holder == nil || holder.Kind != yaml.MappingNode {
		return nil, errors.New("it is the only one of an element of a list")
	}
	key, old := yamlpos.Field(holder, name)
	if parent.Kind == yaml.SequenceNode {
		return d.replaceEntry(key, old, []any{})
	}
	return d.replaceEntry(key, old, map[string]any{})
}

// holderOf is what has a node as a field, and the field's name.
func (d *document) holderOf(in, node *yaml.Node) (holder *yaml.Node, name string) {
	for i, child := range in.Content {
		if child == node {
			if in.Kind == yaml.MappingNode {
				return in, in.Content[i-1].Value
			}
			return in, strconv.Itoa(i)
		}
		if holder, name = d.holderOf(child, node); holder != nil {
			return holder, name
		}
	}
	return nil, ""
}

// entry is where a field of a block mapping, or an element of a block list, begins and ends:
// whole lines. alone says that nothing else is on its first line.
func (d *document) entry(parent, key *yaml.Node) (begin, end int, alone bool, err error) {
	if begin = d.offset(key.Line, 1); begin < 0 || d.offset(key.Line, parent.Column) < 0 {
		return 0, 0, false, errPosition
	}
	before := []rune(string(d.lines[key.Line-1]))[:parent.Column-1]
	return begin, d.end(key.Line, parent.Column, parent.Kind == yaml.MappingNode), strings.Trim(string(before), " ") == "", nil
}

// end is where the entry that begins on a line, in a column, ends. dashes says that a list
// in that very column is a part of it. Empty lines and comments behind it are not.
func (d *document) end(line, column int, dashes bool) int {
	last := line
	for n := line + 1; n <= len(d.lines); n++ {
		text := d.lines[n-1]
		trimmed := bytes.TrimLeft(text, " ")
		indent := len(text) - len(trimmed)
		if len(bytes.TrimSpace(trimmed)) == 0 || trimmed[0] == '#' && indent < column {
			continue
		}
		isElement := bytes.HasPrefix(trimmed, []byte("- ")) || bytes.Equal(bytes.TrimSpace(trimmed), []byte("-"))
		if indent < column && (!dashes || !isElement || indent != column-1) {
			break
		}
		last = n
	}
	at := 0
	for _, l := range d.lines[:last] {
		at += len(l)
	}
	return at
}

// entryText is a mapping of one field, or a list of one element, as it stands behind an
// indentation that ends before a column, beside a line that is there.
func (d *document) entryText(line, column int, value any) ([]byte, error) {
	text, err := encode(value)
	if err != nil {
		return nil, err
	}
	var out []byte
	for i, line := range bytes.SplitAfter(text, []byte("\n")) {
		if i > 0 && len(bytes.TrimSpace(line)) > 0 {
			out = append(out, bytes.Repeat([]byte(" "), column-1)...)
		}
		out = append(out, line...)
	}
	return bytes.ReplaceAll(out, []byte("\n"), d.newline(line)), nil
}

// splice puts text, which ends a line, in place of a part of the content, which may be its last.
func (d *document) splice(begin, end int, text []byte) []byte {
	if d.content[end-1] != '\n' {
		text = bytes.TrimRight(text, "\r\n")
	}
	return slices.Concat(d.content[:begin], text, d.content[end:])
}

// newline is how the file ends a line.
func (d *document) newline(line int) []byte {
	if bytes.HasSuffix(d.lines[line-1], []byte("\r\n")) {
		return []byte("\r\n")
	}
	return []byte("\n")
}

// offset is where a line and column, from 1 and in characters, are in the content; -1 when
// there is no such place.
func (d *document) offset(line, column int) int {
	if line < 1 || line > len(d.lines) {
		return -1
	}
	at := 0
	for _, l := range d.lines[:line-1] {
		at += len(l)
	}
	text := []rune(string(d.lines[line-1]))
	if column < 1 || column-1 > len(text) {
		return -1
	}
	return at + len(string(text[:column-1]))
}
