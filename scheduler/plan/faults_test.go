package plan_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/rogpeppe/go-internal/txtar"
)

// The original scheduler has faults that its users know. Those that a plan can
// have are tested here, by the numbers of the contract's section 9; the others
// are tested where plans are published and watched.

const faultHead = "apiVersion: scheduler.kalypso.io/v1alpha1\n"

// faultRepos are the repositories that the rules start from, with files on top of it.
func faultRepos(t testing.TB, files string) *modeltest.Repositories {
	t.Helper()
	base, err := txtar.ParseFile("testdata/base.txtar")
	if err != nil {
		t.Fatal(err)
	}
	repos := modeltest.Parse("")
	repos.Add(base.Files...)
	repos.Add(txtar.Parse([]byte(files)).Files...)
	return repos
}

func faultPlan(t testing.TB, repos *modeltest.Repositories) *plan.Plan {
	t.Helper()
	return newPlan(t, environment(t, repos, "dev"), repos.Tree("gitops", "dev"))
}

// mergePlan does to the GitOps branch what merging the plan's pull request does.
func mergePlan(repos *modeltest.Repositories, p *plan.Plan) {
	for _, c := range p.Changes {
		if c.Action == plan.Remove {
			repos.Remove("gitops", "dev", c.Path)
		} else {
			repos.Write("gitops", "dev", c.Path, c.Content)
		}
	}
}

func added(t testing.TB, p *plan.Plan, file string) string {
	t.Helper()
	for _, c := range p.Changes {
		if c.Path == file {
			return string(c.Content)
		}
	}
	t.Fatalf("%s is not among %q, problems %v", file, changes(p), p.Problems)
	return ""
}

const largeType = "-- control@dev/large.yaml --\n" + faultHead + "kind: ClusterType\nmetadata: {name: large, labels: {size: large}}\nspec: {reconciler: flux, namespaceService: default}\n"

// Two policies that select one pair collide, and block the environment.
func TestFault01PoliciesCollide(t *testing.T) {
	repos := faultRepos(t, largeType+"-- control@dev/again.yaml --\n"+faultHead+"kind: SchedulingPolicy\nmetadata: {name: again}\nspec: {deploymentTargetSelector: {labelSelector: {matchLabels: {purpose: test}}}}\n")
	p := faultPlan(t, repos)
	got := map[string][]string{}
	for _, a := range p.Assignments {
		got[a.ClusterType+"/"+a.Target] = a.Policies
	}
	want := map[string][]string{"large/shop-test": {"again", "all"}, "small/shop-test": {"again", "all"}}
	if diff := cmp.Diff(want, got); diff != "" || len(p.Assignments) != 2 || len(p.Problems) > 0 {
		t.Errorf("problems %v, %d assignments (-want +got):\n%s", p.Problems, len(p.Assignments), diff)
	}
}

// One bad assignment blocks all.
func TestFault02OneBadBlocksAll(t *testing.T) {
	repos := faultRepos(t, largeType)
	mergePlan(repos, faultPlan(t, repos))
	repos.Write("control", "dev", "schema.yaml", []byte(faultHead+"kind: ConfigSchema\nmetadata: {name: s, labels: {size: small}}\nspec: {schema: '{\"required\": [\"URL\"]}'}\n"))
	repos.Write("control", "dev", "config.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {platform-config: \"true\"}}\ndata: {K: v}\n"))
	p := faultPlan(t, repos)
	if diff := cmp.Diff([]string{"modify large/shop-test/platform-config.yaml"}, changes(p)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if len(p.Problems) != 1 || p.Problems[0].ClusterType != "small" || p.Problems[0].Message != "URL is required" {
		t.Errorf("problems: %v", p.Problems)
	}
}

