package actions

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/retry"
)

func TestJob(t *testing.T) {
	f := newForge(t)
	start(t, runnerConfig(t, f))
	f.give(1, `
name: CI
on: {workflow_dispatch: {inputs: {dry: {type: boolean}, count: {type: number}}}}
env: {LEVEL: workflow, FROM: "${{ github.ref_name }}"}
jobs:
  build:
    name: Build of ${{ needs.prep.outputs.tag }}
    needs: [prep]
    env: {LEVEL: job, ABOVE: "${{ env.LEVEL }}"}
    defaults: {run: {shell: sh}}
    outputs:
      tag: ${{ steps.one.outputs.tag }}-${{ needs.prep.outputs.tag }}
      many: ${{ steps.one.outputs.many }}
      leak: x${{ secrets.PASSWORD }}x
    steps:
      - id: one
        name: First
        env: {LEVEL: step}
        run: |
          echo "level $LEVEL above $ABOVE from $FROM"
          echo "password ${{ secrets.PASSWORD }} and $(printf '%s' hunter2)"
          echo "tag=v1" >> $GITHUB_OUTPUT
          printf 'many<<E\na\nb\nE\n' >> "$GITHUB_OUTPUT"
          echo "LATER=set" >> $GITHUB_ENV
          echo "PATH=/nowhere" >> $GITHUB_ENV
          mkdir "$RUNNER_TEMP/b"; echo "$RUNNER_TEMP/b" >> $GITHUB_PATH
          printf '#!/bin/sh\necho mine\n' > "$RUNNER_TEMP/b/tool"; chmod +x "$RUNNER_TEMP/b/tool"
          echo "# It is done" >> $GITHUB_STEP_SUMMARY
          echo "::add-mask::whisper"; echo "a whisper"
          printf 'no end of line'
      - if: inputs.dry && inputs.count == 2
        run: |
          echo "workflow ${{ github.workflow }} $GITHUB_WORKFLOW"
          tool; echo "later $LATER, out ${{ steps.one.outputs.tag }}, target ${{ inputs.target }}, cell ${{ matrix.os }}"
          echo "home $HOME"; readlink "$(command -v kalypso)"; cat $GITHUB_EVENT_PATH; echo; pwd; echo "repo $GITHUB_REPOSITORY"
      - run: echo never
        if: github.ref_name == 'other'
      - id: may
        run: exit 3
        continue-on-error: true
      - run: echo "may ${{ steps.may.outcome }} ${{ steps.may.conclusion }} ${{ job.status }}"
        shell: bash
    strategy: {matrix: {os: [linux]}}
`, func(task *runnerv1.Task) {
		task.Secrets["PASSWORD"] = "hunter2"
		task.Needs = map[string]*runnerv1.TaskNeed{"prep": {Result: runnerv1.Result_RESULT_SUCCESS, Outputs: map[string]string{"tag": "p"}}}
	})
	g := f.ended(1)
	if got := resultName(g.state.Result); got != success {
		t.Errorf("the job is a %s:\n%s", got, g.log())
	}
	if want := []string{success, success, skipped, success, success}; !slices.Equal(g.results(), want) {
		t.Errorf("steps %v, want %v", g.results(), want)
	}
	if want := map[string]string{"tag": "v1-p", "many": "a\nb"}; !cmp.Equal(g.outputs, want) {
		t.Errorf("outputs %q", g.outputs)
	}
	for step, lines := range map[int][]string{
		0: {"level step above workflow from main", "password *** and ***", "a ***", "# It is done", "no end of line", "::warning::GITHUB_ENV cannot set PATH."},
		1: {"mine", "later set, out v1, target dev, cell linux", "repo org/app", "workflow CI CI"},
		3: {"::error::Process completed with exit code 3."},
		4: {"may failure success success"},
	} {
		for _, line := range lines {
			if !slices.Contains(strings.Split(g.step(step), "\n"), line) {
				t.Errorf("step %d has no line %q:\n%s", step, line, g.step(step))
			}
		}
	}
	if log := g.log(); strings.Contains(log, "hunter2") || strings.Contains(log, "whisper\n") || !g.closed {
		t.Errorf("closed %v:\n%s", g.closed, log)
	}
}

