package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// randomTemplate writes templates that call functions with all of the data, some of
// which fail for some data.
type randomTemplate struct {
	r         *rand.Rand
	variables []string
	inRange   bool
}

func (w *randomTemplate) one(of ...string) string { return of[w.r.IntN(len(of))] }

func (w *randomTemplate) field() string {
	field := w.one(".Namespace", ".Namespace", ".DeploymentTargetName", ".Workload", ".ClusterType", ".Environment", ".Workspace",
		".Labels.purpose", ".Labels.missing", ".Manifests.repo", ".ConfigData.REGION", ".ConfigData.N", ".ConfigData.URL", ".ConfigData.EMPTY")
	if w.r.IntN(12) == 0 {
		field = w.one(".ConfigData.MISSING", ".ConfigData.LIST", ".ConfigData.ACTION", ".ConfigData", ".Labels", ".Unknown", ".Labels.a.b")
	}
	if w.inRange || w.r.IntN(6) == 0 {
		field = "$" + field
	}
	return field
}

// value is an argument of a function.
func (w *randomTemplate) value(depth int) string {
	switch n := w.r.IntN(10); {
	case n < 2 && len(w.variables) > 0:
		return w.one(w.variables...)
	case n < 4 && depth > 0:
		return "(" + w.pipeline(depth-1) + ")"
	case n < 5:
		return w.one(`"dev-"`, `"-test"`, `"a"`, `""`, `"x: y"`)
	case n < 6 && w.inRange:
		return w.one("$k", "$v", ".")
	}
	return w.field()
}

// pipeline is a pipeline of some functions.
func (w *randomTemplate) pipeline(depth int) string {
	text := w.value(depth)
	if w.r.IntN(4) == 0 {
		text = w.one(
			fmt.Sprintf("printf %s %s %s", w.one(`"%s-%s"`, `"%s.%v"`, `"%s: %s"`, `"%d%s"`, `"%q%s"`), w.value(depth), w.value(depth)),
			"upper "+w.value(depth), "hash "+w.value(depth), "len "+w.value(depth), "print "+w.value(depth)+" "+w.value(depth),
			"index .Labels "+w.value(depth), "index (splitList \"-\" "+w.value(depth)+") "+w.one("0", "1", "3"), "quote "+w.value(depth),
			"atoi "+w.value(depth), "fail "+w.value(depth), "required "+w.value(depth), "toYaml "+w.value(depth), "list "+w.value(depth)+" "+w.value(depth),
		)
	}
	for range w.r.IntN(4) {
		text += " | " + w.one(
			"upper", "lower", "title", "trim", "trunc 8", "trunc -5", "trunc 63", `trimSuffix "-test"`, `trimSuffix "-"`, `trimPrefix "dev-"`, `replace "-" "."`,
			"sha256sum", "sha1sum", "adler32sum", "b64enc", "b64dec", "quote", "squote", "hash", "len", "int", "add 1", `default "none"`, "toString", "nospace",
			"substr 0 5", "abbrev 9", "repeat 2", "nindent 2", "toJson", "kebabcase", "snakecase", "initials", "empty", "not", `eq "a"`, `contains "e"`,
			`hasPrefix "dev"`, `ternary "yes" "no"`, `regexReplaceAll "[^a-z]" `+w.value(0), `splitList "-" | first`, `cat "x"`, "urlquery", `wrapWith 5 "-"`, "unquote",
		)
	}
	return text
}

func (w *randomTemplate) action(depth int) string { return "{{ " + w.pipeline(depth) + " }}" }