// An error while reading turns into "delete all" in the next pull request.
// Whatever cannot be read, on whichever branch: there is no plan, and where
// what was read cannot be understood, nothing is removed.
func TestFault05ReadErrorsDelete(t *testing.T) {
	repos := faultRepos(t, largeType+"-- control@dev/config.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {platform-config: \"true\"}}\ndata: {K: v}\n")
	mergePlan(repos, faultPlan(t, repos))
	ref := model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"}
	broken := errors.New("connection reset")
	for _, branch := range []string{"control@dev", "control@main", "shop@main"} {
		repos.Errors[branch] = broken
		env, err := model.LoadEnvironment(t.Context(), repos, "dev", ref)
		if env != nil || !errors.Is(err, broken) {
			t.Errorf("%s: environment %v, error %v", branch, env, err)
		}
		repos.Errors[branch] = fmt.Errorf("repository: %w", model.ErrNotFound)
		env, err = model.LoadEnvironment(t.Context(), repos, "dev", ref)
		if err != nil {
			t.Fatal(err)
		}
		if p := newPlan(t, env, repos.Tree("gitops", "dev")); len(p.Changes) > 0 || len(p.Problems) == 0 {
			t.Errorf("%s is not there: changes %q, problems %v", branch, changes(p), p.Problems)
		}
		repos.Errors[branch] = fmt.Errorf("repository: %w", &model.LimitError{What: "files and folders", Max: 1})
		env, err = model.LoadEnvironment(t.Context(), repos, "dev", ref)
		if branch == "control@dev" {
			if env != nil || !errors.As(err, new(*model.LimitError)) {
				t.Errorf("the environment itself is too large: %v, error %v", env, err)
			}
		} else if err != nil {
			t.Fatal(err)
		} else if p := newPlan(t, env, repos.Tree("gitops", "dev")); len(p.Changes) > 0 || len(p.Problems) == 0 {
			t.Errorf("%s is too large: changes %q, problems %v", branch, changes(p), p.Problems)
		}
		delete(repos.Errors, branch)
	}
	for _, file := range []string{"control@dev/config.yaml", "control@dev/large.yaml", "control@dev/policy.yaml", "control@main/shop.yaml", "control@main/templates.yaml", "shop@main/workload/workload.yaml"} {
		name, path, _ := strings.Cut(file, "/")
		repo, branch, _ := strings.Cut(name, "@")
		good := repos.Tree(repo, branch).Files[path]
		repos.Write(repo, branch, path, slices.Concat(good, []byte("\n  - [\n")))
		if p := faultPlan(t, repos); len(p.Changes) > 0 || len(p.Problems) == 0 {
			t.Errorf("%s is broken: changes %q, problems %v", file, changes(p), p.Problems)
		}
		repos.Write(repo, branch, path, nil)
		if p := faultPlan(t, repos); len(p.Changes) > 0 || len(p.Problems) == 0 {
			t.Errorf("%s is too large: changes %q, problems %v", file, changes(p), p.Problems)
		}
		repos.Write(repo, branch, path, good)
	}
	if p := faultPlan(t, repos); len(p.Changes)+len(p.Problems) > 0 {
		t.Errorf("in the end: changes %q, problems %v", changes(p), p.Problems)
	}
}

// Texts that look like numbers are coerced before validation, and in manifests.
func TestFault06NumbersCoerced(t *testing.T) {
	repos := faultRepos(t, "-- control@dev/config.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {platform-config: \"true\"}}\n"+
		"data: {VERSION: \"1.10\", ZEROS: \"007\", FLAG: \"true\", EXPONENT: \"1e3\", MAP: '{version: \"1.10\", zeros: \"007\"}'}\n"+
		"-- control@dev/schema.yaml --\n"+faultHead+"kind: ConfigSchema\nmetadata: {name: s}\nspec:\n  schema: |\n"+
		"    {\"properties\": {\"VERSION\": {\"type\": \"string\", \"pattern\": \"^1[.]10$\"}, \"ZEROS\": {\"type\": \"string\", \"minLength\": 3}, \"FLAG\": {\"type\": \"string\"}, \"EXPONENT\": {\"type\": \"string\"},\n"+
		"     \"MAP\": {\"properties\": {\"version\": {\"type\": \"string\", \"pattern\": \"^1[.]10$\"}, \"zeros\": {\"type\": \"string\", \"minLength\": 3}}}}}\n")
	p := faultPlan(t, repos)
	if len(p.Problems) > 0 {
		t.Fatalf("problems: %v", p.Problems)
	}
	const want = "EXPONENT: \"1e3\"\nFLAG: \"true\"\nMAP:\n    version: \"1.10\"\n    zeros: \"007\"\nVERSION: \"1.10\"\nZEROS: \"007\"\n"
	if got := added(t, p, "small/shop-test/platform-config.yaml"); got != want {
		t.Errorf("platform-config:\n%s\nwant\n%s", got, want)
	}
}

