package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
)

// names lists an environment's objects as "kind name".
func names(env *model.Environment) []string {
	all := []string{}
	for _, o := range env.ClusterTypes {
		all = append(all, "ClusterType "+o.Name)
	}
	for _, o := range env.Policies {
		all = append(all, "SchedulingPolicy "+o.Name)
	}
	for _, o := range env.Configs {
		all = append(all, "ConfigMap "+o.Name)
	}
	for _, o := range env.ConfigSchemas {
		all = append(all, "ConfigSchema "+o.Name)
	}
	for _, o := range env.Templates {
		all = append(all, "Template "+o.Name)
	}
	for _, o := range env.Registrations {
		all = append(all, "WorkloadRegistration "+o.Name)
	}
	for _, o := range env.Workloads {
		all = append(all, "Workload "+o.Name)
	}
	return all
}

const policyHead = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: p}
`

func TestDocuments(t *testing.T) {
	const ours = "apiVersion: scheduler.kalypso.io/v1alpha1\n"
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  labels:\n    platform-config: \"true\"\n"
	const complete, incomplete, configIncomplete = "complete", "incomplete", "config incomplete"
	tests := []struct {
		name    string
		file    string
		objects []string
		found   []string
		state   string
	}{
		{name: "unknown field", file: clusterType + "  configTyp: x\n",
			objects: []string{"ClusterType small"},
			found:   []string{"warning control@dev:f.yaml:8 unknown-field | did you mean configType?"}},
		{name: "unknown field near nothing", file: clusterType + "  colour: x\n",
			objects: []string{"ClusterType small"},
			found:   []string{"warning control@dev:f.yaml:8 unknown-field"}},
		{name: "unknown field beside the spec", file: clusterType + "specs: {}\n",
			found: []string{"error control@dev:f.yaml:8 unknown-field | did you mean spec?"}, state: incomplete},
		{name: "metadata of a live object", file: strings.Replace(clusterType, "  name: small\n", "  name: small\n  uid: 1\n  namespace: dev\n  creationTimestamp: null\n", 1) + "status: {}\n",
			objects: []string{"ClusterType small"}},
		{name: "misspelled selector", file: policyHead + "spec:\n  clusterTypeSelector:\n    labelSelectr:\n      matchLabels: {a: b}\n",
			found: []string{"error control@dev:f.yaml:6 unknown-field | did you mean labelSelector?"}, state: incomplete},
		{name: "unknown operator", file: policyHead + "spec:\n  clusterTypeSelector:\n    labelSelector:\n      matchExpressions: [{key: a, operator: Is, values: [b]}]\n",
			found: []string{"error control@dev:f.yaml:6 invalid-selector"}, state: incomplete},
		{name: "label value that is none", file: policyHead + "spec:\n  clusterTypeSelector:\n    labelSelector:\n      matchLabels: {a: tést}\n",
			found: []string{"error control@dev:f.yaml:6 invalid-selector"}, state: incomplete},
		{name: "policy without selectors", file: policyHead, objects: []string{"SchedulingPolicy p"}},
		{name: "missing field", file: ours + "kind: ClusterType\nmetadata: {name: small}\nspec:\n  reconciler: flux\n",
			found: []string{"error control@dev:f.yaml:5 missing-field"}, state: incomplete},
		{name: "missing spec", file: ours + "kind: ConfigSchema\nmetadata: {name: small}\n",
			objects: []string{"ConfigSchema small"},
			found:   []string{"error control@dev:f.yaml:1 missing-field"}, state: incomplete},
		{name: "missing name", file: ours + "kind: SchedulingPolicy\nmetadata: {labels: {a: b}}\n",
			found: []string{"error control@dev:f.yaml:3 missing-field"}, state: incomplete},
		{name: "missing metadata", file: ours + "kind: SchedulingPolicy\n",
			found: []string{"error control@dev:f.yaml:1 missing-field"}, state: incomplete},
		{name: "name that leads elsewhere", file: strings.Replace(clusterType, "small", "../../etc", 1),
			found: []string{"error control@dev:f.yaml:4 invalid-name"}, state: incomplete},
		{name: "number for a string", file: strings.Replace(clusterType, "flux", "1.10", 1),
			found: []string{"error control@dev:f.yaml:6 invalid-field"}, state: incomplete},
		{name: "boolean label", file: strings.Replace(clusterType, "name: small", "name: small\n  labels: {edge: true}", 1),
			found: []string{"error control@dev:f.yaml:5 invalid-field"}, state: incomplete},
		{name: "boolean configuration", file: config + "data:\n  A: true\n",
			objects: []string{"ConfigMap c"},
			found:   []string{"error control@dev:f.yaml:8 invalid-field"}, state: incomplete},
		{name: "unquoted platform-config", file: strings.Replace(config, `"true"`, "true", 1) + "data: {}\n",
			found: []string{"error control@dev:f.yaml:6 invalid-field"}, state: configIncomplete},
		{name: "configuration without data", file: config + "immutable: true\n", objects: []string{"ConfigMap c"},
			state: configIncomplete},
		{name: "no object", file: "# nothing\n---\n{}\n---\n",
			found: []string{"warning control@dev:f.yaml:1 invalid-yaml"}, state: configIncomplete},
		{name: "misspelled data", file: config + "dta: {}\n", objects: []string{"ConfigMap c"},
			found: []string{"error control@dev:f.yaml:7 unknown-field | did you mean data?"}, state: configIncomplete},
		{name: "object for a string", file: strings.Replace(clusterType, "flux", "{a: b}", 1),
			found: []string{"error control@dev:f.yaml:6 invalid-field"}, state: incomplete},
		{name: "string for an object", file: ours + "kind: ClusterType\nmetadata: {name: small}\nspec: none\n",
			found: []string{"error control@dev:f.yaml:4 invalid-field"}, state: incomplete},
		{name: "field that stands twice", file: clusterType + "  reconciler: argocd\n",
			found: []string{"error control@dev:f.yaml:8 invalid-field"}, state: incomplete},
		{name: "merge key", file: ours + "kind: ClusterType\nmetadata: &m {name: small}\nspec:\n  <<: {reconciler: a, namespaceService: b}\n  reconciler: c\n",
			objects: []string{"ClusterType small"}},
		{name: "merge key in the labels", file: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  annotations: &a {platform-config: \"true\"}\n  labels: {<<: *a}\ndata: {}\n",
			objects: []string{"ConfigMap c"}},
		{name: "endless merge in the labels", file: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  labels: &a {<<: [*a, *a]}\ndata: {}\n"},
		{name: "endless merge", file: ours + "kind: ClusterType\nmetadata: {name: small}\nspec: &s\n  <<: [*s, *s]\n",
			found: []string{"error control@dev:f.yaml:4 invalid-field"}, state: incomplete},
		{name: "unknown kind", file: ours + "kind: SchedulingPolcy\n",
			found: []string{"error control@dev:f.yaml:2 unknown-kind | did you mean SchedulingPolicy?"}, state: incomplete},
		{name: "computed kind", file: ours + "kind: Assignment\n",
			found: []string{"warning control@dev:f.yaml:2 unknown-kind"}},
		{name: "workload in the control plane", file: ours + "kind: Workload\nmetadata: {name: w}\nspec: {deploymentTargets: []}\n",
			found: []string{"warning control@dev:f.yaml:1 misplaced-workload"}},
		{name: "other version", file: "apiVersion: scheduler.kalypso.io/v2\nkind: ClusterType\n",
			found: []string{"error control@dev:f.yaml:1 unknown-kind"}, state: incomplete},
		{name: "unknown template type", file: ours + "kind: Template\nmetadata: {name: t}\nspec:\n  type: reconcilr\n  contentType: ps1\n  manifests: [a]\n",
			found: []string{
				"error control@dev:f.yaml:5 invalid-value | did you mean reconciler?",
				"error control@dev:f.yaml:6 invalid-value",
			}, state: incomplete},
		{name: "manifest that is a list", file: ours + "kind: Template\nmetadata: {name: t}\nspec:\n  type: config\n  manifests:\n  - [a]\n",
			found: []string{"error control@dev:f.yaml:7 invalid-field"}, state: incomplete},
		{name: "other documents", file: "- a list\n---\n---\n# nothing\n---\na: 1\n"},
		{name: "text", file: "a: 1\n---\njust text\n",
			found: []string{"error control@dev:f.yaml:3 invalid-yaml"}, state: configIncomplete},
		{name: "not YAML, ours", file: clusterType + "bad: ]\ngood: 1\n",
			found: []string{"error control@dev:f.yaml:8 invalid-yaml"}, state: incomplete},
		{name: "not YAML at its end", file: clusterType + "bad: [\n",
			found: []string{"error control@dev:f.yaml:8 invalid-yaml"}, state: configIncomplete},
		{name: "not YAML, configuration", file: config + "\tdata:\n",
			found: []string{"error control@dev:f.yaml:7 invalid-yaml"}, state: configIncomplete},
		{name: "not YAML, nobody's", file: "{{- if .Values.kind }}\n",
			found: []string{"error control@dev:f.yaml:1 invalid-yaml"}, state: configIncomplete},
		{name: "windows", file: "\ufeff" + strings.ReplaceAll(clusterType, "\n", "\r\n"), objects: []string{"ClusterType small"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			repos := modeltest.Parse(pointers)
			repos.Write("control", "dev", "f.yaml", []byte(test.file))
			env := load(t, repos)
			if test.objects == nil {
				test.objects = []string{}
			}
			if test.found == nil {
				test.found = []string{}
			}
			if diff := cmp.Diff(test.objects, names(env)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.found, lines(env.Diagnostics)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			state := complete
			switch {
			case env.ConfigIncomplete && env.Incomplete:
				state = configIncomplete
			case env.Incomplete:
				state = incomplete
			}
			if test.state == "" {
				test.state = complete
			}
			if state != test.state {
				t.Errorf("the model is %s, want %s", state, test.state)
			}
		})
	}
}

func TestMergeKey(t *testing.T) {
	repos := modeltest.Parse(pointers)
	repos.Write("control", "dev", "f.yaml", []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: small}\nspec:\n  <<: {reconciler: a, namespaceService: b}\n  reconciler: c\n"))
	got := load(t, repos).ClusterTypes[0].Spec
	if got.Reconciler != "c" || got.NamespaceService != "b" {
		t.Errorf("spec: %+v", got)
	}
}

// TestOneBadFile proves that a file that cannot be read costs its own objects
// and no other.
func TestOneBadFile(t *testing.T) {
	repos := modeltest.Parse(pointers + application)
	repos.Write("control", "dev", "good.yaml", []byte(clusterType))
	repos.Write("control", "dev", "bad.yaml", []byte(policyHead+"spec: [\n"))
	env := load(t, repos)
	want := []string{"ClusterType small", "WorkloadRegistration shop", "Workload shop"}
	if diff := cmp.Diff(want, names(env)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if len(env.Diagnostics) != 1 || env.Diagnostics[0].Position.File != "bad.yaml" {
		t.Errorf("diagnostics: %q", lines(env.Diagnostics))
	}
}

func TestDuplicates(t *testing.T) {
	second := strings.Replace(clusterType, "flux", "argocd", 1)
	repos := modeltest.Parse(pointers)
	repos.Write("control", "dev", "a.yaml", []byte(clusterType))
	repos.Write("control", "dev", "b.yaml", []byte("---\n"+second))
	repos.Write("control", "main", "a.yaml", []byte(second))
	for range 20 {
		env := load(t, repos)
		if len(env.ClusterTypes) != 1 || env.ClusterTypes[0].Spec.Reconciler != "flux" {
			t.Fatalf("cluster types: %+v", env.ClusterTypes)
		}
		want := []string{
			"error control@dev:b.yaml:2 duplicate-object",
			"error control@main:a.yaml:1 duplicate-object",
		}
		if diff := cmp.Diff(want, lines(env.Diagnostics)); diff != "" {
			t.Fatalf("diagnostics (-want +got):\n%s", diff)
		}
		if !env.Incomplete || env.ConfigIncomplete {
			t.Fatalf("incomplete %v, config %v", env.Incomplete, env.ConfigIncomplete)
		}
	}
}

func TestWorkloadFindings(t *testing.T) {
	tests := []struct{ name, workload, want string }{
		{"bad target name", "    - {name: A_b, environment: dev}\n",
			"error shop@main:workload/workload.yaml:7 invalid-name"},
		{"target twice", "    - {name: a, environment: dev}\n    - {name: a, environment: qa}\n    - {name: a, environment: dev}\n",
			"error shop@main:workload/workload.yaml:9 duplicate-object"},
		{"no environment", "    - {name: a}\n",
			"error shop@main:workload/workload.yaml:7 missing-field"},
		{"long label", "    - {name: a, environment: dev}\n    - name: b\n      environment: qa\n      labels:\n        a: b\n        region: " + strings.Repeat("x", 64) + "\n",
			"error shop@main:workload/workload.yaml:12 too-large"},
		{"long key of a label", "    - name: b\n      environment: qa\n      labels:\n        ? " + strings.Repeat("x", 400) + "\n        : a\n",
			"error shop@main:workload/workload.yaml:9 too-large"},
		{"many labels", "    - name: b\n      environment: qa\n      labels:\n" + numbered("        l%d: a\n", 65),
			"error shop@main:workload/workload.yaml:9 too-large"},
		{"many targets", numbered("    - {name: t%d, environment: qa}\n", 1001),
			"error shop@main:workload/workload.yaml:6 too-large"},
		{"many manifests", "    - name: b\n      environment: qa\n      manifests:\n" + numbered("        m%d: a\n", 65),
			"error shop@main:workload/workload.yaml:9 too-large"},
		{"long manifests", "    - name: b\n      environment: qa\n      manifests:\n        repo: " + strings.Repeat("x", 70_000) + "\n",
			"error shop@main:workload/workload.yaml:9 too-large"},
		{"long environment", "    - name: b\n      environment: " + strings.Repeat("x", 300) + "\n",
			"error shop@main:workload/workload.yaml:8 too-large"},
		{"many schemas", "    - name: b\n      environment: qa\n      configSchemas:\n" + numbered("        - '{\"title\": \"%d\"}'\n", 101),
			"error shop@main:workload/workload.yaml:110 too-large"},
		{"long schemas", "    - name: b\n      environment: qa\n      configSchemas:\n        - '{}'\n        - '{\"title\": \"" + strings.Repeat("x", 300_000) + "\"}'\n",
			"error shop@main:workload/workload.yaml:11 too-large"},
		{"schemas of many targets", numbered("    - name: t%d\n      environment: qa\n      configSchemas: ['{}', '{}', '{}']\n", 400),
			"error shop@main:workload/workload.yaml:1008 too-large"},
		{"aliases", "    - &t\n      name: b\n      environment: qa\n      labels: {" + strings.TrimSuffix(numbered("l%d: a, ", 300), ", ") + "}\n" + strings.Repeat("    - *t\n", 900),
			"error shop@main:workload/workload.yaml:10 too-large"},
		{"not YAML", "    - [\n",
			"error shop@main:workload/workload.yaml:7 invalid-yaml"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			repos := modeltest.Parse(pointers + application)
			repos.Write("shop", "main", "workload/workload.yaml", []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata:\n  name: shop\nspec:\n  deploymentTargets:\n"+test.workload))
			env := load(t, repos)
			if diff := cmp.Diff([]string{test.want}, lines(env.Diagnostics)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			if len(env.Workloads) != 0 || !env.Incomplete || env.ConfigIncomplete {
				t.Errorf("workloads %v, incomplete %v, config %v", env.Workloads, env.Incomplete, env.ConfigIncomplete)
			}
		})
	}
}

// TestChartBesideWorkload proves that text which merely looks like YAML, as
// charts hold it, does not put a workload in doubt.
func TestChartBesideWorkload(t *testing.T) {
	repos := modeltest.Parse(strings.Replace(pointers+application, "path: ./workload\n", "path: .\n", 1))
	repos.Write("shop", "main", "chart/Chart.yaml", []byte("apiVersion: v2\nname: shop\nversion: 1.0.0\n"))
	repos.Write("shop", "main", "chart/values.yaml", nil)
	repos.Write("shop", "main", "chart/templates/deployment.yaml", []byte("{{- if .Values.on }}\nkind: Deployment\n{{- end }}\n"))
	env := load(t, repos)
	if env.Incomplete || len(env.Workloads) != 1 {
		t.Errorf("incomplete %v, workloads %v", env.Incomplete, env.Workloads)
	}
	if len(env.Diagnostics) != 1 || env.Diagnostics[0].Severity != model.Warning {
		t.Errorf("diagnostics: %q", lines(env.Diagnostics))
	}
}

func TestRegisteredTwice(t *testing.T) {
	repos := modeltest.Parse(pointers + application + `
