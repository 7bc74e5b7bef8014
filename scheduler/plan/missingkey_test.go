package plan

import (
	"errors"
	"strings"
	"testing"
)

// TestMissingKeys proves that no way to a key that is not there leads into a
// manifest.
func TestMissingKeys(t *testing.T) {
	const config = "{a: b, D: '{k: v, v: null}', L: '[{k: v}]'}"
	for text, want := range map[string]string{
		`x{{ printf "%s-x" (index .ConfigData "zz") }}`:                                        `index .ConfigData "zz" has no value`,
		`a: {{ index .ConfigData "zz" | quote }}`:                                              `index .ConfigData "zz" has no value`,
		`a: {{ (index .ConfigData "zz") | toYaml }}`:                                           `index .ConfigData "zz" has no value`,
		`a: {{ get .ConfigData "zz" }}`:                                                        `get .ConfigData "zz" has no value`,
		`a: {{ get .ConfigData "zz" | quote }}`:                                                `get .ConfigData "zz" has no value`,
		`a: {{ "zz" | get .ConfigData | upper }}`:                                              `"zz" | get .ConfigData has no value`,
		`a: {{ index .ConfigData "D" "zz" }}`:                                                  `index .ConfigData "D" "zz" has no value`,
		`a: {{ index .ConfigData "zz" "k" }}`:                                                  `index .ConfigData "zz" "k" has no value`,
		`a: {{ index .ConfigData.L 0 "zz" | quote }}`:                                          `index .ConfigData.L 0 "zz" has no value`,
		`a: {{ (index .ConfigData.L 0).zz | quote }}`:                                          `(index .ConfigData.L 0).zz has no value`,
		`a: {{ index .ConfigData.D "v" | quote }}`:                                             `index .ConfigData.D "v" has no value`,
		`a: {{ first (pluck "zz" .ConfigData) | quote }}`:                                      `first (pluck "zz" .ConfigData) has no value`,
		`a: {{ coalesce .ConfigData.x .ConfigData.y | quote }}`:                                `coalesce .ConfigData.x .ConfigData.y has no value`,
		`a: {{ (printf "%s" .ConfigData.x) | default "d" }}`:                                   `.ConfigData.x has no value`,
		`a: {{ (dict "k" (printf "%s" .ConfigData.x)).k }}`:                                    `.ConfigData.x has no value`,
		`{{ $x := printf "%s-x" .ConfigData.x }}a: {{ $x }}`:                                   `.ConfigData.x has no value`,
		`{{ with printf "%s-x" .ConfigData.x }}a: {{ . }}{{ end }}`:                            `.ConfigData.x has no value`,
		`{{ if $x := toYaml .ConfigData.x }}a: {{ $x }}{{ end }}`:                              `.ConfigData.x has no value`,
		`{{ define "x" }}{{ quote . }}{{ end }}{{ template "x" .ConfigData.x }}`:               `. has no value`,
		`{{ define "x" }}{{ . }}{{ end }}{{ template "x" printf "%s" .ConfigData.x }}`:         `.ConfigData.x has no value`,
		`{{ if set .ConfigData "u" (printf "%s" .ConfigData.x) }}{{ .ConfigData.u }}{{ end }}`: `printf`,
	} {
		out, err := newRenderer().render(text, data(t, config))
		var failed *renderError
		if !errors.As(err, &failed) || failed.line != 1 || !strings.Contains(failed.message, want) {
			t.Errorf("%s\nrenders %q, error %v, want %s", text, out, err, want)
		} else if strings.Contains(err.Error(), "kalypso") {
			t.Errorf("%s\ntells about the machinery: %s", text, err)
		}
	}
}

