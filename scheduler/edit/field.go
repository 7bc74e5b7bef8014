package edit

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
)

// errPosition is about text that is not where the YAML parser says.
var errPosition = errors.New("the field is not where it should be")

// document is one of a YAML file, to be edited where it stands.
type document struct {
	content []byte
	lines   [][]byte // of the content, with their ends
	root    *yaml.Node
	index   int // of the document in the file
}

// SetField returns a YAML file in which the field at a path of one of its documents has a
// value: a string, or what JSON can hold. Mappings that are not there yet are made; the index
// behind the end of a list appends to it. All else stays as it is, byte for byte. The error is
// a [*FieldError] about a file that is written in a way that cannot be edited so.
func SetField(content []byte, index int, path []string, value any) ([]byte, error) {
	return change(content, index, path, value, (*document).set)
}

// RemoveField returns a YAML file without the field, or the element of a list, at a path of
// one of its documents.
func RemoveField(content []byte, index int, path []string) ([]byte, error) {
	return change(content, index, path, nil, func(d *document, path []string, _ any) ([]byte, error) { return d.remove(path) })
}

func change(content []byte, index int, path []string, value any, edit func(*document, []string, any) ([]byte, error)) ([]byte, error) {
	d, err := open(content, index)
	if err != nil {
		return nil, err
	}
	edited, err := edit(d, path, value)
	if err != nil {
		return nil, d.failure(path, err)
	}
	if err := d.verify(edited, path, value); err != nil {
		return nil, d.failure(path, err)
	}
	return edited, nil
}

func open(content []byte, index int) (*document, error) {
	documents, err := yamlpos.Documents(bytes.NewReader(content))
	if err != nil {
		line, message := yamlpos.ExplainError(content, err)
		return nil, &FieldError{line, errors.New(message)}
	}
	if index >= len(documents) || len(documents[index].Content) == 0 {
		return nil, fmt.Errorf("there is no document %d", index+1)
	}
	return &document{content: content, lines: bytes.SplitAfter(content, []byte("\n")), root: documents[index].Content[0], index: index}, nil
}

// FieldError is about a field that cannot be edited where it stands.
type FieldError struct {
	Line int
	Err  error
}

func (e *FieldError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Err) }

func (e *FieldError) Unwrap() error { return e.Err }

func (d *document) failure(path []string, err error) error {
	key, _ := yamlpos.Closest(d.root, path...)
	return &FieldError{key.Line, fmt.Errorf("%s cannot be edited in place: %w", strings.Join(path, "."), err)}
}

// set gives the field at a path a value.
func (d *document) set(path []string, value any) ([]byte, error) {
	parent, rest, err := d.parent(path)
	if err != nil {
		return nil, err
	}
	name := rest[0]
	for _, missing := range slices.Backward(rest[1:]) {
		value = map[string]any{missing: value}
	}
	key, old := yamlpos.Field(parent, name)
	switch {
	case old != nil && old.Anchor != "":
		return nil, fmt.Errorf("its value has the anchor &%s, so it is that of other fields, too", old.Anchor)
	case parent.Style&yaml.FlowStyle != 0:
		return d.replaceFlow(parent, name, value)
	case old == nil && len(parent.Content) == 0:
		return nil, errors.New("it is in something that holds nothing")
	case old == nil:
		return d.append(parent, name, value)
	}
	if edited, ok := d.replaceScalar(old, value); ok {
		return edited, nil
	}
	if parent.Kind == yaml.SequenceNode {
		return d.replaceElement(parent, name, value)
	}
	return d.replaceEntry(key, old, value)
}

// remove removes the field at a path.
func (d *document) remove(path []string) ([]byte, error) {
	parent, rest, err := d.parent(path)
	if err != nil {
		return nil, err
	}
	key, old := yamlpos.Field(parent, rest[0])
	switch {
	case len(rest) > 1 || old == nil:
		return nil, errors.New("it is not there")
	case old.Anchor != "":
		return nil, fmt.Errorf("its value has the anchor &%s, so it is that of other fields, too", old.Anchor)
	case parent.Style&yaml.FlowStyle != 0:
		return d.removeFlow(parent, rest[0])
	case len(parent.Content) <= 2 && parent.Kind == yaml.MappingNode || len(parent.Content) == 1:
		return d.empty(parent)
	}
	begin, end, alone, err := d.entry(parent, key)
	if err != nil {
		return nil, err
	}
	if !alone {
		return nil, errors.New("it does not begin its line")
	}
	return slices.Concat(d.content[:begin], d.content[end:]), nil
}

