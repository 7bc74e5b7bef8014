package model_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
)

// pointers is what every environment's branch needs.
const pointers = `
-- control@dev/base-repo.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata: {name: main}
spec: {repo: https://forge.test/kalypso/control, branch: main, path: .}
-- control@dev/gitops-repo.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: dev}
spec: {repo: https://forge.test/kalypso/gitops, branch: dev, path: ./clusters}
-- control@main/README.md --
shared
`

const clusterType = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata:
  name: small
spec:
  reconciler: flux
  namespaceService: default
`

const application = `
-- control@main/registrations.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata:
  name: shop
spec:
  workload:
    repo: https://forge.test/kalypso/shop
    branch: main
    path: ./workload
  workspace: team
-- shop@main/workload/workload.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata:
  name: shop
spec:
  deploymentTargets:
    - name: test
      environment: dev
      manifests:
        repo: https://forge.test/kalypso/shop-gitops
        branch: dev
        path: ./test
        chart: oci
`

var dev = model.Reference{Repo: modeltest.Forge + "control", Branch: "dev", Path: "."}

func load(t *testing.T, repos *modeltest.Repositories) *model.Environment {
	t.Helper()
	env, err := model.LoadEnvironment(context.Background(), repos, "dev", dev)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// named finds hints that have a name from the model in them.
var named = regexp.MustCompile(`^(did you mean|replace|there is one in) `)

// lines writes what tests assert of diagnostics, one per line.
func lines(diagnostics []model.Diagnostic) []string {
	all := []string{}
	for _, d := range diagnostics {
		line := fmt.Sprintf("%s %s %s", d.Severity, d.Position, d.Code)
		if named.MatchString(d.Hint) {
			line += " | " + d.Hint
		}
		all = append(all, line)
	}
	return all
}

func TestLoadEnvironment(t *testing.T) {
	repos := modeltest.Parse(pointers + application + `
-- control@dev/anywhere/at all.yml --
apiVersion: v1
kind: Service
metadata:
  name: not-ours
---
` + clusterType + `
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: not-platform
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: platform
  labels:
    platform-config: "true"
data:
  a: b
  port: "007"
-- control@main/template.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata:
  labels:
  name: flux
