package yamlpos

import (
	"strings"
	"testing"
)

func TestInText(t *testing.T) {
	for name, content := range map[string]string{
		"plain":           "a:\n  b: x && HERE\n",
		"plain, lines":    "a:\n  b: x &&\n    y  &&\n\n     HERE\n",
		"single quotes":   "a: {b: 'x[''ä''] && HERE'}\n",
		"double quotes":   "a: {b: \"x[\\\"ä\\\"] &&\\n \\u0061 HERE\"}\n",
		"double, lines":   "a:\n  b: \"x \\\n    && HERE\"\n",
		"literal":         "a:\n  b: |\n     x &&\n       (y\n\n     || HERE)\n",
		"literal, CRLF":   "a:\r\n  b: |-\r\n    x &&\r\n    HERE\r\n",
		"literal, indent": "a:\n  b: |2\n      x &&\n    HERE\n",
		"folded":          "a:\n  b: >-\n    x &&\n    (y ||\n      HERE)\n",
		"other letters":   "a:\n  \"ä\": 1\n  b: 'ä' \n  c: {ü: 'ß HERE'}\n",
	} {
		documents, err := Documents(strings.NewReader(content))
		if err != nil {
			t.Fatal(name, err)
		}
		value := Value(documents[0].Content[0], "a", "b")
		if name == "other letters" {
			value = Value(documents[0].Content[0], "a", "c", "ü")
		}
		before, _, _ := strings.Cut(content, "HERE")
		wantLine := 1 + strings.Count(before, "\n")
		wantColumn := 1 + len([]rune(before[strings.LastIndex(before, "\n")+1:]))
		line, column := InText([]byte(content), value, strings.Index(value.Value, "HERE"))
		if line != wantLine || column != wantColumn {
			t.Errorf("%s: %d:%d, want %d:%d", name, line, column, wantLine, wantColumn)
		}
		if line, column := InText([]byte("another file"), value, 3); line != value.Line || column != value.Column {
			t.Errorf("%s: %d:%d in a file that is another", name, line, column)
		}
	}
}
