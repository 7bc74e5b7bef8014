package actions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/actions/expression"
)

// begin runs a task beside others; its slot is taken already.
func (r *Runner) begin(ctx context.Context, t task) {
	job, err := Parse(t.Workflow, t.text("job"))
	if err != nil {
		job = nil
	}
	steps := 0
	if job != nil {
		steps = len(job.Steps)
	}
	jobCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	rep := newReport(r.client, r.records(), r.Log, t, steps, func() { cancel(errCancelled) })
	if err := r.records().save(rep.label, rep.state, nil); err != nil {
		r.Log.Warn("a task's record cannot be written", "task", rep.label, "error", err)
	}
	r.mu.Lock()
	r.running[t.ID] = &running{label: rep.label, began: time.Now(), report: rep}
	r.mu.Unlock()
	r.Log.Info("a job begins", "job", rep.label, "task", t.ID)
	r.jobs.Go(func() {
		defer func() {
			r.mu.Lock()
			delete(r.running, t.ID)
			r.mu.Unlock()
			<-r.slots
			cancel(nil)
		}()
		stop := context.AfterFunc(ctx, func() { cancel(errStopped) })
		defer stop()
		r.perform(ctx, jobCtx, t, job, err, rep)
	})
}

// perform runs a job and tells how it goes. outer ends when the runner is to
// stop, ctx when the job is.
func (r *Runner) perform(outer, ctx context.Context, t task, job *Job, err error, rep *report) {
	began := time.Now()
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	var sender sync.WaitGroup
	sender.Go(func() { rep.send(sending) })

	result, outputs := failure, map[string]string(nil)
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			rep.line("::error::" + strings.TrimRight(line, "\n"))
		}
	} else {
		result, outputs = r.execute(ctx, t, job, rep)
	}
	stopSending()
	sender.Wait()
	rep.last(fmt.Sprintf("Job: %s after %s", result, time.Since(began).Round(10*time.Millisecond)))
	r.Log.Info("a job has ended", "job", rep.label, "task", t.ID, "result", result, "took", time.Since(began).Round(time.Millisecond))

	// the end is told however long it takes, but a runner that stops does not
	// wait for a forge that is gone
	telling, stopTelling := context.WithCancel(context.WithoutCancel(outer))
	defer stopTelling()
	late := context.AfterFunc(outer, func() { time.AfterFunc(stopLimit, stopTelling) })
	defer late()
	if err := rep.finish(telling, result, outputs); err != nil {
		r.Log.Warn("the end of a job could not be told", "job", rep.label, "error", err)
	}
}

// execute runs the job with a keeper of its own, and clears away what it
// leaves.
func (r *Runner) execute(ctx context.Context, t task, job *Job, rep *report) (string, map[string]string) {
	hide := &mask{}
	for _, secrets := range []map[string]string{t.Secrets, r.Config.SecretEnv} {
		for _, name := range slices.Sorted(maps.Keys(secrets)) {
			hide.add(secrets[name])
		}
	}
	hide.add(t.text("token"))
	hide.add(t.text("gitea_runtime_token"))

	e := &execution{config: r.Config, task: t, job: job, tell: rep, mask: hide, folders: newFolders(r.jobFolder(t.ID)), wait: r.grace}
	e.original = sync.OnceValues(func() (*Job, error) { return r.original(ctx, t, job) })
	environment, err := e.environmentOf()
	if err == nil {
		err = e.checkMatrix()
	}
	if err != nil {
		e.fail(err)
		return failure, nil
	}
	e.contexts = t.contexts(job, inEnvironment(t.Vars, environment), inEnvironment(t.Secrets, environment))
	defer func() {
		if err := e.folders.remove(); err != nil {
			r.Log.Warn("a job's folder cannot be removed", "job", rep.label, "error", err)
		}
	}()
	e.keeper, err = startKeeper(r.Config.Keeper, r.Config.Dir, hide, rep.line)
	if err != nil {
		e.fail(err)
		return failure, nil
	}
	result, outputs := e.run(ctx)
	if err := e.keeper.close(); err != nil {
		e.say("::warning::%s", err)
	}
	return result, outputs
}

// environmentOf is the name of the environment that the job is for. The job's
// original is read only where there is anything of an environment to see.
func (e *execution) environmentOf() (string, error) {
	t, name := e.task, e.job.Environment
	if name == "" && hasScoped(t.Vars, t.Secrets) {
		job, err := e.original()
		if err != nil {
			return "", err
		}
		name = job.Environment
	}
	env := expression.Env{Contexts: t.contexts(e.job, inEnvironment(t.Vars, ""), inEnvironment(t.Secrets, ""))}
	name, err := expression.Interpolate(name, env)
	if err != nil {
		return "", fmt.Errorf("environment: %w", err)
	}
	return name, nil
}

// checkMatrix makes sure that a job without a matrix that asks for one has
// none in its original either.
func (e *execution) checkMatrix() error {
	if len(e.job.Matrix) > 0 || !e.job.AsksForMatrix {
		return nil
	}
	job, err := e.original()
	if err == nil && len(job.Matrix) > 0 {
		err = errors.New("strategy: matrix: the forge has made no job of it: no combination of its values is left")
	}
	return err
}

// mayFail tells whether the job's failure is to count as success.
func (e *execution) mayFail() bool {
	job, err := e.original()
	if err != nil {
		e.say("::warning::continue-on-error of the job is not known: %s", err)
		return false
	}
	return e.holds(job.ContinueOnError)
}