// parent is the mapping or list that has, or is to have, the first field of the rest of a path.
func (d *document) parent(path []string) (parent *yaml.Node, rest []string, err error) {
	parent = d.root
	for i, name := range path {
		_, value := yamlpos.Field(parent, name)
		if value == nil || i == len(path)-1 || yamlpos.IsNull(value) {
			switch {
			case parent.Kind == yaml.MappingNode:
			case parent.Kind == yaml.SequenceNode && (value != nil || name == strconv.Itoa(len(parent.Content))):
			default:
				return nil, nil, errors.New("what holds it is neither a mapping nor a list that long")
			}
			return parent, path[i:], nil
		}
		if value.Kind == yaml.AliasNode {
			return nil, nil, fmt.Errorf("it is in what the anchor &%s names, so it is that of other fields, too", value.Value)
		}
		if value.Anchor != "" {
			return nil, nil, fmt.Errorf("it is in a value with the anchor &%s, so it is that of other fields, too", value.Anchor)
		}
		parent = value
	}
	return nil, nil, errors.New("there is no field to edit")
}

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
	end := d.end(key.Line, key.Column, old.Kind == yaml.SequenceNode)
	if begin < 0 {
		return nil, errPosition
	}
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

// replaceFlow sets a field of a mapping or list between brackets.
func (d *document) replaceFlow(parent *yaml.Node, name string, value any) ([]byte, error) {
	node, err := nodeOf(value)
	if err != nil {
		return nil, err
	}
	flow(node)
	return d.rewriteFlow(parent, func(copied *yaml.Node) {
		for i := 0; copied.Kind == yaml.MappingNode && i+1 < len(copied.Content); i += 2 {
			if copied.Content[i].Value == name {
				if old := copied.Content[i+1]; old.Kind == yaml.ScalarNode && node.Kind == yaml.ScalarNode && old.ShortTag() == "!!str" {
					node.Style = old.Style
				}
				copied.Content[i+1] = node
				return
			}
		}
		if copied.Kind == yaml.MappingNode {
			copied.Content = append(copied.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, node)
			return
		}
		if i, _ := strconv.Atoi(name); i < len(copied.Content) {
			copied.Content[i] = node
		} else {
			copied.Content = append(copied.Content, node)
		}
	})
}

func (d *document) removeFlow(parent *yaml.Node, name string) ([]byte, error) {
	return d.rewriteFlow(parent, func(copied *yaml.Node) {
		width := 1
		i, _ := strconv.Atoi(name)
		if copied.Kind == yaml.MappingNode {
			width = 2
			for i = 0; copied.Content[i].Value != name; {
				i += 2
			}
		}
		copied.Content = slices.Delete(copied.Content, i, i+width)
	})
}

// rewriteFlow writes what is between brackets anew, on one line.
func (d *document) rewriteFlow(parent *yaml.Node, edit func(*yaml.Node)) ([]byte, error) {
	begin := d.offset(parent.Line, parent.Column)
	if begin < 0 || begin >= len(d.content) || d.content[begin] != '{' && d.content[begin] != '[' {
		return nil, errPosition
	}
	end := closing(d.content, begin)
	if end < 0 {
		return nil, errPosition
	}
	copied := *parent
	copied.Content = slices.Clone(parent.Content)
	copied.HeadComment, copied.LineComment, copied.FootComment = "", "", "" // they are outside of the brackets
	edit(&copied)
	text, err := encode(&copied)
	if err != nil {
		return nil, err
	}
	return slices.Concat(d.content[:begin], bytes.TrimSuffix(text, []byte("\n")), d.content[end:]), nil
}

