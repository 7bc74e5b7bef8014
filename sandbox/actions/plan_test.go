package actions

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/sandbox/actions/expression"
)

func TestParse(t *testing.T) {
	job, err := Parse([]byte(`
name: CI
on: {workflow_dispatch: {inputs: {dry: {type: boolean}}}}
env: {A: 1}
defaults: {run: {shell: bash, working-directory: all}}
jobs:
  j:
    if: true
    timeout-minutes: 5
    env: {B: yes}
    defaults: {run: {shell: sh}}
    strategy: {matrix: {n: [3], os: [linux]}}
    environment: {name: dev, url: http://x}
    steps:
      - {run: echo, continue-on-error: true, timeout-minutes: 1}
      - {uses: actions/checkout@v4, with: {fetch-depth: 0}}
  other: {steps: [{uses: a/b@v1}]}
`), "j")
	if err != nil {
		t.Fatal(err)
	}
	want := &Job{
		Workflow: "CI", ID: "j", Name: "j", If: "true", Env: []map[string]string{{"A": "1"}, {"B": "yes"}},
		Defaults: Defaults{"sh", "all"}, Timeout: "5", Matrix: map[string]any{"n": 3.0, "os": "linux"},
		InputKinds: map[string]string{"dry": "boolean"}, Environment: "dev",
		Steps: []Step{
			{Run: "echo", ContinueOnError: "true", Timeout: "1"},
			{Uses: "actions/checkout@v4", With: map[string]string{"fetch-depth": "0"}},
		},
	}
	if d := cmp.Diff(want, job); d != "" {
		t.Error(d)
	}
	only := func(job string) string { return "jobs: {j: " + job + "}" }
	for workflow, want := range map[string]string{
		"jobs: [":                       "workflow: yaml",
		"jobs: {}":                      `no job ""`,
		"jobs: {a: {}, b: {}}":          `no job "" among its 2`,
		only("{uses: ./x.yaml}"):        "reusable",
		only("{container: debian}"):     "containers are not served",
		only("{services: {a: {}}}"):     "containers are not served",
		only("{environment: {url: x}}"): "it has no name",
		only("{steps: [{name: x}]}"):    "step 1: has neither run nor uses",
		only("{steps: [{run: x, uses: actions/checkout@v4}]}"):               "both",
		only("{steps: [{run: x},{uses: actions/cache@v4},{uses: ./local}]}"): "step 2: uses: actions/cache@v4 is not served",
		only("{steps: [{id: a, run: x},{id: a, run: y}]}"):                   `step 2: another step has the id "a"`,
		only("{steps: [{uses: docker://alpine}]}"):                           "not served",
		only("{strategy: {matrix: '${{ fromJSON(needs.a.outputs.b) }}'}}"):   "strategy: matrix: the expression ${{ fromJSON(needs.a.outputs.b) }} is not served here",
		only("{strategy: {matrix: {a: ['${{ vars.B }}']}}}"):                 "the expression ${{ vars.B }} is not served",
		only("{strategy: {matrix: [a]}}"):                                    "not a mapping",
		only("{strategy: {matrix: {a: 1}}}"):                                 "matrix: a is not a list",
		only("{strategy: {matrix: {a: [1]}}, if: strategy.job-index == 0}"):  "strategy: its context is not served here",
		only("{steps: [{uses: actions/checkout}]}"):                          "not served",
	} {
		if _, err := Parse([]byte(workflow), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", workflow, err, want)
		}
	}
}

func TestMinutes(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "5": 5 * time.Minute, "0.5": 30 * time.Second} {
		if got, err := minutes(text); got != want || err != nil {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"0", "-1", "x", "NaN", "1e9"} {
		if got, err := minutes(text); err == nil {
			t.Errorf("%q is %s, want an error", text, got)
		}
	}
}

func TestShellCommand(t *testing.T) {
	all := func(string) bool { return true }
	noBash := func(p string) bool { return p != "bash" }
	for _, c := range []struct {
		shell string
		has   func(string) bool
		want  string
	}{
		{"", all, "bash -e /s"}, {"", noBash, "sh -e /s"}, {"sh", all, "sh -e /s"},
		{"bash", all, "bash --noprofile --norc -eo pipefail /s"}, {"bash", noBash, ""},
		{"python", all, "python3 /s"}, {"perl -w {0}", all, "perl -w /s"}, {"pwsh", all, ""},
	} {
		got, err := shellCommand(c.shell, "/s", c.has)
		if strings.Join(got, " ") != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q: %q, %v; want %q", c.shell, got, err, c.want)
		}
	}
}

func TestScoped(t *testing.T) {
	all := map[string]string{"A": "all", "B": "all", Scoped("dev", "a"): "dev", Scoped("my-stage", "A"): "stage", "ENV__DEV__": "x"}
	for environment, want := range map[string]map[string]string{
		"":         {"A": "all", "B": "all"},
		"dev":      {"A": "dev", "B": "all"},
		"Dev":      {"A": "dev", "B": "all"},
		"my-stage": {"A": "stage", "B": "all"},
		"de":       {"A": "all", "B": "all"},
	} {
		if got := inEnvironment(all, environment); !cmp.Equal(got, want) {
			t.Errorf("%q sees %v, want %v", environment, got, want)
		}
	}
	if Scoped("dev", "next_environment") != "ENV__DEV__NEXT_ENVIRONMENT" {
		t.Error(Scoped("dev", "next_environment"))
	}
}

