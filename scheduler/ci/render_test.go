package ci_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/ci"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const workload = `apiVersion: v1
kind: ConfigMap
metadata: {name: x}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata: {name: shop}
spec:
  deploymentTargets:
    - {name: test, environment: dev, manifests: {repo: r, branch: dev, path: ./test}}
    - {name: load, environment: dev, manifests: {repo: r, branch: dev, path: load/}}
    - {name: uat, environment: stage, manifests: {repo: r, branch: stage, path: .}}
`

// chart has all that a chart can have besides templates.
var chart = map[string]string{
	"helm/Chart.yaml":                  "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies:\n  - {name: db, version: 1.0.0, condition: db.enabled}\n",
	"helm/values.yaml":                 "a: chart\nb: chart\nc: chart\nlist: [1]\nimage: {repository: x, tag: y, pull: Always}\ndb: {enabled: false}\n",
	"helm/crds/crd.yaml":               "kind: CustomResourceDefinition\nmetadata: {name: crd}\n",
	"helm/templates/NOTES.txt":         "notes for {{ .Release.Name }}",
	"helm/templates/_helpers.tpl":      `{{ define "name" }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}`,
	"helm/templates/b.yaml":            "kind: Deployment\nmetadata: {name: {{ include \"name\" . }}}\n---\nkind: Service\nmetadata: {name: s}\n",
	"helm/templates/a.yaml":            "kind: ConfigMap\ndata: {{ toYaml (pick .Values \"a\" \"b\" \"c\" \"list\" \"image\") | nindent 2 }}\n",
	"helm/templates/off.yaml":          "{{ if .Values.off }}kind: Secret{{ end }}",
	"helm/templates/test.yaml":         "kind: Pod\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\n",
	"helm/templates/hook.yaml":         "kind: Job\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install}}\n",
	"helm/charts/db/Chart.yaml":        "apiVersion: v2\nname: db\nversion: 1.0.0\n",
	"helm/charts/db/templates/db.yaml": "kind: StatefulSet\nmetadata: {name: db}\n",
	"configs/values.yaml":              "b: env\nc: env\nlist: [2]\n",
	"configs/test/values.yaml":         "c: target\n",
	"workload/workload.yaml":           workload,
	"manifests/test/stale.yaml":        "stays: it is no folder of ours to empty\n",
}

func write(t *testing.T, folder string, files ...map[string]string) {
	t.Helper()
	for _, set := range files {
		for name, content := range set {
			file := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func rendering(folder string) ci.Rendering {
	return ci.Rendering{
		Workload: filepath.Join(folder, "workload/workload.yaml"), Environment: "dev", Chart: filepath.Join(folder, "helm"),
		Configs: filepath.Join(folder, "configs"), To: filepath.Join(folder, "manifests"),
	}
}

// TestRender has the golden manifests of a chart with everything in it.
func TestRender(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, chart)
	r := rendering(folder)
	r.Image, r.Set = "localhost:3000/acme/shop:0.0.1-7", []string{"db.enabled=true", "image.pull=Never"}
	done, err := ci.Render(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ci.Rendered{Repo: "r", Branch: "dev", Files: []string{"test/gen_manifests.yaml", "load/gen_manifests.yaml"}}, done); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, target := range []string{"test", "load"} {
		got, err := os.ReadFile(filepath.Join(r.To, target, ci.ManifestsFile))
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", "render", target+".yaml")
		if *update {
			write(t, "testdata/render", map[string]string{target + ".yaml": string(got)})
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", golden, diff)
		}
	}
}

// TestRenderAtTheRoot has a deployment target whose manifests are at the root of
// its branch, and no values.
func TestRenderAtTheRoot(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, chart)
	r := rendering(folder)
	r.Environment, r.Configs = "stage", filepath.Join(folder, "workload")
	done, err := ci.Render(r)
	if err != nil || len(done.Files) != 1 || done.Files[0] != ci.ManifestsFile {
		t.Fatalf("%+v, %v", done, err)
	}
	if len(done.Notes) != 1 || !strings.Contains(done.Notes[0], "uat has no values.yaml") {
		t.Errorf("notes %q", done.Notes)
	}
}

func TestRenderMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a dependency that is not there": {map[string]string{"helm/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies: [{name: cache, version: 1.0.0}]\n"}, "dependencies cache are not in its folder charts"},
		"a template that does not parse": {map[string]string{"helm/templates/a.yaml": "{{ if }}"}, "a.yaml:1"},
		"a template that fails":          {map[string]string{"helm/templates/a.yaml": "{{ fail \"no way\" }}"}, "no way"},
		"a result that is no YAML":       {map[string]string{"helm/templates/a.yaml": "a: [\n"}, "a.yaml"},
		"values that are no YAML":        {map[string]string{"configs/test/values.yaml": "a: [\n"}, "deployment target test"},
		"values against their schema":    {map[string]string{"helm/values.schema.json": `{"properties": {"a": {"type": "integer"}}}`}, "deployment target test: values of chart"},
		"no chart":                       {map[string]string{"helm/Chart.yaml": "name: shop\n"}, "chart"},
		"a workload without a name":      {map[string]string{"workload/workload.yaml": strings.Replace(workload, "{name: shop}", "{}", 1)}, "one with a name is needed"},
		"two workloads":                  {map[string]string{"workload/workload.yaml": workload + "---\n" + workload}, "has 2 Workload objects"},
		"a target that leads out":        {map[string]string{"workload/workload.yaml": strings.Replace(workload, "name: test", "name: ../x", 1)}, `deployment target "../x"`},
		"a workload that is no YAML":     {map[string]string{"workload/workload.yaml": "a: [\n"}, "workload.yaml: yaml: line"},
		"two targets in one folder":      {map[string]string{"workload/workload.yaml": strings.Replace(workload, "load/", "test", 1)}, "test and load have the same folder"},
		"targets in two repositories":    {map[string]string{"workload/workload.yaml": strings.Replace(workload, "{repo: r, branch: dev, path: load/}", "{repo: q, branch: dev, path: load/}", 1)}, "different repositories or branches"},
	} {
		folder := t.TempDir()
		write(t, folder, chart, test.files)
		if _, err := ci.Render(rendering(folder)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	folder := t.TempDir()
	write(t, folder, map[string]string{"workload/workload.yaml": workload, "configs/values.yaml": "", "helm/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "helm/templates/a.yaml": "{{ if .Values.x }}kind: Pod{{ end }}"})
	if _, err := ci.Render(rendering(folder)); err == nil || !strings.Contains(err.Error(), "makes no objects") {
		t.Errorf("nothing at all: %v", err)
	}
}

// TestManifestsNeverLeaveTheirFolder: paths of a workload are of somebody
// else's making.
func TestManifestsNeverLeaveTheirFolder(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, chart, map[string]string{"workload/workload.yaml": strings.Replace(workload, "./test", "../../out", 1)})
	done, err := ci.Render(rendering(folder))
	if err != nil || done.Files[0] != "out/gen_manifests.yaml" {
		t.Errorf("%+v, %v", done, err)
	}
}
