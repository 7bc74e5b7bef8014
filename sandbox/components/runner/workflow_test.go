package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"github.com/kballard/go-shellquote"
)

// What Gitea leaves out of what it sends counts all the same.
func TestOriginalOfAJob(t *testing.T) {
	const dynamic = "::error::.gitea/workflows/ci.yaml:%d: strategy: matrix: the forge has made no jobs of it, since it does so before anything has run: " +
		"write its values out as lists, without expressions and aliases"
	file := func(job string) string {
		return "name: CI\non: push\njobs:\n  j:\n    " + job + "\n    steps: [{run: x}]\n"
	}
	cases := []struct {
		name, file, sent, result, says string
	}{
		{"a job that may fail", file("continue-on-error: true"), "{steps: [{run: exit 1}]}", success, "The job may fail: its result counts as success."},
		{"a job that may fail, by an expression", file("continue-on-error: ${{ github.ref_name == 'main' }}"), "{steps: [{run: exit 1}]}", success, ""},
		{"a job that may take too long", file("continue-on-error: true"), "{timeout-minutes: 0.005, steps: [{run: sleep 60}]}", success, ""},
		{"a job that may not fail", file("continue-on-error: ${{ github.ref_name == 'dev' }}"), "{steps: [{run: exit 1}]}", failure, ""},
		{"no file", "", "{steps: [{run: exit 1}]}", failure, ""},
		{"a matrix that is an expression", file("strategy: {matrix: '${{ fromJSON(needs.a.outputs.m) }}'}"), "{steps: [{run: 'echo no ${{ matrix.v }}'}]}", failure, fmt.Sprintf(dynamic, 5)},
		{"values that are an expression", file("strategy: {matrix: {v: '${{ fromJSON(needs.a.outputs.m) }}'}}"), "{steps: [{run: echo no, if: matrix.v}]}", failure, fmt.Sprintf(dynamic, 5)},
		{"a matrix that is an alias", "x: &m {v: [1, 2]}\n" + file("strategy: {matrix: *m}"), "{steps: [{run: 'echo no ${{ matrix.v }}'}]}", failure, fmt.Sprintf(dynamic, 6)},
		{"all values excluded", file("strategy: {matrix: {v: [1], exclude: [{v: 1}]}}"), "{steps: [{run: 'echo no ${{ matrix.v }}'}]}", failure, fmt.Sprintf(dynamic, 5)},
		{"it may fail, in capitals", file("continue-on-error: True"), "{steps: [{run: exit 1}]}", success, ""},
		{"no matrix", file("name: x"), "{steps: [{run: 'echo cell ${{ matrix.v }},'}]}", success, "cell ,"},
		{"a matrix sent", "", "{strategy: {matrix: {v: [3]}}, steps: [{run: 'echo cell ${{ matrix.v }}'}]}", success, "cell 3"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := newForge(t)
			if c.file != "" {
				f.workflow[".gitea/workflows/ci.yaml"] = c.file
			}
			start(t, runnerConfig(t, f))
			f.give(1, "jobs: {j: "+c.sent+"}", func(task *runnerv1.Task) {
				task.Needs = map[string]*runnerv1.TaskNeed{"a": {Result: runnerv1.Result_RESULT_SUCCESS, Outputs: map[string]string{"m": `{"v":[1]}`}}}
			})
			g := f.ended(1)
			if got := resultName(g.state.Result); got != c.result {
				t.Errorf("%s, want %s:\n%s", got, c.result, g.log())
			}
			if c.says != "" && !slices.Contains(g.lines, c.says) || slices.ContainsFunc(g.lines, func(l string) bool { return strings.HasPrefix(l, "no") }) {
				t.Errorf("log:\n%s", g.log())
			}
		})
	}
}

func TestReadWorkflow(t *testing.T) {
	only := func(job string) string { return "jobs: {j: " + job + "}" }
	for workflow, want := range map[string]string{
		"jobs: [":                    "workflow: yaml",
		"jobs: {}":                   `no job ""`,
		"jobs: {a: {}, b: {}}":       `no job "" among its 2`,
		only("{uses: ./x.yaml}"):     "reusable",
		only("{container: debian}"):  "containers are not served",
		only("{services: {a: {}}}"):  "containers are not served",
		only("{steps: [{name: x}]}"): "step 1: it needs either run or uses",
		only("{steps: [{run: x, uses: actions/checkout@v4}]}"): "step 1: it needs either",
		only("{steps: [{uses: docker://alpine}]}"):             "not served",
	} {
		w, id, err := readWorkflow(&runnerv1.Task{WorkflowPayload: []byte(workflow)})
		if err == nil {
			err = checkJob(w.Jobs[id])
		}
		if err == nil || !strings.Contains(err.Error(), want) {
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

// The library puts the script's path into the line, and splits it like a shell.
func TestShellCommand(t *testing.T) {
	const script = "/home/ü it's/1.sh"
	for shell, want := range map[string][]string{
		"": {"bash", "-e", script}, "sh": {"sh", "-e", script}, "bash": {"bash", "--noprofile", "--norc", "-eo", "pipefail", script},
		"python": {"python3", script}, "perl -w {0}": {"perl", "-w", script}, "pwsh": nil,
	} {
		line, err := shellCommand(shell, "/home/ü it's/console")
		got, bad := shellquote.Split(strings.ReplaceAll(line, "{0}", script))
		if bad != nil || len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) || (err != nil) != (want == nil) {
			t.Errorf("%q: %q, %v; want %q", shell, got, errors.Join(err, bad), want)
		}
	}
}

// scoped is how the sandbox names a variable of an environment.
func scoped(environment, name string) string { return scope(environment) + strings.ToUpper(name) }

func TestInEnvironment(t *testing.T) {
	all := map[string]string{"A": "all", "B": "all", scoped("dev", "a"): "dev", scoped("my-stage", "A"): "stage", "ENV__DEV__": "x"}
	for environment, want := range map[string]map[string]string{
		"":         {"A": "all", "B": "all"},
		"dev":      {"A": "dev", "B": "all"},
		"Dev":      {"A": "dev", "B": "all"},
		"my-stage": {"A": "stage", "B": "all"},
		"de":       {"A": "all", "B": "all"},
	} {
		if got := inEnvironment(all, environment); !maps.Equal(got, want) {
			t.Errorf("%q sees %v, want %v", environment, got, want)
		}
	}
	if got := scoped("dev", "next_environment"); got != "ENV__DEV__NEXT_ENVIRONMENT" {
		t.Error(got)
	}
}
