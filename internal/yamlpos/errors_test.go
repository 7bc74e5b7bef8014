package yamlpos

import (
	"strings"
	"testing"
)

func TestExplainError(t *testing.T) {
	tests := []struct {
		content string
		line    int
		message string
	}{
		{"a: b: c", 1, "mapping values are not allowed in this context"},
		{"a: 1\nb: c: d\n", 2, "mapping values are not allowed in this context"},
		{"a: 1\nb: [\nc: 2\n", 2, "did not find expected ',' or ']'"},
		{"a: 1\nb: {\n", 2, "did not find expected node content"},
		{"a: 1\n\tb: 1\n", 2, "found a tab character that violates indentation"},
		{"[", 1, "did not find expected node content"},
		{"a: 1\nb: *x\n", 2, "unknown anchor 'x' referenced"},
		{"a: 1\nb: \"\n\n\n", 2, "found unexpected end of stream"},
	}
	for _, test := range tests {
		_, err := Documents(strings.NewReader(test.content))
		if err == nil {
			t.Errorf("%q is YAML", test.content)
			continue
		}
		if line, message := ExplainError([]byte(test.content), err); line != test.line || message != test.message {
			t.Errorf("%q: line %d: %s; want line %d: %s", test.content, line, message, test.line, test.message)
		}
	}
}
