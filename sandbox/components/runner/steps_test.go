package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
)

// alive reports whether a process runs.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// holds is a job that leaves its session and goes on for ever, and writes its
// processes into a file.
func holds(pids string) string {
	return `
jobs:
  j:
    steps:
      - run: |
          trap 'echo not yet' INT TERM
          setsid sh -c 'trap "" INT TERM HUP; echo $$ >> ` + pids + `; while :; do sleep 1; done' &
          sleep 100 & echo $! >> ` + pids + `
          while [ $(wc -l < ` + pids + `) -lt 2 ]; do sleep 0.05; done
          echo begun
          while :; do sleep 0.2; done
      - {run: echo always, if: always()}
      - {run: echo cleanup, if: github.ref_name == 'main' && cancelled()}
      - {run: echo no, if: failure()}
      - {run: echo no}
`
}

// A process that a step leaves running serves the steps that follow, and is
// gone when the job has ended.
func TestDaemonOfAStep(t *testing.T) {
	f := newForge(t)
	start(t, runnerConfig(t, f))
	pid := filepath.Join(scratch(t), "pid")
	f.give(1, "jobs: {j: {steps: [{run: 'sleep 100 & echo $! > "+pid+"'}, {run: 'kill -0 $(cat "+pid+") && echo served'}]}}", nil)
	g := f.ended(1)
	b, err := os.ReadFile(pid)
	if err != nil || !slices.Contains(g.lines, "served") || resultName(g.state.Result) != success {
		t.Errorf("%v:\n%s", err, g.log())
	}
	if alive(strings.TrimSpace(string(b))) {
		t.Error("it is alive after the job")
	}
}

// What steps have put out is reported however the job ends.
func TestOutputsAtEveryEnd(t *testing.T) {
	f := newForge(t)
	r, _ := start(t, runnerConfig(t, f))
	job := func(settings, last string) string {
		return "jobs: {j: {" + settings + "outputs: {a: '${{ steps.s.outputs.a }}'}, steps: [{id: s, run: echo a=b >> $GITHUB_OUTPUT}, {run: '" + last + "'}]}}"
	}
	f.give(1, job("", "exit 1"), nil)
	f.give(2, job("timeout-minutes: 0.01, ", "sleep 60"), nil)
	f.give(3, job("", "echo begun; sleep 60"), nil)
	f.says(3, "begun")
	f.mu.Lock()
	f.tasks[3].cancel = true
	f.mu.Unlock()
	r.poke()
	for id, result := range map[int64]string{1: failure, 2: failure, 3: cancelled} {
		if g := f.ended(id); resultName(g.state.Result) != result || g.outputs["a"] != "b" {
			t.Errorf("task %d: %s with outputs %v:\n%s", id, g.state.Result, g.outputs, g.log())
		}
	}
}

func allEnded(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	pids := strings.Fields(string(b))
	if err != nil || len(pids) != 2 {
		t.Fatalf("%q, %v", b, err)
	}
	waitFor(t, "end of the job's processes", 8*time.Second, func() error {
		for _, pid := range pids {
			if alive(pid) {
				return errors.New(pid + " is alive")
			}
		}
		return nil
	})
}

func TestCancel(t *testing.T) {
	f := newForge(t)
	r, _ := start(t, runnerConfig(t, f))
	pids := filepath.Join(scratch(t), "pids")
	f.give(1, holds(pids), nil)
	f.says(1, "begun")
	f.mu.Lock()
	f.tasks[1].cancel = true
	f.mu.Unlock()
	r.poke()
	g := f.ended(1)
	if resultName(g.state.Result) != cancelled || !slices.Equal(g.results(), []string{cancelled, success, success, cancelled, cancelled}) {
		t.Errorf("%s %v:\n%s", g.state.Result, g.results(), g.log())
	}
	if !slices.Contains(g.lines, "not yet") || !slices.Contains(g.lines, "always") {
		t.Errorf("log:\n%s", g.log())
	}
	allEnded(t, pids)
}