spec:
  type: reconciler
  manifests:
    - |
      kind: First
      name: {{ .Workload }}
    - kind: Second
      metadata:
        name: "{{ .Workload }}"
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ConfigSchema
metadata: {name: base-schema}
spec: {schema: "{}"}
-- control@main/.environments/dev.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: dev}
spec: {controlPlane: {repo: https://forge.test/kalypso/control, branch: dev, path: .}}
`)
	env := load(t, repos)
	if got := lines(env.Diagnostics); len(got) > 0 || env.Incomplete || env.ConfigIncomplete {
		t.Fatalf("diagnostics: %q", got)
	}
	want := model.Reference{Repo: modeltest.Forge + "gitops", Branch: "dev", Path: "./clusters"}
	if env.GitOps != want {
		t.Errorf("GitOps = %v", env.GitOps)
	}
	if len(env.ClusterTypes) != 1 || env.ClusterTypes[0].Name != "small" || env.ClusterTypes[0].Spec.Reconciler != "flux" {
		t.Errorf("cluster types: %+v", env.ClusterTypes)
	}
	if got := env.ClusterTypes[0].Position.String(); got != "control@dev:anywhere/at all.yml:6" {
		t.Errorf("cluster type's position: %s", got)
	}
	if got := env.ClusterTypes[0].At("spec", "reconciler").String(); got != "control@dev:anywhere/at all.yml:11" {
		t.Errorf("reconciler's position: %s", got)
	}
	if len(env.Configs) != 1 || env.Configs[0].Name != "platform" || env.Configs[0].Spec.Data["port"] != "007" {
		t.Errorf("configs: %+v", env.Configs)
	}
	if got := env.Configs[0].At("data", "port").Line; got != 29 {
		t.Errorf("port's line: %d", got)
	}
	if len(env.ConfigSchemas) != 1 || len(env.Templates) != 1 || len(env.Templates[0].Spec.Manifests) != 2 {
		t.Fatalf("schemas %v templates %+v", env.ConfigSchemas, env.Templates)
	}
	manifests := env.Templates[0].Spec.Manifests
	if manifests[0].Text != "kind: First\nname: {{ .Workload }}\n" || manifests[0].Line != 10 {
		t.Errorf("manifest as string: %+v", manifests[0])
	}
	if manifests[1].Text != "kind: Second\nmetadata:\n  name: \"{{ .Workload }}\"\n" {
		t.Errorf("manifest as object: %q", manifests[1].Text)
	}
	if len(env.Workloads) != 1 || env.Workloads[0].Registration.Spec.Workspace != "team" {
		t.Fatalf("workloads: %+v", env.Workloads)
	}
	target := env.Workloads[0].Spec.DeploymentTargets[0]
	if diff := cmp.Diff(map[string]string{"repo": modeltest.Forge + "shop-gitops", "branch": "dev", "path": "./test", "chart": "oci"}, target.Manifests); diff != "" {
		t.Errorf("manifests (-want +got):\n%s", diff)
	}
	if got := env.Workloads[0].At("spec", "deploymentTargets", "0", "name").String(); got != "shop@main:workload/workload.yaml:7" {
		t.Errorf("target's position: %s", got)
	}
	var sources []string
	for _, s := range env.Sources {
		sources = append(sources, fmt.Sprintf("%s@%s:%s %v", strings.TrimPrefix(s.Repo, modeltest.Forge), s.Branch, s.Path, len(s.Commit) == 40))
	}
	if diff := cmp.Diff([]string{"control@dev:. true", "control@main:. true", "shop@main:./workload true"}, sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

// TestPinnedBase proves that the promoted commit wins over the branch.
func TestPinnedBase(t *testing.T) {
	repos := modeltest.Parse(pointers + application)
	pinned := repos.Tree("control", "main").Commit
	repos.Remove("control", "main", "registrations.yaml")
	if env := load(t, repos); len(env.Workloads) != 0 || env.Promoted != "" {
		t.Fatalf("head: %d workloads, promoted %q", len(env.Workloads), env.Promoted)
	}
	pin := func(commit string) {
		repos.Write("control", "dev", "base-repo.yaml", []byte(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata: {name: main}
spec:
  repo: https://forge.test/kalypso/control
  branch: main
  commit: `+commit+"\n"))
	}
	pin(pinned)
	env := load(t, repos)
	if len(env.Workloads) != 1 || env.Promoted != pinned {
		t.Fatalf("pinned: %d workloads, promoted %q", len(env.Workloads), env.Promoted)
	}
	if got := env.Registrations[0].Position.String(); got != "control@main:registrations.yaml:1" {
		t.Errorf("registration's position: %s", got)
	}
	pin(strings.Repeat("f", 40))
	env = load(t, repos)
	want := []string{"error control@dev:base-repo.yaml:7 missing-reference"}
	if diff := cmp.Diff(want, lines(env.Diagnostics)); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
	if !env.Incomplete || !env.ConfigIncomplete || !env.BaseUnreadable {
		t.Error("a base that is not there leaves the model complete")
	}
	if env.Promoted != "" {
		t.Errorf("promoted %s, which is not there", env.Promoted)
	}
	repos.Write("control", "dev", "another.yaml", []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: another}\nspec: {repo: https://forge.test/kalypso/control, branch: main, commit: "+pinned+"}\n"))
	if env := load(t, repos); len(env.Workloads) != 1 || env.Promoted != "" {
		t.Errorf("%d workloads; another base's commit is promoted for the main one's: %q", len(env.Workloads), env.Promoted)
	}
	pin("1234567")
	if env := load(t, repos); env.Promoted != "" || !env.BaseUnreadable {
		t.Errorf("another base's commit is promoted for one that is no string: %q, %q", env.Promoted, lines(env.Diagnostics))
	}
	pin(pinned)
	if env := load(t, repos); env.Promoted != pinned || env.BaseUnreadable || len(env.Diagnostics) > 0 {
		t.Errorf("promoted %q, %q", env.Promoted, lines(env.Diagnostics))
	}
}

