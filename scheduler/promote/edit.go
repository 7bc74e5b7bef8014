package promote

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
)

// setCommit returns a file with the field `commit` of a mapping set.
func setCommit(content []byte, spec *yaml.Node, commit string) ([]byte, error) {
	if spec.Kind != yaml.MappingNode || len(spec.Content) == 0 {
		return nil, errors.New("spec is not a mapping with fields")
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	if _, value := yamlpos.Field(spec, "commit"); value != nil {
		return replaceValue(lines, value, commit)
	}
	if spec.Style&yaml.FlowStyle != 0 {
		at := offset(lines, spec.Line, spec.Column)
		if at < 0 || at >= len(content) || content[at] != '{' {
			return nil, errors.New("the mapping is not where it should be")
		}
		return insert(content, at+1, "commit: "+scalar(commit)+", "), nil
	}
	// A new line before the first field is where a block mapping can grow
	// whatever its fields hold. Most files read repo, branch, path: behind the
	// branch is where a reader expects it, if that value ends on its line.
	before := spec.Content[0]
	for i := 0; i+1 < len(spec.Content); i += 2 {
		key, value := spec.Content[i], spec.Content[i+1]
		if i+2 < len(spec.Content) && key.Value == "branch" && value.Kind == yaml.ScalarNode && spec.Content[i+2].Line == value.Line+1 {
			before = spec.Content[i+2]
		}
	}
	at := offset(lines, before.Line, 1)
	if at < 0 || before.Column < 1 || len(lines[before.Line-1]) < before.Column-1 {
		return nil, errors.New("the fields are not where they should be")
	}
	line := lines[before.Line-1]
	indent := string(line[:before.Column-1])
	if strings.Trim(indent, " ") != "" {
		return nil, errors.New("the first field does not begin its line")
	}
	end := "\n"
	if bytes.HasSuffix(line, []byte("\r\n")) {
		end = "\r\n"
	}
	return insert(content, at, indent+"commit: "+scalar(commit)+end), nil
}

// replaceValue puts a commit in place of a scalar on one line.
func replaceValue(lines [][]byte, value *yaml.Node, commit string) ([]byte, error) {
	if value.Kind != yaml.ScalarNode || value.Anchor != "" || value.Style&yaml.TaggedStyle != 0 {
		return nil, errors.New("the present commit is not a plain value")
	}
	if value.Line < 1 || value.Line > len(lines) {
		return nil, errors.New("the present commit is not where it should be")
	}
	var old, next string
	switch {
	case value.Style&yaml.DoubleQuotedStyle != 0:
		old, next = `"`+value.Value+`"`, `"`+commit+`"`
	case value.Style&yaml.SingleQuotedStyle != 0:
		old, next = `'`+value.Value+`'`, `'`+commit+`'`
	case value.Style == 0 && value.Value != "":
		old, next = value.Value, scalar(commit)
	case value.Style == 0: // `commit:` with nothing behind it
		return fillValue(lines, value, commit)
	default:
		return nil, errors.New("the present commit is not a value on one line")
	}
	at := offset(lines, value.Line, value.Column)
	content := bytes.Join(lines, nil)
	if at < 0 || !bytes.HasPrefix(content[at:], []byte(old)) {
		return nil, errors.New("the present commit is not where it should be")
	}
	return append(insert(content[:at:at], at, next), content[at+len(old):]...), nil
}

// fillValue gives a value to a field that has none.
func fillValue(lines [][]byte, value *yaml.Node, commit string) ([]byte, error) {
	line := lines[value.Line-1]
	key := []byte("commit:")
	i := bytes.Index(line, key)
	if i < 0 {
		return nil, errors.New("the field is not where it should be")
	}
	at := offset(lines, value.Line, 1) + i + len(key)
	return insert(bytes.Join(lines, nil), at, " "+scalar(commit)), nil
}

// numeric are commit IDs that some YAML reader takes for a number.
var numeric = regexp.MustCompile(`^[0-9]+(e[0-9]+)?$`)

// scalar words a commit ID as a YAML string.
func scalar(commit string) string {
	if numeric.MatchString(commit) {
		return `"` + commit + `"`
	}
	return commit
}

// offset is where a line and column, from 1 and in characters, are in the
// content; -1 when there is no such place.
func offset(lines [][]byte, line, column int) int {
	if line < 1 || line > len(lines) {
		return -1
	}
	at := 0
	for _, l := range lines[:line-1] {
		at += len(l)
	}
	text := []rune(string(lines[line-1]))
	if column < 1 || column-1 > len(text) {
		return -1
	}
	return at + len(string(text[:column-1]))
}

func insert(content []byte, at int, text string) []byte {
	out := make([]byte, 0, len(content)+len(text))
	out = append(out, content[:at]...)
	out = append(out, text...)
	return append(out, content[at:]...)
}
