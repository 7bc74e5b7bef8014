package validate

import (
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

func TestSchemaProblems(t *testing.T) {
	at := model.Position{File: "f.yaml", Line: 7}
	for schema, want := range map[string]string{
		`{}`:                     "",
		`{"required": ["a"]}`:    "", // that nobody provides it is not the schema's fault
		`{`:                      "not valid JSON",
		`{"type": "objekt"}`:     "value must be one of",
		`{"$ref": "http://x/y"}`: "not followed",
	} {
		found, err := schemaProblems(t.Context(), schema, at)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case want == "" && len(found) > 0:
			t.Errorf("%s: %v", schema, found)
		case want != "" && (len(found) != 1 || !strings.Contains(found[0].Message, want) || found[0].Position != at || found[0].ClusterType != ""):
			t.Errorf("%s: %v, want one problem: %s", schema, found, want)
		}
	}
}

func TestTemplateProblems(t *testing.T) {
	for text, want := range map[string]string{
		"a: {{ .ConfigData.x }}":                            "", // that it has no value depends on the assignment
		"{{- define \"x\" }}a{{ end }}{{ template \"x\" }}": "",
		"{{ .Nonsense }}":                                   "",
		"a: b\nc: {{ .X":                                    "line 2 of manifest 1: unclosed action",
		"{{ if }}":                                          "line 1 of manifest 1: missing value for if",
		"\n\n{{ nope }}":                                    `line 3 of manifest 1: function "nope" not defined`,
	} {
		var template model.Template
		template.Name = "t"
		template.Spec.Manifests = []v1alpha1.Manifest{{Text: text, Line: 10}}
		found, err := templateProblems(t.Context(), template)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case want == "" && len(found) > 0:
			t.Errorf("%s: %v", text, found)
		case want != "" && (len(found) != 1 || !strings.Contains(found[0].Message, want) || found[0].Reason != plan.TemplateFailed || found[0].ClusterType != ""):
			t.Errorf("%s: %v, want one problem: %s", text, found, want)
		}
		if template.Spec.Manifests[0].Text != text {
			t.Errorf("the template was changed to %q", template.Spec.Manifests[0].Text)
		}
	}
}
