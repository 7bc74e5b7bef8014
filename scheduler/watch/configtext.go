package watch

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// spaced turns the tabs that JSON may be indented with into spaces, which YAML
// insists on.
func spaced(data []byte) []byte {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return data
	}
	lines := bytes.Split(data, []byte("\n"))
	for i, line := range lines {
		text := bytes.TrimLeft(line, " \t")
		indent := bytes.ReplaceAll(line[:len(line)-len(text)], []byte("\t"), []byte(" "))
		lines[i] = append(indent, text...)
	}
	return bytes.Join(lines, []byte("\n"))
}

var (
	yamlLine     = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	unknownField = regexp.MustCompile(`^field (\S+) not found in type \S+$`)
)

// positioned words an error of the YAML package as file:line: message.
func positioned(file string, err error) error {
	lines := []string{err.Error()}
	var typed *yaml.TypeError
	if errors.As(err, &typed) {
		lines = typed.Errors
	}
	var all []error
	for _, line := range lines {
		m := yamlLine.FindStringSubmatch(line)
		if m == nil {
			all = append(all, fmt.Errorf("%s: %s", file, strings.TrimPrefix(line, "yaml: ")))
			continue
		}
		message := m[2]
		if f := unknownField.FindStringSubmatch(message); f != nil {
			message = fmt.Sprintf("unknown field %q", f[1])
			if strings.Contains(strings.ToLower(f[1]), "token") {
				message += ": a token is not in this file, which names where it is: tokenFile or tokenEnv"
			}
		}
		all = append(all, fmt.Errorf("%s:%s: %s", file, m[1], message))
	}
	return errors.Join(all...)
}

// lineOf is the line of a field, or of the closest mapping that should hold it.
// A list's elements are named by their index.
func lineOf(document *yaml.Node, path []string) int {
	if len(document.Content) == 0 {
		return 1
	}
	node, line := document.Content[0], 1
	for _, name := range path {
		key, value := child(node, name)
		if value == nil {
			return line
		}
		line, node = key.Line, value
	}
	return line
}

// child returns what a mapping or a list has under a name, and what the name
// is written in.
func child(node *yaml.Node, name string) (key, value *yaml.Node) {
	if index, err := strconv.Atoi(name); err == nil && node.Kind == yaml.SequenceNode && index < len(node.Content) {
		return node.Content[index], node.Content[index]
	}
	for i := 0; i+1 < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}
