package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
)

func TestSplitAppConfigKey(t *testing.T) {
	tests := []struct {
		text   string
		labels []string
		key    string
		ok     bool
	}{
		{"URL", []string{}, "URL", true},
		{"region.east.URL", []string{"region", "east"}, "URL", true},
		{"region.east.size.large.URL", []string{"region", "east", "size", "large"}, "URL", true},
		{"region..URL", []string{"region", ""}, "URL", true},
		{"region.URL", nil, "", false},
		{"region.east.size.URL", nil, "", false},
		{"region.east.", nil, "", false},
		{".east.URL", nil, "", false},
		{"", nil, "", false},
		{".", nil, "", false},
		{"..", nil, "", false},
	}
	for _, test := range tests {
		labels, key, ok := model.SplitAppConfigKey(test.text)
		if !slices.Equal(labels, test.labels) || key != test.key || ok != test.ok {
			t.Errorf("%q: %q %q %v, want %q %q %v", test.text, labels, key, ok, test.labels, test.key, test.ok)
		}
	}
}

func FuzzSplitAppConfigKey(f *testing.F) {
	f.Add("region.east.URL")
	f.Add("..")
	f.Fuzz(func(t *testing.T, text string) {
		labels, key, ok := model.SplitAppConfigKey(text)
		if ok && strings.Join(append(slices.Clone(labels), key), ".") != text {
			t.Errorf("%q became %q and %q", text, labels, key)
		}
		if !ok && (labels != nil || key != "") {
			t.Errorf("%q is refused and became %q and %q", text, labels, key)
		}
	})
}

// TestAppConfigKeys proves that keys of a wrong form are warned of at their
// place, once, and that no other ConfigMap's keys are looked at.
func TestAppConfigKeys(t *testing.T) {
	const data = "data:\n  region.URL: v\n  region.east.URL: v\n  a.b.c.d: v\n"
	head := func(name, label string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", labels: {" + label + "}}\n"
	}
	repos := modeltest.Parse(pointers)
	repos.Write("control", "dev", "a.yaml", []byte(head("azure-app-config-dev", "")+data))
	repos.Write("control", "dev", "b.yaml", []byte(head("other", `platform-config: "true"`)+data))
	repos.Write("control", "dev", "c.yaml", []byte(head("azure-app-config-labelled", `platform-config: "true"`)+data))
	repos.Write("control", "dev", "d.yaml", []byte(head("foreign", "")+data))
	env := load(t, repos)
	want := []string{
		"warning control@dev:a.yaml:5 app-config-key",
		"warning control@dev:a.yaml:7 app-config-key",
	}
	if diff := cmp.Diff(want, lines(env.Diagnostics)); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap azure-app-config-dev", "ConfigMap azure-app-config-labelled", "ConfigMap other"}, names(env)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if env.Incomplete {
		t.Error("a warning makes the model incomplete")
	}
}