func TestStatusOfNeeds(t *testing.T) {
	for results, want := range map[string]expression.Status{
		"": {}, "success": {}, "success failure": {Failed: true}, "skipped": {Skipped: true},
		"cancelled": {Cancelled: true}, "cancelled failure": {Failed: true}, "skipped failure": {Failed: true, Skipped: true},
	} {
		needs := map[string]need{}
		for _, r := range strings.Fields(results) {
			needs[r] = need{Result: r}
		}
		if got := (task{Needs: needs}).status(); got != want {
			t.Errorf("%q: %+v", results, got)
		}
	}
}

func TestCheckoutPlan(t *testing.T) {
	run := func(ref string) task {
		return task{GitHub: map[string]any{"repository": "org/app", "sha": "abc", "ref": ref, "server_url": "http://forge/", "token": "tok"}}
	}
	known := []string{"refs/heads/dev", "refs/tags/v1", "refs/heads/v1"}
	commit := strings.Repeat("ab", 20)
	for _, c := range []struct {
		name  string
		with  map[string]string
		ref   string
		wants []string // commands but for what they share
	}{
		{"a branch's push", nil, "refs/heads/main", []string{
			"fetch --depth=1 origin +abc:refs/remotes/origin/main", "checkout -B main refs/remotes/origin/main", "branch --set-upstream-to=origin/main main"}},
		{"a tag's push", nil, "refs/tags/v1", []string{"fetch --depth=1 origin abc", "checkout --detach abc"}},
		{"a pull request", nil, "refs/pull/3/head", []string{"fetch --depth=1 origin abc", "checkout --detach abc"}},
		{"all history", map[string]string{"fetch-depth": "0"}, "refs/heads/main", []string{
			"fetch origin +refs/heads/*:refs/remotes/origin/* +refs/tags/*:refs/tags/*",
			"fetch origin +abc:refs/remotes/origin/main", "checkout -B main refs/remotes/origin/main", "branch --set-upstream-to=origin/main main"}},
		{"tags", map[string]string{"fetch-tags": "true"}, "refs/heads/main", []string{
			"fetch --depth=1 origin +abc:refs/remotes/origin/main +refs/tags/*:refs/tags/*", "checkout -B main refs/remotes/origin/main", "branch --set-upstream-to=origin/main main"}},
		{"another branch", map[string]string{"ref": "dev", "fetch-depth": "2"}, "refs/heads/main", []string{
			"fetch --depth=2 origin +refs/heads/dev:refs/remotes/origin/dev", "checkout -B dev refs/remotes/origin/dev", "branch --set-upstream-to=origin/dev dev"}},
		{"a branch goes before a tag", map[string]string{"ref": "v1"}, "", []string{
			"fetch --depth=1 origin +refs/heads/v1:refs/remotes/origin/v1", "checkout -B v1 refs/remotes/origin/v1", "branch --set-upstream-to=origin/v1 v1"}},
		{"a tag in full", map[string]string{"ref": "refs/tags/v1"}, "", []string{"fetch --depth=1 origin refs/tags/v1", "checkout --detach FETCH_HEAD"}},
		{"a commit", map[string]string{"ref": commit}, "", []string{"fetch --depth=1 origin " + commit, "checkout --detach " + commit}},
		{"another repository", map[string]string{"repository": "org/other"}, "refs/heads/main", []string{"fetch --depth=1 origin HEAD", "checkout --detach FETCH_HEAD"}},
	} {
		co, err := newCheckout(c.with, run(c.ref), "/w")
		if err != nil {
			t.Error(c.name, err)
			continue
		}
		target, err := co.target(known)
		if err != nil {
			t.Error(c.name, err)
			continue
		}
		var got []string
		for _, argv := range co.commands(target) {
			line := strings.NewReplacer("git ", "", "--quiet ", "", "--no-tags ", "", "--force ", "").Replace(strings.Join(argv, " "))
			got = append(got, line)
		}
		if !slices.Equal(got, c.wants) {
			t.Errorf("%s:\n%s", c.name, strings.Join(got, "\n"))
		}
	}
	for name, v := range map[string]string{
		"path": "../x", "repository": "x", "fetch-depth": "-1", "ref": "--upload-pack=x", "submodules": "true", "lfs": "true",
	} {
		if _, err := newCheckout(map[string]string{name: v}, run(""), "/w"); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s %s: %v", name, v, err)
		}
	}
	co, _ := newCheckout(map[string]string{"ref": "none", "token": "mine", "path": "a/b", "persist-credentials": "false", "odd": "1"}, run(""), "/w")
	if _, err := co.target(known); err == nil || !co.needsRefs() || co.Token != "mine" || co.Dir != "/w/a/b" || co.Persist || len(co.Notes) != 1 {
		t.Errorf("%+v, %v", co, err)
	}
	if want := "[http \"http://forge/\"]\n\textraheader = AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46bWluZQ==\n"; co.settings() != want {
		t.Error(co.settings())
	}
}

func TestHashFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"go.sum", "a/go.sum", "a/b/x.txt", ".git/go.sum"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	digest := func(patterns ...string) string {
		s, err := hashFiles(dir, patterns)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	top, all := digest("go.sum"), digest("**/go.sum")
	if len(top) != 64 || top == all || all != digest("go.sum\na/go.sum") || top != digest("**/go.sum", "!a/go.sum") {
		t.Error(top, all, digest("go.sum\na/go.sum"), digest("**/go.sum", "!a/go.sum"))
	}
	if digest("none*", "") != "" {
		t.Error("a digest of nothing")
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if digest("go.sum") == top {
		t.Error("another content has the same digest")
	}
}
