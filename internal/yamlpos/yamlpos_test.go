package yamlpos

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const document = `# comment
base: &base
  a: {x: 1}
  list: [first, {y: 2}]
own:
  <<: *base
  b: *base
twice: {<<: [{c: 3}, *base], a: 4}
nothing:
`

func root(t *testing.T, text string) *yaml.Node {
	t.Helper()
	documents, err := Documents(strings.NewReader(text))
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	return documents[0].Content[0]
}

func TestText(t *testing.T) {
	node := root(t, document)
	for path, want := range map[string]string{
		"base a x":   "1",
		"own a x":    "1", // by a merge key
		"own b a x":  "1", // by an alias
		"twice c":    "3",
		"twice a":    "4", // its own wins
		"own a":      "",
		"own none x": "",
		"nothing":    "",
	} {
		if got := Text(node, strings.Fields(path)...); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if !IsNull(Value(node, "nothing")) || !IsNull(Value(node, "none")) || IsNull(Value(node, "own")) {
		t.Error("only nothing and none are null")
	}
}

func TestEndlessMerge(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("a0: &a0 {}\n")
	for i := range 12 {
		a, b := string(rune('a'+i)), string(rune('b'+i))
		if i == 0 {
			a = "a0"
		}
		text.WriteString(b + ": &" + b + " {<<: [*" + a + ", *" + a + "]}\n")
	}
	node := root(t, text.String()+"last: {<<: *m}\n")
	if got := Value(node, "last", "missing"); got != nil {
		t.Errorf("found %q", got.Value)
	}
}

func TestClosest(t *testing.T) {
	node := root(t, document)
	for _, test := range []struct {
		path         string
		line, column int
	}{
		{"", 2, 1},
		{"none", 2, 1},
		{"base a x", 3, 7},
		{"base list 1 y", 4, 18},
		{"base list 1", 4, 17},
		{"base list 2", 4, 3},
		{"base list -1", 4, 3},
		{"own b a", 3, 3},
		{"own b none", 7, 3},
	} {
		if key, _ := Closest(node, strings.Fields(test.path)...); key.Line != test.line || key.Column != test.column {
			t.Errorf("%q is at %d:%d, want %d:%d", test.path, key.Line, key.Column, test.line, test.column)
		}
	}
	if key, value := Closest(nil, "a"); key != nil || value != nil {
		t.Error("nothing has a field")
	}
}

func TestDocumentsBeforeAnError(t *testing.T) {
	documents, err := Documents(strings.NewReader("a: 1\n---\n---\nb: [\n"))
	if err == nil || len(documents) != 2 || Text(documents[0].Content[0], "a") != "1" || !IsNull(documents[1].Content[0]) {
		t.Errorf("%d documents, %v", len(documents), err)
	}
	if documents, err := Documents(strings.NewReader("# nothing\n")); err != nil || len(documents) != 0 {
		t.Errorf("%d documents, %v", len(documents), err)
	}
}

func TestFields(t *testing.T) {
	var keys []string
	for key := range Fields(root(t, document)) {
		if keys = append(keys, key.Value); key.Value == "own" {
			break
		}
	}
	if got := strings.Join(keys, " "); got != "base own" {
		t.Errorf("keys are %s", got)
	}
	for range Fields(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{{}, {}}}) {
		t.Error("a list has no fields")
	}
}
