package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestManifest(t *testing.T) {
	tests := []struct {
		name, document string
		want           []Manifest
	}{
		{"literal", "- |\n  a: b\n  c: {{ .X }}\n", []Manifest{{"a: b\nc: {{ .X }}\n", 2}}},
		{"literal, stripped", "\n\n- |-\n  a: b\n", []Manifest{{"a: b", 4}}},
		{"literal, tagged", "- !!str |\n  a: b\n", []Manifest{{"a: b\n", 2}}},
		{"folded", "- >\n  a\n  b\n", []Manifest{{"a b\n", 0}}},
		{"quoted", "- 'a: b'\n- \"c\\nd\"\n", []Manifest{{"a: b", 1}, {"c\nd", 2}}},
		{"plain", "- a b\n", []Manifest{{"a b", 1}}},
		{"object", "- kind: A\n  metadata:\n    name: \"{{ .X }}\"\n    list: [a, '1']\n", []Manifest{{"kind: A\nmetadata:\n  name: \"{{ .X }}\"\n  list: [a, '1']\n", 0}}},
		{"both", "- a\n- {kind: B}\n", []Manifest{{"a", 1}, {"{kind: B}\n", 0}}},
		{"object with an alias", "- &x {a: b}\n- {kind: B, copy: *x}\n", []Manifest{{"&x {a: b}\n", 0}, {"copy:\n  a: b\nkind: B\n", 0}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []Manifest
			if err := yaml.Unmarshal([]byte(test.document), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("manifests (-want +got):\n%s", diff)
			}
		})
	}
	for _, document := range []string{"- 1\n", "- true\n", "- [a]\n", "- {a: &a {b: *a}}\n"} {
		var got []Manifest
		if err := yaml.Unmarshal([]byte(document), &got); err == nil {
			t.Errorf("%q is taken as %+v", document, got)
		}
	}
}