// TestBaseInTheEnvironment reads a base from the environment's own folder, at
// its head and at a commit. Only what differs there is said twice.
func TestBaseInTheEnvironment(t *testing.T) {
	repos := modeltest.Parse(pointers)
	base := func(commit string) {
		repos.Write("control", "dev", "base-repo.yaml", []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\nspec: {repo: https://forge.test/kalypso/control, branch: dev, path: ./b"+commit+"}\n"))
	}
	base("")
	repos.Write("control", "dev", "b/same.yaml", []byte(clusterType))
	repos.Write("control", "dev", "b/other.yaml", []byte(strings.Replace(clusterType, "small", "large", 1)))
	want := []string{"ClusterType large", "ClusterType small"}
	check := func(diagnostics ...string) {
		t.Helper()
		env := load(t, repos)
		if diff := cmp.Diff(want, names(env)); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(diagnostics, lines(env.Diagnostics), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("diagnostics (-want +got):\n%s", diff)
		}
	}
	check()
	base(", commit: " + repos.Tree("control", "dev").Commit)
	check()
	repos.Write("control", "dev", "b/other.yaml", []byte(strings.Replace(clusterType, "small", "large", 1)+"# changed\n"))
	check("error control@dev:b/other.yaml:1 duplicate-object")
}

func TestReadErrors(t *testing.T) {
	for _, branch := range []string{"control@dev", "control@main", "shop@main"} {
		repos := modeltest.Parse(pointers + application)
		broken := errors.New("connection refused")
		repos.Errors[branch] = broken
		env, err := model.LoadEnvironment(context.Background(), repos, "dev", dev)
		if env != nil || !errors.Is(err, broken) {
			t.Errorf("%s: environment %v, error %v", branch, env, err)
		}
		if err != nil && !strings.Contains(err.Error(), branch) {
			t.Errorf("%s is not named by %q", branch, err)
		}
		if registered := regexp.MustCompile(`: control@main:\S+\.yaml:\d+`); err != nil && branch == "shop@main" && !registered.MatchString(err.Error()) {
			t.Errorf("where it is registered is not in %q", err)
		}
	}
}

// TestReadsOnce proves that one environment never sees two states of a branch.
func TestReadsOnce(t *testing.T) {
	repos := modeltest.Parse(pointers + application + `
-- control@main/again.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: again}
spec: {workload: {repo: https://forge.test/kalypso/shop, branch: main, path: other}, workspace: team}
-- shop@main/other/workload.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata: {name: other}
`)
	env := load(t, repos)
	if len(env.Workloads) != 2 {
		t.Fatalf("workloads: %v", env.Workloads)
	}
	var paths []string
	for _, source := range env.Sources {
		paths = append(paths, source.Path)
	}
	if diff := cmp.Diff([]string{".", ".", "./workload", "other"}, paths); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	seen := map[string]int{}
	for _, ref := range repos.Reads {
		seen[ref.Repo+"@"+ref.Branch]++
	}
	for branch, n := range seen {
		if n != 1 {
			t.Errorf("%s was read %d times", branch, n)
		}
	}
}

func TestReferencesNotFound(t *testing.T) {
	tests := []struct {
		name, from, to string
		want           []string
	}{
		{"registration's repository", "kalypso/shop\n", "YOUR_ORG/shop\n", []string{
			"error control@main:registrations.yaml:7 missing-reference | replace YOUR_ORG by your organisation's name",
		}},
		{"registration's branch", "branch: main\n    path: ./workload", "branch: trunk\n    path: ./workload", []string{
			"error control@main:registrations.yaml:7 missing-reference",
		}},
		{"registration's path", "path: ./workload\n", "path: ./wrokload\n", []string{
			"error control@main:registrations.yaml:9 missing-workload | there is one in workload/workload.yaml",
		}},
		{"base repository", "kalypso/control, branch: main", "kalypso/contrl, branch: main", []string{
			"error control@dev:base-repo.yaml:4 missing-reference",
		}},
		{"base repository's object", "kind: BaseRepo", "kind: GitOpsRepo", []string{
			"error control@dev missing-object",
			"error control@dev:gitops-repo.yaml:1 duplicate-object",
		}},
		{"GitOps repository's object", "kind: GitOpsRepo", "kind: BaseRepo", []string{
			"error control@dev missing-object",
			"error control@dev:gitops-repo.yaml:4 missing-reference",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(pointers+application, test.from, test.to, 1)
			if text == pointers+application {
				t.Fatal("the test changes nothing")
			}
			repos := modeltest.Parse(text)
			env := load(t, repos)
			if diff := cmp.Diff(test.want, lines(env.Diagnostics)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			if !env.Incomplete {
				t.Error("the model passes for complete")
			}
			for _, read := range repos.Reads {
				if !slices.ContainsFunc(env.Sources, func(s model.Reference) bool { return s.Repo == read.Repo && s.Branch == read.Branch }) {
					t.Errorf("%v was read and is no source", read)
				}
			}
		})
	}
}

func TestMissingEnvironmentBranch(t *testing.T) {
	env := load(t, modeltest.Parse("-- control@main/README.md --\n"))
	want := []string{"error control@dev missing-reference"}
	if diff := cmp.Diff(want, lines(env.Diagnostics)); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
	if !env.Incomplete || len(env.Sources) != 1 {
		t.Errorf("incomplete %v, sources %v", env.Incomplete, env.Sources)
	}
}

// TestIgnoredEnvironments proves that Environment objects are read from
// .environments/ even where an ignore file names it, and nothing else is.
func TestIgnoredEnvironments(t *testing.T) {
	object := func(kind, name string) []byte {
		return fmt.Appendf(nil, "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec:\n  controlPlane: {repo: r, branch: b}\n", kind, name)
	}
	for _, test := range []struct {
		name, ignore, path, file string
		want                     bool
	}{
		{"as in the original's own control plane", ".github/\n.environments/\n", "", ".environments/dev.yaml", true},
		{"the file", "dev.yaml\n", "", ".environments/deep/dev.yaml", true},
		{"everything", "*\n", ".", ".environments/dev.yaml", true},
		{"everything, and the folder is named", "*\n", ".environments", ".environments/dev.yaml", true},
		{"in the control plane's folder", ".environments/\n", "fleet", "fleet/.environments/dev.yaml", true},
		{"outside the control plane's folder", "", "fleet", ".environments/dev.yaml", false},
		{"elsewhere", "environments/\n.environments/\n", "", "environments/dev.yaml", false},
		{"deep in another folder", ".environments/\n", "", "fleet/.environments/dev.yaml", false},
		{"a forge's folder", ".environments/\n", "", ".environments/.github/dev.yaml", false},
		{"no YAML", ".environments/\n", "", ".environments/dev.json", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			repos := modeltest.Parse("")
			repos.Write("control", "main", ".sourceignore", []byte(test.ignore))
			repos.Write("control", "main", test.file, object("Environment", "dev"))
			environments, diagnostics := model.LoadEnvironments(repos.Tree("control", "main"), test.path)
			if found := len(environments) == 1; found != test.want || len(diagnostics) > 0 {
				t.Errorf("found %v, want %v; diagnostics %v", found, test.want, diagnostics)
			}
		})
	}
	repos := modeltest.Parse("")
	repos.Write("control", "main", ".sourceignore", []byte(".environments/\n"))
	repos.Write("control", "main", ".environments/a.yaml", object("ClusterType", "small"))
	repos.Write("control", "main", ".environments/b.yaml", object("Environment", "UPPER"))
	repos.Write("control", "main", ".environments/c.yaml", []byte("kind: [\n"))
	tree := repos.Tree("control", "main")
	_, diagnostics := model.LoadEnvironments(tree, "")
	if len(diagnostics) != 2 || diagnostics[0].Position.File != ".environments/b.yaml" || diagnostics[1].Position.File != ".environments/c.yaml" {
		t.Errorf("diagnostics of a wrong object and a broken file: %v", diagnostics)
	}
	files := model.LoadFiles(tree, "")
	if diff := cmp.Diff(diagnostics, files.Diagnostics); diff != "" || len(files.ClusterTypes) > 0 {
		t.Errorf("the tree's files (-environments +files):\n%s\nobjects: %v", diff, files.ClusterTypes)
	}
	if visible := model.Files(tree, ""); len(visible) > 0 {
		t.Errorf("the platform model is read from %v", visible)
	}
}

func TestLoadEnvironments(t *testing.T) {
	repos := modeltest.Parse(`
-- control@main/.environments/all.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata:
  labels:
  name: stage
spec:
  controlPlane: {repo: r, branch: stage, path: .}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: dev}
spec:
  controlPlane: {repo: r, branch: dev}
-- control@main/.environments/broken.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: qa}
spec:
  controlPlane: {repo: r}
-- control@main/.environments/twice.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: dev}
spec:
  controlPlane: {repo: other, branch: dev}
-- control@main/.github/ignored.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: ignored}
spec:
  controlPlane: {repo: r, branch: dev}
`)
	environments, diagnostics := model.LoadEnvironments(repos.Tree("control", "main"), "")
	var got []string
	for _, e := range environments {
		got = append(got, e.Name+" "+e.Spec.ControlPlane.Repo+"@"+e.Spec.ControlPlane.Branch)
	}
	if diff := cmp.Diff([]string{"dev r@dev", "stage r@stage"}, got); diff != "" {
		t.Errorf("environments (-want +got):\n%s", diff)
	}
	want := []string{
		"error control@main:.environments/broken.yaml:5 missing-field",
		"error control@main:.environments/twice.yaml:1 duplicate-object",
	}
	if diff := cmp.Diff(want, lines(diagnostics)); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}

// TestLoadGitOps: where an environment publishes to is known of one GitOpsRepo
// in its folder, and of nothing else.
func TestLoadGitOps(t *testing.T) {
	const object = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: %s}\nspec: {%s}\n"
	const spec = "repo: https://forge/acme/gitops, branch: dev, path: fleet"
	one := fmt.Sprintf(object, "gitops", spec)
	for _, test := range []struct {
		name  string
		files map[string]string
		want  model.Reference
	}{
		{"none", map[string]string{"e/a.yaml": "kind: ConfigMap\n"}, model.Reference{}},
		{"one", map[string]string{"e/deep/a.yaml": one, "e/.github/b.yaml": one}, model.Reference{Repo: "https://forge/acme/gitops", Branch: "dev", Path: "fleet"}},
		{"two", map[string]string{"e/a.yaml": one, "e/b.yaml": fmt.Sprintf(object, "other", spec)}, model.Reference{}},
		{"elsewhere", map[string]string{"other/a.yaml": one}, model.Reference{}},
		{"unreadable", map[string]string{"e/a.yaml": fmt.Sprintf(object, "gitops", "branch: [dev]")}, model.Reference{}},
	} {
		tree := &model.Tree{Files: map[string][]byte{}}
		for name, content := range test.files {
			tree.Files[name] = []byte(content)
		}
		if got := model.LoadGitOps(tree, "./e"); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
