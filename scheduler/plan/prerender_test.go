package plan

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// subjects are data that differ in one value each, some of which cannot be
// placeholders.
func subjects(t testing.TB) []*assignmentData {
	var all []*assignmentData
	add := func(config string, change func(d *renderData)) {
		d := data(t, config)
		change(&d)
		n := int64(len(all))
		all = append(all, &assignmentData{renderData: d, target: n, configuration: n})
	}
	const config = "{REGION: west-us, URL: 'https://a.example.com:80/x', LIST: '[a, b]', N: '007', EMPTY: '', ACTION: '{{ .Workload }}'}"
	for _, name := range []string{"shop-test", "a", "x.y", "trailing-", "-leading", "with space", "a: b", "a #b", "'q", "\"q", "true", "0", "...", "---", "{{ x", "a:", "ünï", "~", "/p", "./p", "..", strings.Repeat("a", 60), strings.Repeat("a", 64), strings.Repeat("a", 300)} {
		add(config, func(d *renderData) { d.DeploymentTargetName = name })
		add(config, func(d *renderData) { d.Namespace = "dev-" + name; d.Workload = name })
		add(config, func(d *renderData) { d.Labels = map[string]string{"purpose": name, name: "x"} })
		add(config, func(d *renderData) { d.Manifests = map[string]string{"repo": name, "branch": name} })
		add(config, func(d *renderData) { d.ConfigData["REGION"] = name; d.ClusterType = name })
	}
	for _, text := range prerenderedTemplates[:3] {
		placeholder := known("t", "", text).usage.placeholder(0)
		add(config, func(d *renderData) {
			d.DeploymentTargetName, d.Workload, d.Labels["purpose"] = placeholder, placeholder, placeholder
		})
		add("{K: '{a: ["+placeholder+"]}'}", func(d *renderData) { d.Namespace = "dev-" + placeholder })
	}
	add("{}", func(*renderData) {})
	add(config, func(d *renderData) { d.Labels = nil })
	return all
}