func TestRunnerThatStops(t *testing.T) {
	f := newForge(t)
	c := runnerConfig(t, f)
	_, stop := start(t, c)
	pids := filepath.Join(scratch(t), "pids")
	f.give(1, holds(pids), nil)
	f.says(1, "begun")
	began := time.Now()
	stop()
	if took := time.Since(began); took > 7*time.Second {
		t.Errorf("it takes %s", took)
	}
	g := f.ended(1)
	if resultName(g.state.Result) != failure || !slices.Contains(g.lines, "::error::the runner has been stopped") || slices.Contains(g.lines, "always") {
		t.Errorf("%s %v:\n%s", g.state.Result, g.results(), g.log())
	}
	allEnded(t, pids)
	if left, _ := filepath.Glob(c.Dir + "/*/*"); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// A job whose runner is gone ends everything, and itself; the next runner
// reports it. So does the runner when the job's process is killed.
func TestKilledProcesses(t *testing.T) {
	f := newForge(t)
	c := runnerConfig(t, f)
	r, _ := start(t, c)
	kill := func(id int64) (pids string) {
		pids = filepath.Join(scratch(t), "pids")
		f.give(id, holds(pids), nil)
		f.says(id, "begun")
		r.mu.Lock()
		defer r.mu.Unlock()
		if err := syscall.Kill(r.running[id].pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		return pids
	}
	allEnded(t, kill(1))
	if g := f.ended(1); resultName(g.state.Result) != failure || !slices.Contains(g.lines, interruption) || !slices.Equal(g.results(), []string{failure, cancelled, cancelled, cancelled, cancelled}) {
		t.Errorf("%s %v:\n%s", g.state.Result, g.results(), g.log())
	}
	pids := filepath.Join(scratch(t), "pids")
	f.give(2, holds(pids), nil)
	f.says(2, "begun")
	r.mu.Lock()
	_ = r.running[2].orders.(io.Closer).Close() // what the end of a process does
	r.mu.Unlock()
	allEnded(t, pids)
	f.ended(2)
}

func TestInterruptedTasks(t *testing.T) {
	f := newForge(t)
	c := runnerConfig(t, f)
	_, stop := start(t, c)
	for _, id := range []int64{1, 2, 3} {
		f.give(id, "jobs: {j: {steps: [{run: echo one}, {run: echo two}]}}", nil)
		f.ended(id)
	}
	stop()
	// as if the runner had been killed: during the second step of 1, before it
	// could report that 2 had ended well, and while it wrote the record of 3
	f.mu.Lock()
	for id, g := range f.tasks {
		g.closed = false
		s := g.state
		switch id {
		case 1:
			s.Steps[1].Result, s.Steps[1].StoppedAt = 0, nil
			s.Result, s.StoppedAt = 0, nil
			if err := records(c.Dir + "/tasks").save(&runnerv1.UpdateTaskRequest{State: s}); err != nil {
				t.Error(err)
			}
		case 2:
			if err := records(c.Dir + "/tasks").save(&runnerv1.UpdateTaskRequest{State: s, Outputs: map[string]string{"a": "b"}}); err != nil {
				t.Error(err)
			}
		case 3:
			if err := os.WriteFile(c.Dir+"/tasks/3.json", []byte(`{"la`), 0o600); err != nil {
				t.Error(err)
			}
		}
		g.state = nil
	}
	f.mu.Unlock()
	if err := os.MkdirAll(c.Dir+"/jobs/1/work", 0o700); err != nil {
		t.Fatal(err)
	}
	start(t, c)
	g := f.ended(1)
	if resultName(g.state.Result) != failure || !slices.Equal(g.results(), []string{success, failure}) || !strings.HasSuffix(g.step(1), interruption) || !g.closed {
		t.Errorf("%s %v:\n%s", g.state.Result, g.results(), g.log())
	}
	if g := f.ended(2); resultName(g.state.Result) != success || g.outputs["a"] != "b" {
		t.Errorf("%s %v", g.state.Result, g.outputs)
	}
	if g := f.ended(3); resultName(g.state.Result) != failure {
		t.Error(g.state.Result)
	}
	waitFor(t, "an empty folder", 5*time.Second, func() error {
		if left, _ := filepath.Glob(c.Dir + "/*/*"); len(left) > 0 {
			return errors.New(strings.Join(left, " "))
		}
		return nil
	})
	if f.runners[len(f.runners)-1] != "runner-a" {
		t.Error("it has registered again")
	}
}