// A "{{" in a value loops for ever. Ours ends after ten rounds, with the
// template's name, however the values are entangled.
func TestFault07ActionsLoop(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"itself", `{A: "x{{ .ConfigData.A }}"}`, "after 10 rounds"},
		{"each other", `{A: "{{ .ConfigData.B }}.", B: "{{ .ConfigData.A }}."}`, "after 10 rounds"},
		{"growing", `{A: "` + strings.Repeat("{{ .ConfigData.A }}", 12) + `"}`, "too much"},
		{"no template", `{A: "{{ $labels.instance }}"}`, `undefined variable "$labels"`},
		{"never closed", `{A: "{{ .Workload"}`, "bad character"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			repos := faultRepos(t, "-- control@dev/config.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {platform-config: \"true\"}}\ndata: "+test.data+"\n")
			start := time.Now()
			p := faultPlan(t, repos)
			if len(p.Problems) != 1 || p.Problems[0].Reason != plan.TemplateFailed || !strings.Contains(p.Problems[0].Message, test.want) {
				t.Fatalf("problems: %v", p.Problems)
			}
			if !strings.HasPrefix(p.Problems[0].Message, "template configmap: ") && !strings.HasPrefix(p.Problems[0].Message, "template configmap, ") {
				t.Errorf("no template in %q", p.Problems[0].Message)
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %s", took)
			}
		})
	}
	repos := faultRepos(t, "-- control@dev/config.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {platform-config: \"true\"}}\ndata: {A: \"{{ print `{{` }}\", B: \"{{ .Workload }}\"}\n")
	if p := faultPlan(t, repos); len(p.Problems) != 1 {
		t.Errorf("a result that holds braces: %v", p.Problems)
	}
}

// Unknown keys print "<no value>" into manifests.
func TestFault08NoValue(t *testing.T) {
	repos := faultRepos(t, "-- control@main/url.yaml --\n"+faultHead+"kind: Template\nmetadata: {name: url}\nspec:\n  type: config\n  manifests:\n    - |\n      a: 1\n      url: {{ .ConfigData.URL }}\n"+
		"-- control@dev/small.yaml --\n"+faultHead+"kind: ClusterType\nmetadata: {name: small}\nspec: {reconciler: flux, namespaceService: default, configType: url}\n")
	p := faultPlan(t, repos)
	if len(p.Problems) != 1 {
		t.Fatalf("problems: %v", p.Problems)
	}
	got := fmt.Sprintf("%s: %s", p.Problems[0].Position, p.Problems[0].Message)
	if want := "control@main:url.yaml:9: template url, line 2 of manifest 1: .ConfigData.URL has no value"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	repos.Write("control", "main", "url.yaml", []byte(faultHead+"kind: Template\nmetadata: {name: url}\nspec:\n  type: config\n  manifests: [\"a: {{ if .ConfigData.URL }}yes{{ else }}no{{ end }}\"]\n"))
	if got := added(t, faultPlan(t, repos), "small/shop-test/platform-config.yaml"); got != "a: no\n" {
		t.Errorf("asked for a missing key: %q", got)
	}
}