// closing is where what opens with a bracket has ended, -1 where it does not.
func closing(content []byte, begin int) int {
	depth := 0
	for i := begin; i < len(content); i++ {
		switch c := content[i]; c {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"', '\'':
			if before := content[i-1]; !bytes.ContainsRune([]byte(" \t\n,:{["), rune(before)) {
				continue // within a plain text
			}
			for i++; i < len(content) && content[i] != c; i++ {
				if c == '"' && content[i] == '\\' {
					i++
				}
			}
		}
	}
	return -1
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

// verify makes sure that an edited file says what it said, but for one field, with all its
// comments: the edit goes by lines and columns, and YAML can be written in many ways.
func (d *document) verify(edited []byte, path []string, value any) error {
	unsafe := errors.New("the file is written in a way that cannot be edited safely: edit it by hand")
	before, err := values(d.content)
	if err != nil {
		return err
	}
	after, err := values(edited)
	if err != nil || len(after) != len(before) {
		return unsafe
	}
	if before[d.index], err = with(before[d.index], path, value); err != nil {
		return err
	}
	if !reflect.DeepEqual(before, after) {
		return unsafe
	}
	left := map[string]int{}
	for _, comment := range commentLines(edited) {
		left[comment]++
	}
	for _, comment := range commentLines(d.content) {
		if left[comment]--; left[comment] < 0 {
			return errors.New("a comment would be lost: edit it by hand")
		}
	}
	return nil
}

// commentLines are the lines that are comments alone. In a text of several lines they are
// none, but they stay, too.
func commentLines(content []byte) []string {
	var all []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

// values are those of all documents, as JSON has them.
func values(content []byte) ([]any, error) {
	nodes, err := yamlpos.Documents(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	all := make([]any, len(nodes))
	for i, node := range nodes {
		if err := node.Decode(&all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// with is a value with the field at a path changed, which nil removes.
func with(in any, path []string, value any) (any, error) {
	if len(path) == 0 {
		return normal(value)
	}
	switch in := in.(type) {
	case nil:
		below, err := with(nil, path[1:], value)
		return map[string]any{path[0]: below}, err
	case map[string]any:
		if len(path) == 1 && value == nil {
			delete(in, path[0])
			return in, nil
		}
		below, err := with(in[path[0]], path[1:], value)
		in[path[0]] = below
		return in, err
	case []any:
		i, err := strconv.Atoi(path[0])
		switch {
		case err != nil || i < 0 || i > len(in):
			return nil, fmt.Errorf("a list of %d has no element %s", len(in), path[0])
		case len(path) == 1 && value == nil:
			return slices.Delete(in, i, i+1), nil
		case i == len(in):
			in = append(in, nil)
		}
		in[i], err = with(in[i], path[1:], value)
		return in, err
	}
	return nil, fmt.Errorf("%s is in a value that is no mapping", path[0])
}

// normal is a value as the YAML package decodes it.
func normal(value any) (normalized any, err error) {
	text, err := encode(value)
	if err == nil {
		err = yaml.Unmarshal(text, &normalized)
	}
	return normalized, err
}

func nodeOf(value any) (*yaml.Node, error) {
	node, isNode := value.(*yaml.Node)
	if isNode {
		return node, nil
	}
	node = new(yaml.Node)
	err := node.Encode(value)
	return node, err
}

// flow has a node written on one line.
func flow(node *yaml.Node) {
	node.Style |= yaml.FlowStyle
	if node.Kind == yaml.ScalarNode {
		node.Style = 0
		if strings.ContainsAny(node.Value, "\r\n") {
			node.Style = yaml.DoubleQuotedStyle
		}
	}
	for _, child := range node.Content {
		flow(child)
	}
}

func encode(value any) ([]byte, error) {
	node, err := nodeOf(value)
	if err != nil {
		return nil, err
	}
	quoteNumbers(node)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// numeric are texts that some YAML reader takes for a number, and this package's does not.
var numeric = regexp.MustCompile(`^[0-9]+e[0-9]+$`)

// quoteNumbers has texts that look like numbers written between quotes, as a commit of digits.
func quoteNumbers(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.Style == 0 && node.ShortTag() == "!!str" && numeric.MatchString(node.Value) {
		node.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range node.Content {
		quoteNumbers(child)
	}
}
