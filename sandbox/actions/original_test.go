package actions

import (
	"slices"
	"strings"
	"testing"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
)

// What Gitea leaves out of what it sends counts all the same.
func TestOriginalOfAJob(t *testing.T) {
	const dynamic = "::error::.gitea/workflows/ci.yaml:5: job j: strategy: matrix: the expression ${{ fromJSON(needs.a.outputs.m) }} is not served here, " +
		"since the forge makes jobs of a matrix before anything has run: write the values out"
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
		{"a matrix that is an expression", file("strategy: {matrix: '${{ fromJSON(needs.a.outputs.m) }}'}"), "{steps: [{run: 'echo no ${{ matrix.v }}'}]}", failure, dynamic},
		{"values that are an expression", file("strategy: {matrix: {v: '${{ fromJSON(needs.a.outputs.m) }}'}}"), "{steps: [{run: echo no, if: matrix.v}]}", failure, dynamic},
		{"a matrix that is an alias", "x: &m {v: [1, 2]}\n" + file("strategy: {matrix: *m}"), "{steps: [{run: 'echo no ${{ matrix.v }}'}]}", failure,
			"::error::.gitea/workflows/ci.yaml:6: job j: strategy: matrix: the alias *m is not served here, since the forge does not follow it: write the values out"},
		{"values that are an alias of an expression", "x: &m ${{ fromJSON(vars.B) }}\n" + file("strategy: {matrix: {v: *m}}"), "{steps: [{run: 'echo no ${{ matrix.v }}'}]}", failure,
			"::error::.gitea/workflows/ci.yaml:6: job j: strategy: matrix: v is not a list of values"},
		{"no values", file("strategy: {matrix: {v: []}}"), "{steps: [{run: 'echo no ${{ matrix.v }}'}]}", failure, "::error::.gitea/workflows/ci.yaml:5: job j: strategy: matrix: v has no values"},
		{"all values excluded", file("strategy: {matrix: {v: [1], exclude: [{v: 1}]}}"), "{steps: [{run: 'echo no ${{ matrix.v }}'}]}", failure, "::error::strategy: matrix: the forge has made no job of it: no combination of its values is left"},
		{"it may fail, in capitals", file("continue-on-error: True"), "{steps: [{run: exit 1}]}", success, ""},
		{"conditions in capitals", "", "{if: True, steps: [{run: echo hi, if: True}, {run: echo no, if: FALSE}]}", success, "hi"},
		{"a condition that never holds", "", "{if: False, steps: [{run: echo no}]}", skipped, ""},
		{"no matrix", file("name: x"), "{steps: [{run: 'echo cell ${{ matrix.v }}, ${{ strategy.job-index }} of ${{ strategy.job-total }}'}]}", success, "cell , 0 of 1"},
		{"a matrix sent", "", "{strategy: {matrix: {v: [3]}}, steps: [{run: 'echo cell ${{ matrix.v }}'}]}", success, "cell 3"},
		{"an index among jobs", "", "{strategy: {matrix: {v: [3]}}, steps: [{run: 'echo no ${{ strategy.job-index }}'}]}", failure,
			"::error::job j: strategy: its context is not served here for a job with a matrix, such as strategy.job-index: tell the jobs apart by values of the matrix"},
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