var prerenderedTemplates = []string{
	"a: {{ .DeploymentTargetName }}",
	"a: '{{ .DeploymentTargetName }}'\nb: \"{{ .Namespace }}\"\n",
	"a: \"\\{{ .DeploymentTargetName }}\"",
	"{{ .DeploymentTargetName }}: a",
	"{{ .DeploymentTargetName }}: a\n{{ .Workload }}: b",
	"? {{ .DeploymentTargetName }}\n: b",
	"a: &{{ .Workload }} b\nc: *{{ .DeploymentTargetName }}",
	"a: &x {{ .DeploymentTargetName }}\nb: *x",
	"a: !{{ .DeploymentTargetName }} b",
	"a: !!int {{ .DeploymentTargetName }}",
	"a: |{{ .DeploymentTargetName }}\n  b",
	"a: |\n  {{ .DeploymentTargetName }}\n  b {{ .Labels.purpose }}\n",
	"# about {{ .DeploymentTargetName }}\na: b # {{ .Workload }}\n",
	"a: b #{{ .DeploymentTargetName }}",
	"a: b{{ .DeploymentTargetName }}c",
	"a: [{{ .DeploymentTargetName }}, {{ .Labels.purpose }}]",
	"a: { {{ .DeploymentTargetName }} }",
	"a: {b: {{ .DeploymentTargetName }}}",
	"[{{ .DeploymentTargetName }}, {a: {{ .Namespace }}}]: b",
	"<<: {{ .DeploymentTargetName }}",
	"%{{ .DeploymentTargetName }}\n---\na: b",
	"{{ .DeploymentTargetName }}",
	"- {{ .DeploymentTargetName }}\n- {{ .DeploymentTargetName }}\n",
	"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ .Namespace }}\n",
	"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: p-{{ .DeploymentTargetName }}-{{ .Workload }}-and-some-more-of-it\n",
	"apiVersion: v1\nkind: {{ .DeploymentTargetName }}\nmetadata: {name: b}\n",
	"apiVersion: v1\nkind: Namespace\nmetadata: {name: " + strings.Repeat("n", 64) + "}\nx: {{ .Workload }}\n",
	"url: {{ .Manifests.repo }}\nref: {{ .Manifests.branch }}",
	"url: {{ .Manifests.repo }}:{{ .Manifests.branch }}",
	"x: {{ .ConfigData.REGION }} {{ .ConfigData.N }}",
	"x: {{ .ConfigData.URL }}",
	"x: {{ .ConfigData.LIST }}",
	"x: {{ .ConfigData.ACTION }}",
	"x: {{ .ConfigData.EMPTY }}",
	"x: {{ .ConfigData.MISSING }}",
	"x: {{ .Labels.missing }}",
	"x: {{ .Unknown }}",
	"data:\n{{ stringify .ConfigData | indent 2 }}\nname: {{ .Namespace }}",
	"{{ range $k, $v := .Labels }}{{ $k }}: {{ $v }} {{ $.Workload }}\n{{ end }}",
	"{{ with .Manifests }}r: {{ .repo }} {{ $.DeploymentTargetName }}{{ end }}",
	"{{ if eq .DeploymentTargetName \"a\" }}x: {{ .Workload }}{{ else }}y: {{ .Workload }}{{ end }}",
	"{{ if .Labels.purpose }}x: {{ .Labels.purpose }}{{ end }}",
	"{{ $n := .DeploymentTargetName }}x: {{ $n }} {{ .Workload }}",
	"x: {{ . }}", "x: {{ $ }}", "{{ define \"t\" }}{{ .Workload }}{{ end }}x: {{ template \"t\" . }}",
	"x: {{ .DeploymentTargetName | upper }} {{ .Workload }}",
	"x: {{ hash .Namespace }} {{ .Workload }}",
	"x: {{- .DeploymentTargetName -}} ",
	"\n\n{{ .DeploymentTargetName }}\n\t",
	"a: b\n\t",
	"---\na: {{ .Workload }}",
	"a: {{ .Workload }}\n--- {{ .DeploymentTargetName }}",
	"{{ if .EMPTY }}{{ end }}", "{{ if false }}a: {{ .Workload }}{{ end }}",
	"a: kalypsoBlank100x {{ .Workload }} kalypsoBlank",
	"a: {{ .Workload }",
	"{ {{- .Workload }}: {{ .Namespace -}} }",
	"a: >-\n  {{ .Workload }}\n   {{ .Namespace }}\n",
	"{{ range until 30000 }}{{ end }}a: {{ .Workload }}",
	"a: {{ .Environment }}{{ .Workspace }}{{ .ClusterType }}/{{ .Environment }}",
	"a: {{ .DeploymentTargetName | quote }}\nb: {{ squote .Labels.purpose }}\nc: {{ .ConfigData.LIST | quote }}",
	"a: {{ printf \"%s.%s/%s\" .Workload .DeploymentTargetName $.Labels.purpose | quote }}",
	"a: {{ printf \"%s\" (quote .Workload) }}{{ printf \"%d%s\" .Workload .Namespace }}{{ printf \"%s\" .Workload .Namespace }}",
	"a: {{ (.Workload | quote) }}\nb: {{ quote .Workload .Namespace }}\nc: {{ printf \"%s\" .ConfigData.LIST }}",
	"a: {{ .Labels.missing | quote }}", "kind: {{ .Workload | quote }}", "a: {{ .ConfigData.MISSING | quote }}",
}

// sameAsRendered renders a template for all subjects in the quick way, again
// and again so that what is prerendered gets used, and compares with plain rendering.
// It returns how many templates are prerendered.
func sameAsRendered(t *testing.T, w *worker, object *knownTemplate, all []*assignmentData) int {
	t.Helper()
	plain := newRenderer()
	for range 2 {
		for _, d := range all {
			got, problems := w.file(object, d)
			want, expected := plain.file(object.Template, d.renderData, asTheyAre)
			if string(got) != want {
				t.Errorf("template %v with %+v:\nquick %q\nplain %q", object.Spec.Manifests, d.renderData, got, want)
			}
			if diff := cmp.Diff(expected, problems); diff != "" {
				t.Errorf("template %v with %+v: problems (-plain +quick):\n%s", object.Spec.Manifests, d.renderData, diff)
			}
		}
	}
	usable := 0
	for _, s := range w.cache.byKey {
		if s != unusable {
			usable++
		}
	}
	return usable
}

func known(name string, contentType v1alpha1.ContentType, manifests ...string) *knownTemplate {
	object := templateOf(name, v1alpha1.ReconcilerTemplate, manifests...)
	object.Spec.ContentType = contentType
	return &knownTemplate{Template: object, usage: fieldUsageOf(object.Spec)}
}

