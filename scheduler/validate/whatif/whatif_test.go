package whatif

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPlace(t *testing.T) {
	env := &model.Environment{Name: "dev", ClusterTypes: make([]model.ClusterType, 2), Policies: make([]model.SchedulingPolicy, 1), Configs: make([]model.PlatformConfig, 1)}
	env.ClusterTypes[0].Name, env.ClusterTypes[1].Name = "large", "small"
	env.ClusterTypes[1].Labels = map[string]string{"edge": "true"}
	p := &env.Policies[0]
	p.Name = "edge"
	p.Spec.DeploymentTargetSelector.Workspace = "team"
	p.Spec.DeploymentTargetSelector.LabelSelector = metav1.LabelSelector{MatchLabels: map[string]string{"workload": "shop", "purpose": "test"}}
	p.Spec.ClusterTypeSelector.LabelSelector = metav1.LabelSelector{MatchLabels: map[string]string{"edge": "true"}}
	env.Configs[0].Name = "a"
	env.Configs[0].Labels = map[string]string{"deployment-target": "shop-x"}
	env.Configs[0].Spec.Data = map[string]string{"KEY": "value"}

	for _, c := range []struct {
		target Target
		want   []string
	}{
		{Target{Workload: "shop", Name: "x", Workspace: "team", Labels: map[string]string{"purpose": "test"}}, []string{"small KEY=value"}},
		{Target{Workload: "shop", Name: "y", Workspace: "team", Labels: map[string]string{"purpose": "test"}}, []string{"small"}},
		{Target{Workload: "shop", Name: "x", Workspace: "other", Labels: map[string]string{"purpose": "test"}}, nil},
		{Target{Workload: "other", Name: "x", Workspace: "team", Labels: map[string]string{"purpose": "test"}}, nil},
		{Target{Workload: "shop", Name: "x", Workspace: "team"}, nil},
	} {
		var got []string
		placed, err := Place(t.Context(), env, c.target)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range placed.Assignments {
			text := a.ClusterType
			for _, v := range a.Config {
				text += " " + v.Key + "=" + v.Value
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.target, diff)
		}
		if len(placed.Targets) != 1 || placed.Targets[0].Workspace != c.target.Workspace {
			t.Errorf("%+v: targets %+v", c.target, placed.Targets)
		}
	}
	if len(env.Workloads) > 0 {
		t.Error("Place changes the environment")
	}
}

func TestSchemaProblems(t *testing.T) {
	at := model.Position{File: "f.yaml", Line: 7}
	for schema, want := range map[string]string{
		`{}`:                     "",
		`{"required": ["a"]}`:    "", // that nobody provides it is not the schema's fault
		`{`:                      "not valid JSON",
		`{"type": "objekt"}`:     "value must be one of",
		`{"$ref": "http://x/y"}`: "not followed",
	} {
		found, err := SchemaProblems(t.Context(), schema, at)
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
		found, err := TemplateProblems(t.Context(), template)
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
