package yamlpos

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Checker collects the mistakes in a configuration file, each with its file and line.
type Checker struct {
	File     string
	Document *yaml.Node
	wrong    []error
}

// Add adds a mistake about the field at a path.
func (c *Checker) Add(message string, path ...string) {
	c.wrong = append(c.wrong, fmt.Errorf("%s:%d: %s", c.File, LineOf(c.Document, path), message))
}

// Err is all that was added, nil for nothing.
func (c *Checker) Err() error { return errors.Join(c.wrong...) }

// LineOf is the line of a field, or of the closest mapping that should hold it.
// A list's elements are named by their index.
func LineOf(document *yaml.Node, path []string) int {
	if len(document.Content) == 0 {
		return 1
	}
	key, _ := Closest(document.Content[0], path...)
	return key.Line
}

// DecodeConfig decodes a configuration file in YAML or JSON, and returns its nodes.
// Errors begin with file and line; an unknown field is one.
func DecodeConfig(file string, data []byte, into any) (*yaml.Node, error) {
	document := new(yaml.Node)
	data = spaced(data)
	if err := yaml.Unmarshal(data, document); err != nil {
		return nil, positioned(file, data, err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil && len(document.Content) > 0 {
		return nil, positioned(file, data, err)
	}
	return document, nil
}

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

var unknownField = regexp.MustCompile(`^field (\S+) not found in type \S+$`)

// positioned words an error of the YAML package about a file as file:line: message.
func positioned(file string, data []byte, err error) error {
	mistakes := []error{err}
	if typed, ok := errors.AsType[*yaml.TypeError](err); ok {
		mistakes = nil
		for _, mistake := range typed.Errors {
			mistakes = append(mistakes, errors.New(mistake))
		}
	}
	var all []error
	for _, mistake := range mistakes {
		line, message := ExplainError(data, mistake)
		if f := unknownField.FindStringSubmatch(message); f != nil {
			message = fmt.Sprintf("unknown field %q", f[1])
			if strings.Contains(strings.ToLower(f[1]), "token") {
				message += ": a token is not in this file, which names where it is: tokenFile or tokenEnv"
			}
		}
		all = append(all, fmt.Errorf("%s:%d: %s", file, line, message))
	}
	return errors.Join(all...)
}
