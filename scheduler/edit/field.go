package edit

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
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
