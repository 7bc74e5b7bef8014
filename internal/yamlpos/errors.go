package yamlpos

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	yamlErrorLine = regexp.MustCompile(`line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// grammarErrors are the ends of those messages of the YAML parser whose lines
// are counted from 0; all others are counted from 1.
var grammarErrors = []string{
	"node content", "'-' indicator", "expected key", "',' or ']'", "',' or '}'", "<document start>",
}

// ExplainError takes apart an error of the YAML parser about content, which has
// the line only as text: the line, from 1, and the message without it.
func ExplainError(content []byte, err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	message = strings.TrimSpace(strings.TrimPrefix(message, "unmarshal errors:"))
	line = 1 // the parser does not mention the first line
	found := yamlErrorLine.FindStringSubmatchIndex(message)
	if anchor := unknownAnchor.FindStringSubmatch(message); anchor != nil {
		before, _, _ := bytes.Cut(content, []byte("*"+anchor[1]))
		return 1 + bytes.Count(before, []byte("\n")), message
	}
	if found == nil {
		return line, message
	}
	line, _ = strconv.Atoi(message[found[2]:found[3]])
	message = message[:found[0]] + message[found[1]:]
	if slices.ContainsFunc(grammarErrors, func(end string) bool { return strings.HasSuffix(message, end) }) {
		line++
	}
	last := 1 + bytes.Count(bytes.TrimRight(content, "\r\n"), []byte("\n"))
	return min(line, last), message
}