-- control@main/again.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: again}
spec: {workload: {repo: https://forge.test/kalypso/shop, branch: main, path: workload}, workspace: other}
`)
	env := load(t, repos)
	if len(env.Workloads) != 1 || env.Workloads[0].Registration.Name != "again" {
		t.Errorf("workloads: %+v", env.Workloads)
	}
	want := []string{"error control@main:registrations.yaml:1 duplicate-object"}
	if diff := cmp.Diff(want, lines(env.Diagnostics)); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}

func TestIgnored(t *testing.T) {
	tests := []struct {
		name, ignore, file string
		want               bool
	}{
		{"nothing", "", "a/b.yaml", false},
		{"folder", "a/\n", "a/b.yaml", true},
		{"deep in a folder", "a/\n", "a/c/d/b.yaml", true},
		{"comment", "# a/\n\n", "a/b.yaml", false},
		{"anchored", "/b.yaml\n", "a/b.yaml", false},
		{"name anywhere", "b.yaml\n", "a/b.yaml", true},
		{"wildcard", "*.yaml\n", "a/b.yaml", true},
		{"exception", "*.yaml\n!b.yaml\n", "a/b.yaml", false},
		{"no exception below an ignored folder", "a/\n!a/b.yaml\n", "a/b.yaml", true},
		{"double star", "a/**/b.yaml\n", "a/c/d/b.yaml", true},
		{"windows line ends", "a/\r\n", "a/b.yaml", true},
		{"spaces at the end", "a/  \n", "a/b.yaml", true},
		{"GitHub's folder", "", ".github/workflows/b.yaml", true},
		{"Gitea's folder", "", ".gitea/b.yaml", true},
		{"other hidden folder", "", ".environments/b.yaml", false},
		{"no YAML", "", "a/b.json", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			repos := modeltest.Parse(pointers)
			repos.Write("control", "dev", ".sourceignore", []byte(test.ignore))
			repos.Write("control", "dev", test.file, []byte(clusterType))
			// Patterns that catch the pointers too are caught by the base's objects only.
			found := len(load(t, repos).ClusterTypes) > 0
			if found == test.want {
				t.Errorf("%s with %q: ignored %v, want %v", test.file, test.ignore, !found, test.want)
			}
		})
	}
	t.Run("the deeper file wins", func(t *testing.T) {
		repos := modeltest.Parse(pointers)
		repos.Write("control", "dev", ".sourceignore", []byte("f.yaml\n"))
		repos.Write("control", "dev", "a/.sourceignore", []byte("!f.yaml\n"))
		repos.Write("control", "dev", "a/f.yaml", []byte(clusterType))
		repos.Write("control", "dev", "f.yaml", []byte(strings.Replace(clusterType, "small", "large", 1)))
		if diff := cmp.Diff([]string{"ClusterType small"}, names(load(t, repos))); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
	})
	t.Run("nested file", func(t *testing.T) {
		repos := modeltest.Parse(pointers)
		repos.Write("control", "dev", "a/.sourceignore", []byte("/b.yaml\n"))
		repos.Write("control", "dev", "a/b.yaml", []byte(clusterType))
		repos.Write("control", "dev", "b.yaml", []byte(strings.Replace(clusterType, "small", "large", 1)))
		if diff := cmp.Diff([]string{"ClusterType large"}, names(load(t, repos))); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
	})
}

func TestPathNarrows(t *testing.T) {
	repos := modeltest.Parse(`
-- control@dev/env/f.yaml --
` + clusterType + `
-- control@dev/environment/f.yaml --
` + strings.Replace(clusterType, "small", "large", 1))
	for _, path := range []string{"env", "./env", "/env/", "env/f.yaml", "x/../env"} {
		ref := dev
		ref.Path = path
		env, err := model.LoadEnvironment(t.Context(), repos, "dev", ref)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"ClusterType small"}, names(env)); diff != "" {
			t.Errorf("%s: objects (-want +got):\n%s", path, diff)
		}
	}
}

// numbered is a text n times, with a number in each.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
