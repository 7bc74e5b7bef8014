package plan

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
	"text/template/parse"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
)

// shippedTemplates are those of the workshops' control planes.
func shippedTemplates(t testing.TB) []*knownTemplate {
	t.Helper()
	files, err := filepath.Glob("../../fixtures/*/repositories/kalypso-control-plane/main/templates/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("templates %q: %v", files, err)
	}
	var all []*knownTemplate
	for i, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var document struct {
			Spec struct{ Manifests []string }
		}
		fromYAML(t, string(content), &document)
		object := known(filepath.Base(file), v1alpha1.YAMLContent, document.Spec.Manifests...)
		object.id = int64(i)
		all = append(all, object)
	}
	return all
}

// said is what a workload may say in a fuzzed model. Names are none of it: the
// model takes those of Kubernetes only.
type said struct{ branch, path, key, value, workspace string }

func (s said) data(t testing.TB) renderData {
	d := data(t, `{REGION: west, TEAM: '{{ index .Labels "team" }}', SECRET: s3cret}`)
	d.Manifests["branch"], d.Manifests["path"], d.Workspace = s.branch, s.path, s.workspace
	d.Labels["team"], d.Labels[s.key] = s.value, s.value
	return d
}

func (s said) usable() bool {
	return !slices.ContainsFunc([]string{s.branch, s.path, s.key, s.value, s.workspace}, func(text string) bool { return unwritable(text) >= 0 })
}

var words = said{"wordBranch", "wordPath", "wordKey", "wordValue", "wordspace"}

// in puts what is said in the place of words, in decoded documents.
func (s said) in(value any) any {
	replacer := strings.NewReplacer(words.branch, s.branch, words.path, s.path, words.key, s.key, words.value, s.value, words.workspace, s.workspace)
	switch v := value.(type) {
	case string:
		return replacer.Replace(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = s.in(v[i])
		}
		return list
	case map[string]any:
		m := map[string]any{}
		for key := range v {
			m[replacer.Replace(key)] = s.in(v[key])
		}
		return m
	}
	return value
}

// kinds are those of the documents that are maps.
func kinds(documents []*yaml.Node) (all []string) {
	for _, document := range documents {
		for _, root := range document.Content {
			if root.Kind == yaml.MappingNode {
				all = append(all, yamlpos.Text(root, "apiVersion")+" "+yamlpos.Text(root, "kind"))
			}
		}
	}
	return all
}

