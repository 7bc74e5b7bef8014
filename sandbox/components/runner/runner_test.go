package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
)

func TestJob(t *testing.T) {
	f := newForge(t)
	start(t, runnerConfig(t, f))
	f.give(1, `
name: CI
on: {workflow_dispatch: {inputs: {dry: {type: boolean}, count: {type: number}, target: {}}}}
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
	if want := map[string]string{"tag": "v1-p", "many": "a\nb"}; !maps.Equal(g.outputs, want) {
		t.Errorf("outputs %q", g.outputs)
	}
	for step, lines := range map[int][]string{
		0: {"level step above job from main", "password *** and ***", "a ***", "# It is done", "no end of line"},
		1: {"mine", "later set, out v1, target dev, cell linux", "repo org/app", "workflow CI CI"},
		3: {"The step may fail: the job goes on."},
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
		{"a step is killed", steps("run: kill -9 $$"), 0, failure, []string{failure}, "::error::signal: killed"},
		{"a step kills its job", steps("run: kill -9 $PPID; sleep 60"), 0, failure, []string{failure}, interruption},
		{"no such action", steps("uses: actions/setup-go@v5"), 0, failure, []string{cancelled}, `::error::failed to fetch "/actions/setup-go" version "v5": the action actions/setup-go is not served here: use actions/checkout, kalypso-dev/kalypso or an action of the repository (./PATH), and do the rest with run`},
		{"kalypso's own action", steps("uses: kalypso-dev/kalypso@main", "run: command -v kalypso"), 0, success, []string{success, success}, "kalypso is on the PATH of every job here"},
		{"a bad expression", steps("run: echo ${{ gihub.ref }}", "run: echo no", "{run: echo all, if: always()}"), 0, failure, []string{failure, cancelled, success}, "all"},
		{"a bad condition", steps("{run: echo no, if: gihub.ref}"), 0, failure, []string{failure}, `::error::Error in if-expression: "if: gihub.ref" (Unavailable context: gihub)`},
		{"no such shell", steps("{run: echo no, shell: fish}"), 0, failure, []string{cancelled}, `::error::step 1: shell: "fish" is not served here: use bash, sh, python, or a command line with {0} for the script`},
		{"no such folder", steps("{run: echo no, working-directory: none}"), 0, failure, []string{failure}, ""},
		{"a bad command file", steps("run: echo nonsense >> $GITHUB_OUTPUT"), 0, failure, []string{failure}, "::error::invalid format 'nonsense', expected a line with '=' or '<<'"},
		{"no program", steps("{run: echo no, shell: 'nonesuch {0}'}"), 0, failure, []string{failure}, "::error::Process completed with exit code 127."},
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
			if c.says != "" && !slices.Contains(g.lines, c.says) || strings.Contains(g.log(), "\n::endgroup::\nno\n") {
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
	f.runners = []string{"another"}
	f.mu.Unlock()
	f.give(2, "jobs: {j: {steps: [{run: echo}]}}", nil)
	if g := f.ended(2); g.runner != "runner-b" {
		t.Error(g.runner)
	}
	if err := r.ready(); err != nil {
		t.Error(err)
	}
}

func TestForgeThatRefuses(t *testing.T) {
	f := newForge(t)
	c := runnerConfig(t, f)
	c.RegistrationToken = "old"
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := newRunner(c, slog.New(slog.DiscardHandler)).run(ctx); err == nil || !strings.Contains(err.Error(), "token not found") {
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
	waitFor(t, "trouble", 5*time.Second, func() error {
		if r.ready() == nil {
			return errors.New("ready")
		}
		return nil
	})
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
	r, _ := start(t, runnerConfig(t, f))
	fifo := filepath.Join(scratch(t), "fifo")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o600), os.Chmod(fifo, 0o666)); err != nil {
		t.Fatal(err)
	}
	// each of the first two needs the other
	f.give(1, "jobs: {j: {steps: [{run: echo x > "+fifo+"}]}}", nil)
	f.give(2, "jobs: {j: {steps: [{run: cat "+fifo+"; sleep 0.3}]}}", nil)
	for id := range int64(capacity) {
		f.give(3+id, "jobs: {j: {steps: [{run: sleep 0.1}]}}", nil)
	}
	most := 0
	for id := range int64(2 + capacity) {
		most = max(most, len(r.status().Running))
		if g := f.ended(1 + id); resultName(g.state.Result) != success {
			t.Error(g.log())
		}
	}
	if most > capacity {
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
	whole := "on: {workflow_dispatch: {inputs: {target: {}}}}\njobs:\n  j:\n    environment: {name: '${{ inputs.target }}'}\n    steps: [{run: echo}]\n"
	f.workflow[".github/workflows/ci.yaml"] = whole
	start(t, runnerConfig(t, f))
	f.give(1, "on: {workflow_dispatch: {inputs: {target: {}}}}\njobs: {j: {steps: [{run: 'echo \"next ${{ vars.NEXT }}, ${{ vars.PLAIN }}, ${{ secrets.KEY }}\"'}]}}", func(task *runnerv1.Task) {
		task.Vars = map[string]string{scoped("dev", "next"): "stage", scoped("stage", "next"): "prod", "NEXT": "none", "PLAIN": "p"}
		task.Secrets[scoped("dev", "key")] = "abracadabra"
	})
	g := f.ended(1)
	if !slices.Contains(g.lines, "next stage, p, ***") {
		t.Error(g.log())
	}
}
