package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// tooLarge are texts that would take all memory or hours only to be parsed, and
// the line where each is too large.
var tooLarge = []struct {
	name, text string
	line       int
}{
	{"a long pipe", "a\n{{ print" + strings.Repeat(" | print", 100000) + " }}", 2},
	{"many arguments", "{{ print" + strings.Repeat(" .Workload", 100000) + " }}", 1},
	{"many dots", "{{ print" + strings.Repeat(" .", 100000) + " }}", 1},
	{"many actions", strings.Repeat("{{ .Workload }}\n", 50000), 20001},
	{"many variables", strings.Repeat("{{$a:=1}}", 50000), 1},
	{"many definitions", strings.Repeat(`{{define "a"}}{{end}}`, 40000), 1},
	{"many fields", "{{ .ConfigData" + strings.Repeat(".a", 400000) + " }}", 1},
	{"nested blocks", strings.Repeat("{{if true}}\n", 40000) + strings.Repeat("{{end}}", 40000), 201},
	{"nested blocks of all kinds", strings.Repeat("{{- range . -}}{{with .}}{{ if(.) }}{{block \"a\" .}}", 100), 1},
	{"nested else ifs", "{{if 1}}" + strings.Repeat("{{else if 1}}\n", 1000) + "{{end}}", 200},
	{"nested parentheses", "{{ " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + " }}", 1},
	{"nested behind strings", "{{ print \"}}\" `}}` '}' }}{{/* }} */}}" + strings.Repeat("{{if 1}}", 1000), 1},
	{"a long text", strings.Repeat("a", maxTemplateBytes+1), 0},
}

func TestTooLargeTemplates(t *testing.T) {
	for _, test := range tooLarge {
		t.Run(test.name, func(t *testing.T) {
			_, err := rendered(test.text, data(t, "{}"))
			var failed *renderError
			if !errors.As(err, &failed) || failed.line != test.line || !strings.Contains(failed.message, "too much") && !strings.Contains(failed.message, "longer than") {
				t.Fatalf("error %v", err)
			}
			if fieldUsageOf(templateOf("t", v1alpha1.ConfigTemplate, test.text).Spec).known {
				t.Error("its form is known")
			}
			if len(test.text) < maxTemplateBytes {
				d := data(t, "{}")
				d.ConfigData["K"] = test.text
				if _, err := rendered("a: {{ .ConfigData.K }}", d); !errors.As(err, &failed) || failed.key != "K" {
					t.Errorf("as a configuration value: %v", err)
				}
			}
		})
	}
}

// TestLargeTemplates has large templates stay possible.
func TestLargeTemplates(t *testing.T) {
	cases := ""
	for i := range 150 {
		cases += fmt.Sprintf("{{ else if eq .Workload \"w%d\" }}%d", i, i)
	}
	for name, text := range map[string]string{
		"text":      strings.Repeat("# text {\n", 100000),
		"actions":   strings.Repeat("# {{ .Workload }}\n", 5000),
		"blocks":    strings.Repeat("{{ if $.Workload }}{{ range until 1 }}", 50) + "a: b" + strings.Repeat("{{ end }}{{ end }}", 50),
		"else ifs":  "{{ if false }}" + cases + "{{ end }}",
		"a pipe":    "# {{ .Workload" + strings.Repeat(" | lower", 100) + " }}",
		"a literal": "# {{ print `" + strings.Repeat("{{ if ( | ", 10000) + "` | len }}",
	} {
		if _, err := newRenderer().manifest(text, data(t, "{}"), true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