var dangerous = []said{
	{"main", "./path", "team", "gold", "team"},
	{"dev --- kind: ClusterRoleBinding", "--- {kind: A}", "kind", "ClusterRoleBinding", `x", "kind": "B`},
	{"{{ .ConfigData.SECRET }}", "{{", "{", "{ .ConfigData.SECRET }}", "}}"},
	{`"`, `\`, `a: b`, "*a", "&a"}, {"# a", "- a", "? a", "| a", "!!binary a"}, {"'", "%", "@", "`", ","},
	{"true", "007", "1e3", "null", "~"}, {"ünï", "\U0001F600", "\u200b", "\u202e", "\U000e0001"}, {"{a: b}", "[a]", "items", "<<", " a "},
}

// FuzzShippedTemplates renders the workshops' templates for workloads that say
// anything. It comes out literally, in the documents that there are otherwise.
func FuzzShippedTemplates(f *testing.F) {
	for _, s := range dangerous {
		f.Add(s.branch, s.path, s.key, s.value, s.workspace)
	}
	shipped := shippedTemplates(f)
	f.Fuzz(func(t *testing.T, branch, path, key, value, workspace string) {
		s := said{branch, path, key, value, workspace}
		if !s.usable() {
			t.Skip()
		}
		w := &worker{renderer: newRenderer(), cache: &prerenderCache{}}
		for i, object := range shipped {
			plain, problems := newRenderer().file(object.Template, words.data(t), asTheyAre)
			nodes, want, err := parseYAML(plain)
			if len(problems) > 0 && problems[0].Reason != InvalidName || err != nil {
				t.Fatal(reasons(problems), err)
			}
			for n, of := range []said{words, s} {
				d := &assignmentData{renderData: of.data(t), target: int64(n), configuration: int64(n)}
				got, problems := w.file(object, d)
				text, expected := newRenderer().file(object.Template, of.data(t), asTheyAre)
				if !bytes.Equal(got, []byte(text)) || len(problems) != len(expected) {
					t.Fatalf("template %d with %q:\nquick %q %v\nplain %q %v", i, of, got, problems, text, expected)
				}
				if len(problems) > 0 {
					if problems[0].Reason != InvalidName && problems[0].Reason != InvalidText {
						t.Errorf("%s with %q: %v", object.Name, of, reasons(problems))
					}
					continue
				}
				roots, documents, err := parseYAML(string(got))
				if err != nil {
					t.Fatalf("%s with %q: %v in %s", object.Name, of, err, got)
				}
				if diff := cmp.Diff(of.in(want), any(documents)); diff != "" && !strings.Contains(object.Name, "configmap") {
					t.Errorf("%s with %q (-want +got):\n%s", object.Name, of, diff)
				}
				if diff := cmp.Diff(kinds(nodes), kinds(roots)); diff != "" {
					t.Errorf("%s with %q: kinds (-want +got):\n%s", object.Name, of, diff)
				}
			}
		}
	})
}

// carelessTemplates print what a workload says without quotes, in every place and
// way that a template has.
var carelessTemplates = []string{
	"apiVersion: v1\nkind: A\nmetadata: {name: {{ .Labels.team }}, x: {{ .Manifests.path }}}\n",
	"apiVersion: v1\nkind: A\ndata:\n  a: {{ .Manifests.branch }}\n  b: {{ .Manifests.path }}\n  c: {{ .Workspace }}\n",
	"{{ .Manifests.branch }}\n---\napiVersion: v1\nkind: A\n",
	"apiVersion: v1\nkind: A\n{{ .Labels.team }}: {{ .Manifests.path }}\nb: c\n",
	"apiVersion: v1\nkind: A\n{{ range $k, $v := .Labels }}{{ $k }}: {{ $v }}\n{{ end }}",
	"apiVersion: v1\nkind: A\n{{ toYaml .Labels }}\n",
	"apiVersion: v1\nkind: A\nmetadata:\n  labels:\n    {{- toYaml .Labels | nindent 4 }}\n",
	`{"apiVersion": "v1", "metadata": {"name": "{{ .Labels.team }}"}, "labels": {{ toJson .Labels }}, "kind": "A"}`,
	"apiVersion: v1\nkind: A\nx: \"{{ .Labels.team }}\"\ny: '{{ .Manifests.path }}'\nz: {{ .Manifests.branch | upper }}\n",
	"apiVersion: v1\nkind: A\nx: |\n  {{ .Labels.team }}\ny: >-\n  {{ .Manifests.path }}\nz: # {{ .Manifests.branch }}\n",
	"apiVersion: v1\nkind: A\nx: {{ .ConfigData.TEAM }}\ny: {{ trimPrefix \"./\" .Manifests.path }}\nz: {{ printf \"[%s, %v]\" .Workspace .Manifests.branch }}\n",
	"apiVersion: v1\nkind: A\nx: {{ b64dec .Manifests.branch }}\ny: {{ splitList \",\" .Manifests.path }}\nz: {{ .Labels }}\n",
	"apiVersion: v1\nkind: List\nitems:\n- kind: A\n  x: {{ .Labels.team }}\n- {kind: B, x: {{ .Manifests.path }}}\n",
	"apiVersion: v1\nkind: A\nx: &a {{ .Labels.team }}\ny: *a\nz: !!str {{ .Manifests.path }}\n",
	"{{ define \"d\" }}x: {{ . }}{{ end }}apiVersion: v1\nkind: A\n{{ template \"d\" .Labels.team }}\n{{ $x := .Manifests.path }}y: {{ $x | trim }}\n",
	"{{ with .Manifests }}apiVersion: v1\nkind: A\nx: {{ .branch }}{{ .path }}\ny: {{ substr 1 9 .branch }}\n{{ end }}",
}

// FuzzCarelessTemplates has a workload say anything to templates that do not
// quote. What it says may be refused, but changes no document, and nothing of it
// is a template.
func FuzzCarelessTemplates(f *testing.F) {
	for i, s := range dangerous {
		for n := range carelessTemplates {
			f.Add(uint8(n), s.branch, s.path, s.key, s.value, dangerous[(i+n)%len(dangerous)].workspace)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, branch, path, key, value, workspace string) {
		s := said{branch, path, key, value, workspace}
		text := carelessTemplates[int(n)%len(carelessTemplates)]
		if !s.usable() {
			t.Skip()
		}
		d := s.data(t)
		got, err := newRenderer().manifest(text, d, true)
		if err != nil {
			return
		}
		if strings.Contains(got, "s3cret") && !strings.Contains(fmt.Sprint(s), "s3cret") {
			t.Errorf("%q with %q gives %q", text, s, got)
		}
		want := "v1 A"
		if strings.Contains(text, "kind: List") {
			want = "v1 List"
		}
		documents, _, err := parseYAML(got)
		if all := kinds(documents); err != nil || len(all) != 1 || all[0] != want || len(documents) > 2 {
			t.Errorf("%q with %q gives %q, kinds %q, %v", text, s, got, all, err)
		}
		for _, shell := range []string{"A={{ .Labels.team }}\nB='{{ .Manifests.path }}'\nC=\"{{ .Manifests.branch }}\"\n"} {
			if out, err := func() (string, error) {
				made, err := newRenderer().rounds(shell, d)
				if err != nil {
					return "", err
				}
				out, _ := made.text()
				return out, made.checkShell()
			}(); err == nil && strings.Count(out, "'") != 2+strings.Count(s.branch, "'") {
				t.Errorf("%q with %q gives %q", shell, s, out)
			}
		}
	})
}

// FuzzTemplateSize proves that what is parsed is never deeper, nor has more in it,
// than is allowed.
func FuzzTemplateSize(f *testing.F) {
	for _, test := range tooLarge {
		f.Add(test.text[:min(len(test.text), 300)], test.text[max(0, len(test.text)-20):], uint16(100))
	}
	for _, part := range []string{"{{if 1}}", "{{- range .ConfigData -}}", "{{with(.)}}", "{{if 0}}{{else if 1}}", "{{`}}`|print}}", "{{/* {{ */}}", "{{'\"'}}", "{{\"\\\"}}\"}}", "{{print (", "{{block \"a\" .}}", "{{if.}}", "{{else}}{{if 1}}"} {
		f.Add(part, "{{end}}", uint16(150))
		f.Add(part, "{{end}}", uint16(1000))
	}
	f.Fuzz(func(t *testing.T, before, after string, n uint16) {
		text := strings.Repeat(before, int(n)) + strings.Repeat(after, int(n))
		if len(before)+len(after) > 1000 || checkSize(text) != nil {
			t.Skip()
		}
		parsed, err := template.New(templateName).Funcs(functions).Parse(text)
		if err != nil {
			return
		}
		nodes := 0
		for _, part := range parsed.Templates() {
			if part.Tree == nil || part.Root == nil {
				continue
			}
			if depth := nestingOf(part.Root, &nodes); depth > maxNesting+1 {
				t.Errorf("%d blocks deep: %q and %q, %d times", depth, before, after, n)
			}
		}
		if nodes > maxWords {
			t.Errorf("%d nodes: %q and %q, %d times", nodes, before, after, n)
		}
	})
}

// nestingOf returns how deep a list of nodes is nested, and counts its actions and
// their arguments.
func nestingOf(list *parse.ListNode, nodes *int) int {
	if list == nil {
		return 0
	}
	deepest := 0
	var pipe func(p *parse.PipeNode)
	pipe = func(p *parse.PipeNode) {
		if p == nil {
			return
		}
		for _, command := range p.Cmds {
			for _, arg := range command.Args {
				*nodes++
				if inner, ok := arg.(*parse.PipeNode); ok {
					pipe(inner)
				}
			}
		}
	}
	branch := func(n *parse.BranchNode) {
		pipe(n.Pipe)
		deepest = max(deepest, nestingOf(n.List, nodes), nestingOf(n.ElseList, nodes))
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			pipe(n.Pipe)
		case *parse.TemplateNode:
			*nodes++
			pipe(n.Pipe)
		case *parse.IfNode:
			branch(&n.BranchNode)
		case *parse.WithNode:
			branch(&n.BranchNode)
		case *parse.RangeNode:
			branch(&n.BranchNode)
		}
	}
	return deepest + 1
}