// Names that "-" joins are ambiguous and grow too long.
func TestFault09JoinedNames(t *testing.T) {
	long := strings.Repeat("long-", 12) + "name"
	workload := func(name, target string) string {
		return "-- control@main/" + name + ".yaml --\n" + faultHead + "kind: WorkloadRegistration\nmetadata: {name: " + name + "}\nspec: {workload: {repo: https://forge.test/kalypso/" + name + ", branch: main}, workspace: team}\n" +
			"-- " + name + "@main/workload.yaml --\n" + faultHead + "kind: Workload\nmetadata: {name: " + name + "}\nspec:\n  deploymentTargets:\n    - {name: " + target + ", environment: dev, manifests: {path: .}}\n"
	}
	p := faultPlan(t, faultRepos(t, workload("a", "b-c")+workload("a-b", "c")+workload(long, "t")))
	got := map[string]string{}
	for _, problem := range p.Problems {
		if problem.Reason == plan.InvalidName {
			got[problem.ClusterType+"/"+problem.Target] = problem.Message
		}
	}
	want := map[string]string{
		"small/a-b-c":          "the deployment target's name a-b-c is ambiguous: it also stands for a-b@main:workload.yaml:6",
		"small/" + long + "-t": fmt.Sprintf("the deployment target's name %s-t has %d characters, 63 is the limit", long, len(long)+2),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	for _, change := range changes(p) {
		if change != "add small/README.md" && !strings.HasPrefix(change, "add small/shop-test/") {
			t.Errorf("%s", change)
		}
	}
}

// Template functions read the scheduler's environment.
func TestFault10ReadsEnvironment(t *testing.T) {
	t.Setenv("KALYPSO_SECRET", "the scheduler's own")
	for _, action := range []string{`env "KALYPSO_SECRET"`, `expandenv "$KALYPSO_SECRET"`, `getHostByName "localhost"`, "now", "randAlphaNum 5", "uuidv4", `genPrivateKey "rsa"`} {
		repos := faultRepos(t, "-- control@main/t.yaml --\n"+faultHead+"kind: Template\nmetadata: {name: t}\nspec:\n  type: config\n  manifests: ['a: {{ "+action+" }}']\n"+
			"-- control@dev/small.yaml --\n"+faultHead+"kind: ClusterType\nmetadata: {name: small}\nspec: {reconciler: flux, namespaceService: default, configType: t}\n")
		p := faultPlan(t, repos)
		if len(p.Problems) != 1 || !strings.Contains(p.Problems[0].Message, "not defined") {
			t.Errorf("%s: problems %v", action, p.Problems)
		}
		for _, c := range p.Changes {
			if bytes.Contains(c.Content, []byte("the scheduler's own")) {
				t.Errorf("%s: %s holds the secret", action, c.Path)
			}
		}
	}
}

// Every change of configuration renders every assignment anew. Ours works out
// what the change touches: a planner that knows a fleet of 120 assignments
// needs for one of them a small part of what it takes to plan them all.
func TestFault12EverythingRendersAgain(t *testing.T) {
	repos := faultRepos(t, "")
	for i := range 120 {
		repos.Write("control", "dev", fmt.Sprintf("type-%03d.yaml", i), fmt.Appendf(nil,
			"%skind: ClusterType\nmetadata: {name: type-%03d}\nspec: {reconciler: flux, namespaceService: default}\n", faultHead, i))
	}
	var loader model.Loader
	config := func(value string) *model.Environment {
		repos.Write("control", "dev", "config.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {platform-config: \"true\", cluster-type: type-007}}\ndata: {K: "+value+"}\n"))
		env, err := loader.Load(t.Context(), repos, "dev", model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	envs := []*model.Environment{config("one"), config("two")}
	branch := repos.Tree("gitops", "dev")
	var planner plan.Planner
	next := 0
	again := testing.AllocsPerRun(4, func() {
		next++
		if p := planWith(t, &planner, envs[next%2], branch); len(p.Assignments) != 121 || len(p.Problems) > 0 {
			t.Fatalf("%d assignments, problems %v", len(p.Assignments), p.Problems)
		}
	})
	anew := testing.AllocsPerRun(2, func() { newPlan(t, envs[0], branch) })
	if again > anew/3 {
		t.Errorf("%v allocations for one assignment, %v for all", again, anew)
	}
	byPath := func(p *plan.Plan) map[string]string {
		files := map[string]string{}
		for _, c := range p.Changes {
			files[c.Path] = string(c.Content)
		}
		return files
	}
	one, two := byPath(planWith(t, &planner, envs[0], branch)), byPath(planWith(t, &planner, envs[1], branch))
	maps.DeleteFunc(one, func(path, content string) bool { return two[path] == content })
	if diff := cmp.Diff(map[string]string{"type-007/shop-test/platform-config.yaml": "K: one\n"}, one); diff != "" {
		t.Errorf("other files (-want +got):\n%s", diff)
	}
}

// newPlan plans, and fails the test when there is an error.
func newPlan(t testing.TB, env *model.Environment, gitops *model.Tree) *plan.Plan {
	t.Helper()
	p, err := plan.New(t.Context(), env, gitops)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// planWith plans, and fails the test when there is an error.
func planWith(t testing.TB, planner *plan.Planner, env *model.Environment, gitops *model.Tree) *plan.Plan {
	t.Helper()
	p, err := planner.New(t.Context(), env, gitops)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