func TestPrerenderedIsWhatRenderingGives(t *testing.T) {
	all := subjects(t)
	usable := 0
	for i, text := range prerenderedTemplates {
		for _, contentType := range []v1alpha1.ContentType{"", v1alpha1.ShellContent}[:1+i%2] {
			w := &worker{renderer: newRenderer(), cache: &prerenderCache{}}
			usable += sameAsRendered(t, w, known("t", contentType, text), all)
			if i%5 == 0 {
				w := &worker{renderer: newRenderer(), cache: &prerenderCache{}}
				sameAsRendered(t, w, known("two", contentType, text, prerenderedTemplates[(i+7)%len(prerenderedTemplates)]), all)
			}
		}
	}
	if usable < len(prerenderedTemplates) {
		t.Errorf("only %d are prerendered", usable)
	}
}

// TestPrerenderedIsUsed makes sure that the templates of the tutorials take the
// quick way.
func TestPrerenderedIsUsed(t *testing.T) {
	for _, text := range []string{
		"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: \"{{ .Namespace }}\"\n  labels:\n    workload: {{ .Workload }}\n",
		"kind: GitRepository\nspec:\n  url: {{ .Manifests.repo }}\n  ref: {branch: {{ .Manifests.branch }}}\n  path: {{ .Manifests.path }}\n",
		"data:\n{{ stringify .ConfigData | indent 2 }}\nname: {{ .Namespace }}",
		"spec:\n  url: {{ .Manifests.repo | quote }}\n  name: {{ printf \"%s-%s\" .Environment .Workload | quote }}\n",
	} {
		w := &worker{renderer: newRenderer(), cache: &prerenderCache{}}
		first := &assignmentData{renderData: data(t, "{A: b}"), target: 1, configuration: 1}
		w.file(known("t", "", text), first)
		second := *first
		second.Namespace, second.Workload, second.target = "dev-other", "other", 2
		second.Manifests = map[string]string{"repo": "https://other.example.com", "branch": "main", "path": "./q"}
		if !w.find(known("t", "", text), &second) {
			t.Errorf("%q cannot be prerendered", text)
		} else if s := w.cache.get(w.key); s == nil || s == unusable {
			t.Errorf("another assignment finds nothing prerendered of %q", text)
		}
	}
}

func TestPlainValue(t *testing.T) {
	for value, want := range map[string]bool{
		"a": true, "7": true, "a-b.c_d": true, "https://a.example.com:80/x": true, "/x": true, "./x": true, "x/": true, "a~b": false,
		"": false, "-": false, "-a": false, "a-": false, ".": false, "./": false, "..": false, ".a": false, "a.": false, "a:": false,
		"a::b": false, ":a": false, "a b": false, "a\nb": false, "a#b": false, "a{b": false, "a,b": false, "ü": false, "a\"b": false, "'a'": false,
		"a\\b": false, "~": false, "a=": false, strings.Repeat("a", maxPlaceholderValue): true, strings.Repeat("a", maxPlaceholderValue+1): false,
	} {
		if got := plainValue(value); got != want {
			t.Errorf("plainValue(%q) = %v", value, got)
		}
	}
}

func FuzzPrerender(f *testing.F) {
	for i, text := range prerenderedTemplates {
		f.Add(text, "shop-test", fmt.Sprintf("value/%d", i), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, text, one, two string, shell bool) {
		contentType := v1alpha1.ContentType("")
		if shell {
			contentType = v1alpha1.ShellContent
		}
		var all []*assignmentData
		for i, value := range []string{one, two, "plain", "dev-small-shop-test", "7"} {
			d := data(t, "{K: v, URL: 'https://a.example.com'}")
			d.DeploymentTargetName, d.Namespace, d.Labels["purpose"], d.Manifests["repo"] = value, "dev-"+value, value, value
			d.ConfigData["K"] = value
			all = append(all, &assignmentData{renderData: d, target: int64(i), configuration: int64(i)})
		}
		w := &worker{renderer: newRenderer(), cache: &prerenderCache{}}
		object := known("t", contentType, text)
		for range 2 {
			for _, d := range all {
				got, problems := w.file(object, d)
				want, expected := newRenderer().file(object.Template, d.renderData, asTheyAre)
				if !bytes.Equal(got, []byte(want)) || len(problems) != len(expected) {
					t.Fatalf("template %v with %q:\nquick %q %v\nplain %q %v", text, d.DeploymentTargetName, got, problems, want, expected)
				}
			}
		}
	})
}