// lines are some lines of YAML, which need not be valid.
func (w *randomTemplate) lines(depth int) string {
	var text strings.Builder
	for i := range 1 + w.r.IntN(4) {
		switch n := w.r.IntN(14); {
		case n == 0 && depth > 0:
			fmt.Fprintf(&text, "{{- if %s }}\n%s{{- else }}\n%s{{- end }}\n", w.pipeline(1), w.lines(depth-1), w.lines(depth-1))
		case n == 1 && depth > 0:
			fmt.Fprintf(&text, "{{- if %s }}\n%s{{- else if %s }}\n%s{{- end }}\n", w.pipeline(1), w.lines(depth-1), w.pipeline(0), w.lines(depth-1))
		case n == 2 && depth > 0 && !w.inRange:
			before := w.variables
			w.inRange = true
			fmt.Fprintf(&text, "{{- range $k, $v := %s }}\n%s{{- end }}\n", w.one(".Labels", ".Manifests", ".ConfigData", `splitList "-" .Namespace`), w.lines(depth-1))
			w.inRange, w.variables = false, before
		case n == 3 && depth > 0 && !w.inRange:
			before := w.variables
			w.inRange = true
			fmt.Fprintf(&text, "{{- with %s }}\n%s{{- end }}\n", w.one(".Labels.purpose", ".Namespace", ".ConfigData.LIST"), strings.NewReplacer("$k", "$", "$v", ".").Replace(w.lines(depth-1)))
			w.inRange, w.variables = false, before
		case n < 6 && depth == 2:
			name := fmt.Sprintf("$x%d", len(w.variables))
			fmt.Fprintf(&text, "{{- %s := %s }}\n", name, w.pipeline(2))
			if w.r.IntN(6) == 0 && len(w.variables) > 0 {
				fmt.Fprintf(&text, "{{- %s = %s }}\n", w.variables[0], w.pipeline(1))
			}
			w.variables = append(w.variables, name)
		case n == 6:
			fmt.Fprintf(&text, "k%d%d: 'a %s b'\n", depth, i, w.action(1))
		case n == 7:
			fmt.Fprintf(&text, "k%d%d: \"%s\" # %s\n", depth, i, w.action(1), w.field())
		case n == 8:
			fmt.Fprintf(&text, "k%d%d: [%s, {a: %s}]\n", depth, i, w.action(1), w.action(0))
		case n == 9:
			fmt.Fprintf(&text, "%s: v\n", w.action(0))
		case n == 10:
			fmt.Fprintf(&text, "k%d%d: {{ %s }}-{{ %s }}\n", depth, i, strings.TrimPrefix(w.field(), "$"), w.field())
		default:
			fmt.Fprintf(&text, "k%d%d: %s\n", depth, i, w.action(2))
		}
	}
	return text.String()
}

// TestDerivedIsWhatRenderingGives compares the quick way with plain rendering for
// random templates with functions: bytes, texts of problems and their places.
func TestDerivedIsWhatRenderingGives(t *testing.T) {
	all := subjects(t)
	for i, d := range all {
		if i%3 == 0 {
			d.Namespace, d.ClusterType = strings.TrimPrefix(fmt.Sprintf("dev-type-%d-%s", i%7, d.DeploymentTargetName), " "), fmt.Sprintf("type-%d", i%7)
		}
		if i%4 == 0 {
			d.Manifests = map[string]string{"repo": "https://forge.test/shop.git", "path": "./test"}
		}
	}
	templates, derived, filled := 400, 0, 0
	for seed := range uint64(templates) {
		w := &randomTemplate{r: rand.New(rand.NewPCG(seed, 7))}
		text := w.lines(2)
		if seed%5 == 0 {
			text = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ " + w.pipeline(1) + " }}\n"
		}
		contentType := v1alpha1.ContentType("")
		if seed%7 == 0 {
			contentType = v1alpha1.ShellContent
		}
		object := known("t", contentType, text)
		derived += len(object.usage.derived)
		var few []*assignmentData
		for i := int(seed) % 5; i < len(all); i += 5 {
			few = append(few, all[i])
		}
		run := &worker{renderer: newRenderer(), cache: &prerenderCache{}}
		filled += sameAsRendered(t, run, object, few)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if derived < templates/2 || filled < templates/2 {
		t.Errorf("of %d templates %d pipelines are derived and %d texts are prerendered", templates, derived, filled)
	}
}