func TestEndsOfJobs(t *testing.T) {
	const head = "jobs:\n  j:\n    runs-on: host\n"
	steps := func(lines ...string) string { return head + "    steps:\n      - " + strings.Join(lines, "\n      - ") }
	cases := []struct {
		name, workflow string
		needs          runnerv1.Result
		result         string
		steps          []string
		says           string
	}{
		{"failure skips what follows", steps("run: exit 1", "run: echo no", "{run: echo after, if: failure()}", "{run: echo all, if: always()}"), 0,
			failure, []string{failure, skipped, success, success}, "after"},
		{"a step takes too long", steps("{run: 'sleep 60', timeout-minutes: 0.005}", "{run: echo next, if: failure()}"), 0,
			failure, []string{failure, success}, "::error::the step has not ended after 300ms"},
		{"a job takes too long", head + "    timeout-minutes: 0.005\n    steps: [{run: sleep 60}, {run: echo no}, {run: echo tidy, if: always()}]", 0,
			failure, []string{failure, cancelled, success}, "tidy"},
		{"a step is killed", steps("run: kill -9 $$"), 0, failure, []string{failure}, "::error::the process has been ended by signal 9"},
		{"a step kills its keeper", steps("run: kill -9 $PPID; sleep 60"), 0, failure, []string{failure}, "::error::the job's keeper has been killed"},
		{"no such action", steps("uses: actions/setup-go@v5"), 0, failure, nil, "::error::job j: step 1: uses: actions/setup-go@v5 is not served here: the only actions are actions/checkout and kalypso-dev/kalypso; do the rest with run"},
		{"kalypso's own action", steps("uses: kalypso-dev/kalypso@main", "run: command -v kalypso"), 0, success, []string{success, success}, "kalypso is on the PATH of every job here"},
		{"a bad expression", steps("run: echo ${{ github.ref", "run: echo no"), 0, failure, []string{failure, skipped}, "::error::run: expression ${{ github.ref: unexpected EOF while lexing expression"},
		{"a bad condition", steps("{run: echo no, if: gihub.ref}"), 0, failure, []string{failure}, `::error::if: expression gihub.ref: there is no context "gihub" here`},
		{"no such shell", steps("{run: echo no, shell: fish}"), 0, failure, []string{failure}, `::error::shell: "fish" is not served here: use bash, sh, python, or a command line with {0} for the script`},
		{"no such folder", steps("{run: echo no, working-directory: none}"), 0, failure, []string{failure}, ""},
		{"a bad command file", steps("run: echo nonsense >> $GITHUB_OUTPUT"), 0, failure, []string{failure}, `::error::GITHUB_OUTPUT: the line "nonsense" is neither name=value nor name<<END`},
		{"no program", steps("{run: echo no, shell: 'nonesuch {0}'}"), 0, failure, []string{failure}, "::error::shell: there is no program nonesuch on this machine"},
		{"the job is not wanted", head + "    if: github.ref_name == 'x'\n    steps: [{run: echo no}]", 0, skipped, []string{skipped}, ""},
		{"a need has failed", head + "    if: failure()\n    steps: [{run: echo rescue}]", runnerv1.Result_RESULT_FAILURE, success, []string{success}, "rescue"},
		{"a need was left out", head + "    if: ${{ !cancelled() }}\n    steps: [{run: echo anyway}]", runnerv1.Result_RESULT_SKIPPED, success, []string{success}, "anyway"},
		{"a need has failed, no word of it", head + "    if: true\n    steps: [{run: echo no}]", runnerv1.Result_RESULT_FAILURE, skipped, []string{skipped}, ""},
		{"no workflow", "jobs: [", 0, failure, nil, ""},
	}
	f := newForge(t)
	start(t, runnerConfig(t, f))
	for i, c := range cases {
		f.give(int64(i), c.workflow, func(task *runnerv1.Task) {
			if c.needs != 0 {
				task.Needs = map[string]*runnerv1.TaskNeed{"before": {Result: c.needs}}
			}
		})
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := f.ended(int64(i))
			if got := resultName(g.state.Result); got != c.result || !slices.Equal(g.results(), c.steps) {
				t.Errorf("%s %v, want %s %v:\n%s", got, g.results(), c.result, c.steps, g.log())
			}
			if c.says != "" && !slices.Contains(g.lines, c.says) || slices.Contains(g.lines, "no") {
				t.Errorf("log:\n%s", g.log())
			}
		})
	}
}