// TestAskingForKeys proves that a template may ask for a key that is not
// there, in any way that it may ask for a field, and that keys which are there
// are what they were.
func TestAskingForKeys(t *testing.T) {
	const config = "{a: b, z-z: c, D: '{k: v, i: 3, t: true}', L: '[{k: v}, 7]'}"
	for text, want := range map[string]string{
		`{{ index .ConfigData "zz" | default "d" }} {{ default "d" (index .Labels "zz") }} {{ get .ConfigData "zz" | default "d" }}`: "d d d",
		`{{ (index .ConfigData "zz") | default "d" | quote }}`:                                                                       `"d"`,
		`{{ coalesce (index .Labels "x") (get .ConfigData "a") }} {{ or (index .Labels "x") "d" }}`:                                  "b d",
		`{{ ternary "y" "n" (empty (index .Labels "x")) }} {{ empty (get .ConfigData "x") }} {{ not (index .Labels "x") }}`:          "y true true",
		`{{ if index .Labels "x" }}y{{ else }}n{{ end }}{{ if get .ConfigData "x" }}y{{ else }}n{{ end }}`:                           "nn",
		`{{ if ne (index .Labels "x") "" }}y{{ else }}n{{ end }}{{ eq (index .Labels "x") "" }}`:                                     "ntrue",
		`{{ with index .ConfigData "x" }}{{ . }}{{ else }}n{{ end }}{{ with get .ConfigData.x "y" }}y{{ else }}n{{ end }}`:           "nn",
		`{{ with .ConfigData.x | quote }}x: {{ . }}{{ else }}n{{ end }}`:                                                             "n",
		`{{ range index .ConfigData "x" }}{{ . }}{{ else }}n{{ end }}`:                                                               "n",
		`{{ $x := index .Labels "x" }}{{ if $x }}y{{ else }}{{ $x | default "d" }}{{ end }}`:                                         "d",
		`{{ define "x" }}{{ if . }}y{{ else }}n{{ end }}{{ end }}{{ template "x" .ConfigData.x }}`:                                   "n",
		`{{ hasKey .ConfigData "x" }} {{ hasKey .ConfigData "a" }} {{ dig "k" "zz" "d" (dict "k" (dict "a" 1)) }}`:                   "false true d",

		`{{ index .ConfigData "z-z" }} {{ index .Labels "purpose" | upper }} {{ get .ConfigData "a" }} {{ "a" | index .ConfigData }}`: "c TEST b b",
		`{{ index .ConfigData.D "i" | add 1 }} {{ index .ConfigData "D" "i" | int64 }} {{ (index .ConfigData.L 0).k }}`:               "4 3 v",
		`{{ index .ConfigData.L 1 }} {{ index (list "a" "b") 1 }} {{ index "abc" 1 }} {{ index .ConfigData "L" 0 "k" }}`:              "7 b 98 v",
		`{{ index .Labels }} {{ index .ConfigData.D "t" }} {{ $i := 1 }}{{ index .ConfigData.L $i }}`:                                 "map[purpose:test] true 7",
		`{{ printf "%s-%d" (index .Labels "purpose") (index .ConfigData.D "i") }}`:                                                    "test-3",
		`{{ printf "%s" "%!s(<nil>)" }}`: "%!s(<nil>)",
	} {
		out, err := newRenderer().render(text, data(t, config))
		if err != nil || out != want {
			t.Errorf("%s\nrenders %q, error %v, want %q", text, out, err, want)
		}
	}
}

// TestIndexErrors proves that what cannot be indexed is still reported.
func TestIndexErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{{ index .ConfigData.L 7 }}`:     "index out of range: 7",
		`{{ index .ConfigData.L "k" }}`:   "a list is indexed by a number, not by string",
		`{{ index .ConfigData 1 }}`:       "a map is indexed by a text, not by int",
		`{{ index .ConfigData.D.i "k" }}`: "int cannot be indexed",
		`{{ index nil "k" }}`:             "index of nothing",
	} {
		out, err := newRenderer().render(text, data(t, "{D: '{i: 3}', L: '[1]'}"))
		if err == nil || !strings.Contains(err.Error(), "error calling index: "+want) {
			t.Errorf("%s\nrenders %q, error %v, want %s", text, out, err, want)
		}
	}
}
