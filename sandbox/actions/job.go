package actions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/actions/expression"
)

// defaultTimeout is for jobs that say nothing, and afterCancel for all steps
// that run although the job has been cancelled.
const (
	defaultTimeout = time.Hour
	afterCancel    = 5 * time.Minute
)

// Why a job or step ends before its time.
var (
	errCancelled = errors.New("the job has been cancelled")
	errStopped   = errors.New("the runner has been stopped")
)

// timeoutError is a job or step that takes longer than it may.
type timeoutError struct {
	what  string
	limit time.Duration
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("the %s has not ended after %s", e.what, e.limit)
}

// teller hears how a job goes.
type teller interface {
	line(text string)
	hurry() // lines must not wait any more
	stepStarted(i int)
	stepEnded(i int, result string)
}

// execution is one job that runs.
type execution struct {
	config  Config
	task    task
	job     *Job
	tell    teller
	mask    *mask
	keeper  *keeper
	folders folders
	cause   func() error // why the job is to end; nil while it is not
	// original is the job as its file has it, see Runner.original.
	original func() (*Job, error)

	contexts map[string]any
	env      map[string]string // of workflow and job
	setEnv   map[string]string // by steps, with GITHUB_ENV
	paths    []string          // by steps, with GITHUB_PATH
	failed   bool
	told     bool // a step has told already why the job ends before its time
	wait     grace
}

// say adds lines of the runner's own to the log.
func (e *execution) say(format string, args ...any) {
	for line := range strings.Lines(e.mask.hide(fmt.Sprintf(format, args...))) {
		e.tell.line(strings.ToValidUTF8(strings.TrimRight(line, "\r\n"), "\ufffd"))
	}
}

func (e *execution) fail(err error) {
	for line := range strings.Lines(err.Error()) {
		e.say("::error::%s", strings.TrimRight(line, "\n"))
	}
}

// run runs the job and returns its result and outputs. ctx is cancelled with
// errCancelled or errStopped as its cause.
func (e *execution) run(ctx context.Context) (result string, outputs map[string]string) {
	name, _ := expression.Interpolate(e.job.Name, e.sight())
	e.say("%s, run %s of %s at %s", name, e.task.text("run_number"), e.task.text("repository"), e.task.text("sha"))
	err := e.prepare()
	if err == nil {
		var wanted bool
		if wanted, err = e.wanted(); err == nil && !wanted {
			for i := range e.job.Steps {
				e.tell.stepEnded(i, skipped)
			}
			e.say("The job's condition does not hold: %s", e.job.If)
			return skipped, nil
		}
	}
	if err != nil {
		e.fail(err)
		e.leaveOut(0, cancelled)
		return failure, nil
	}
	limit, err := e.timeout(e.job.Timeout, defaultTimeout)
	if err != nil {
		e.fail(err)
		e.leaveOut(0, cancelled)
		return failure, nil
	}
	timed, stop := context.WithTimeoutCause(ctx, limit, &timeoutError{"job", limit})
	defer stop()
	e.cause = func() error { return context.Cause(timed) }
	e.steps(timed)
	return e.conclude(timed)
}

// wanted decides the job's own `if`.
func (e *execution) wanted() (bool, error) {
	env := e.sight()
	env.Status = e.task.status()
	wanted, err := expression.Condition(e.job.If, env)
	if err != nil {
		return false, fmt.Errorf("if: %w", err)
	}
	return wanted, nil
}

// prepare makes the folders and the environment of the job's steps.
func (e *execution) prepare() error {
	if err := e.folders.create(e.config.Program, e.task.GitHub["event"]); err != nil {
		return err
	}
	github := e.contexts["github"].(map[string]any)
	github["workspace"], github["event_path"] = e.folders.Work, e.folders.Event
	e.contexts["runner"] = map[string]any{
		"name": e.config.Name, "os": runnerOS(), "arch": runnerArch(), "environment": "self-hosted",
		"temp": e.folders.Temp, "tool_cache": e.folders.Tools, "workspace": e.folders.Root, "debug": "",
	}
	e.env, e.setEnv = map[string]string{}, map[string]string{}
	for _, level := range e.job.Env {
		if err := e.addEnv(e.env, level, nil); err != nil {
			return err
		}
	}
	return nil
}

// addEnv evaluates the settings of one level, which see those of the levels
// above and not each other.
func (e *execution) addEnv(to, settings, above map[string]string) error {
	env := e.sight()
	seen := maps.Clone(to)
	maps.Copy(seen, above)
	env.Contexts["env"] = texts(seen)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		v, err := expression.Interpolate(settings[name], env)
		if err != nil {
			return fmt.Errorf("env %s: %w", name, err)
		}
		to[name] = v
	}
	return nil
}

// sight is what expressions of the job see now.
func (e *execution) sight() expression.Env {
	contexts := maps.Clone(e.contexts)
	env := maps.Clone(e.env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, e.setEnv)
	status := e.status()
	name := success
	switch {
	case status.Cancelled:
		name = cancelled
	case status.Failed:
		name = failure
	}
	contexts["env"], contexts["job"] = texts(env), map[string]any{"status": name}
	return expression.Env{
		Contexts: contexts, Status: status,
		HashFiles: func(patterns []string) (string, error) { return hashFiles(e.folders.Work, patterns) },
	}
}

func (e *execution) status() expression.Status {
	if e.cause != nil && e.cause() != nil {
		return expression.Status{Cancelled: true}
	}
	return expression.Status{Failed: e.failed}
}

// leaveOut tells that steps from the i-th on do not run.
func (e *execution) leaveOut(i int, result string) {
	for ; i < len(e.job.Steps); i++ {
		e.tell.stepEnded(i, result)
	}
}

func (e *execution) timeout(text string, otherwise time.Duration) (time.Duration, error) {
	text, err := expression.Interpolate(text, e.sight())
	if err != nil {
		return 0, fmt.Errorf("timeout-minutes: %w", err)
	}
	limit, err := minutes(text)
	if limit == 0 {
		limit = otherwise
	}
	return limit, err
}

// conclude decides the job's result when its steps are through. What they have
// put out is told however the job ends.
func (e *execution) conclude(ctx context.Context) (string, map[string]string) {
	cause := context.Cause(ctx)
	if cause != nil && !e.told {
		e.fail(cause)
	}
	outputs := e.outputs()
	switch {
	case errors.Is(cause, errCancelled):
		return cancelled, outputs
	case cause == nil && !e.failed:
		return success, outputs
	case !errors.Is(cause, errStopped) && e.mayFail():
		e.say("The job may fail: its result counts as success.")
		return success, outputs
	}
	return failure, outputs
}

// outputs evaluates the job's outputs. One that cannot be makes the job fail.
func (e *execution) outputs() map[string]string {
	outputs := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(e.job.Outputs)) {
		v, err := expression.Interpolate(e.job.Outputs[name], e.sight())
		if err != nil {
			e.fail(fmt.Errorf("output %s: %w", name, err))
			e.failed = true
			continue
		}
		if e.mask.reveals(v) {
			e.say("::warning::The output %s is left out: there is a secret in it.", name)
			continue
		}
		outputs[name] = v
	}
	return outputs
}