func TestForgeThatForgets(t *testing.T) {
	f := newForge(t)
	c := runnerConfig(t, f)
	r, _ := start(t, c)
	f.give(1, "jobs: {j: {steps: [{run: echo}]}}", nil)
	f.ended(1)
	f.mu.Lock()
	f.runners = []string{"stranger"}
	f.mu.Unlock()
	f.give(2, "jobs: {j: {steps: [{run: echo}]}}", nil)
	if g := f.ended(2); g.runner != "runner-b" {
		t.Error(g.runner)
	}
	if err := r.Ready(); err != nil {
		t.Error(err)
	}
}

func TestForgeThatRefuses(t *testing.T) {
	f := newForge(t)
	c := runnerConfig(t, f)
	c.RegistrationToken = "old"
	r, err := New(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := r.Run(ctx); err == nil || !strings.Contains(err.Error(), "token not found") {
		t.Error(err)
	}
}

func TestForgeThatIsBusy(t *testing.T) {
	f := newForge(t)
	r, _ := start(t, runnerConfig(t, f))
	f.give(1, "jobs: {j: {steps: [{run: 'echo begun; sleep 0.5; seq 5000'}]}}", nil)
	f.says(1, "begun")
	f.mu.Lock()
	f.refuse = errors.New("database is locked")
	f.mu.Unlock()
	err := retry.Until(t.Context(), "trouble", 5*time.Second, func(context.Context) error {
		if r.Ready() == nil {
			return errors.New("ready")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	f.mu.Lock()
	f.refuse = nil
	f.mu.Unlock()
	g := f.ended(1)
	if resultName(g.state.Result) != success || !strings.Contains(g.log(), "\n4999\n5000\n") {
		t.Errorf("%s with %d lines", g.state.Result, len(g.lines))
	}
}

func TestSeveralAtOnce(t *testing.T) {
	f := newForge(t)
	c := runnerConfig(t, f)
	c.Capacity = 2
	r, _ := start(t, c)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// each of the first two needs the other
	f.give(1, "jobs: {j: {steps: [{run: echo x > "+fifo+"}]}}", nil)
	f.give(2, "jobs: {j: {steps: [{run: cat "+fifo+"; sleep 0.3}]}}", nil)
	f.give(3, "jobs: {j: {steps: [{run: echo}]}}", nil)
	most := 0
	for _, id := range []int64{1, 2, 3} {
		most = max(most, len(r.Status().Running))
		if g := f.ended(id); resultName(g.state.Result) != success {
			t.Error(g.log())
		}
	}
	if most > 2 {
		t.Errorf("%d at once", most)
	}
}

func TestEnvironmentOfTheRunner(t *testing.T) {
	t.Setenv("KALYPSO_TEST_PRIVATE", "must not be seen")
	f := newForge(t)
	c := runnerConfig(t, f)
	c.Env, c.SecretEnv = map[string]string{"ENDPOINT": "http://x", "HOME": "/mine"}, map[string]string{"ARM": "abracadabra"}
	start(t, c)
	f.give(1, "jobs: {j: {env: {ENDPOINT: own}, steps: [{run: 'echo \"$ENDPOINT $ARM $HOME\"; env'}]}}", nil)
	g := f.ended(1)
	if !slices.Contains(g.lines, "own *** "+c.Dir+"/jobs/1/home") || strings.Contains(g.log(), "PRIVATE") || strings.Contains(g.log(), "let me in") {
		t.Error(g.log())
	}
}

func TestEnvironment(t *testing.T) {
	f := newForge(t)
	whole := "jobs:\n  j:\n    environment: {name: '${{ inputs.target }}'}\n    steps: [{run: echo}]\n"
	f.workflow[".github/workflows/ci.yaml"] = whole
	start(t, runnerConfig(t, f))
	f.give(1, "jobs: {j: {steps: [{run: 'echo \"next ${{ vars.NEXT }}, all ${{ join(vars.*) }}, ${{ secrets.KEY }}\"'}]}}", func(task *runnerv1.Task) {
		task.Vars = map[string]string{Scoped("dev", "next"): "stage", Scoped("stage", "next"): "prod", "NEXT": "none", "PLAIN": "p"}
		task.Secrets[Scoped("dev", "key")] = "abracadabra"
	})
	g := f.ended(1)
	if !slices.Contains(g.lines, "next stage, all stage,p, ***") {
		t.Error(g.log())
	}
}
