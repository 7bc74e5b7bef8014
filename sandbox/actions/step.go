package actions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/actions/expression"
)

// steps runs the job's steps. After the job has been cancelled, or has taken
// too long, only those run that ask for it, by always() for instance; none
// does when the runner itself stops.
func (e *execution) steps(ctx context.Context) {
	late, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var limited bool
	for i, s := range e.job.Steps {
		if errors.Is(context.Cause(ctx), errStopped) {
			e.leaveOut(i, cancelled)
			return
		}
		within := ctx
		if ctx.Err() != nil {
			if !limited {
				limited = true
				var free context.CancelFunc
				late, free = context.WithTimeoutCause(late, afterCancel, &timeoutError{"rest of the job", afterCancel})
				defer free()
			}
			within = late
		}
		wanted, err := e.stepWanted(s)
		if err == nil && !wanted {
			e.note(s, skipped, skipped, nil)
			result := skipped
			if e.status().Cancelled {
				result = cancelled
			}
			e.tell.stepEnded(i, result)
			continue
		}
		e.tell.stepStarted(i)
		outcome, outputs := e.step(within, i, s, err)
		conclusion := outcome
		if outcome == failure && e.holds(s.ContinueOnError) {
			e.say("The step may fail: the job goes on.")
			conclusion = success
		}
		e.failed = e.failed || conclusion == failure
		e.note(s, outcome, conclusion, outputs)
		e.tell.stepEnded(i, conclusion)
	}
}

func (e *execution) stepWanted(s Step) (bool, error) {
	env, _, err := e.stepSight(s)
	if err != nil {
		return true, err // it fails by that
	}
	wanted, err := expression.Condition(s.If, env)
	if err != nil {
		return true, fmt.Errorf("if: %w", err)
	}
	return wanted, nil
}

// stepSight is what expressions of the step see, and the step's own settings.
func (e *execution) stepSight(s Step) (expression.Env, map[string]string, error) {
	own := map[string]string{}
	above := maps.Clone(e.env)
	maps.Copy(above, e.setEnv)
	if err := e.addEnv(own, s.Env, above); err != nil {
		return expression.Env{}, nil, err
	}
	maps.Copy(above, own)
	env := e.sight()
	env.Contexts["env"] = texts(above)
	return env, own, nil
}

// holds evaluates a continue-on-error.
func (e *execution) holds(text string) bool {
	v, err := expression.Value(text, e.sight())
	s, isText := v.(string)
	return err == nil && (v == true || isText && strings.EqualFold(s, "true"))
}

// note keeps what later steps can ask about this one.
func (e *execution) note(s Step, outcome, conclusion string, outputs map[string]string) {
	if s.ID == "" {
		return
	}
	steps := e.contexts["steps"].(map[string]any)
	steps[s.ID] = map[string]any{"outcome": outcome, "conclusion": conclusion, "outputs": texts(outputs)}
}

// step runs one step and returns its outcome and outputs. An error that has
// come up before is its end.
func (e *execution) step(ctx context.Context, i int, s Step, err error) (string, map[string]string) {
	var outputs map[string]string
	if err == nil {
		outputs, err = e.timedStep(ctx, i, s)
	}
	if err == nil {
		return success, outputs
	}
	e.fail(err)
	e.told = e.told || e.cause() != nil && errors.Is(err, e.cause())
	if errors.Is(err, errCancelled) || errors.Is(err, errStopped) {
		return cancelled, outputs
	}
	return failure, outputs
}

func (e *execution) timedStep(ctx context.Context, i int, s Step) (map[string]string, error) {
	limit, err := e.timeout(s.Timeout, 0)
	if err != nil {
		return nil, err
	}
	if limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, &timeoutError{"step", limit})
		defer stop()
	}
	sight, own, err := e.stepSight(s)
	if err != nil {
		return nil, err
	}
	files, err := e.folders.commandFiles(i)
	if err != nil {
		return nil, err
	}
	env := e.environment(i, s, own, files)
	switch {
	case isAction(s.Uses, ownAction):
		e.say("kalypso is on the PATH of every job here")
		return nil, nil
	case s.Uses != "":
		return e.checkout(ctx, s, sight, env)
	}
	err = e.script(ctx, i, s, sight, env)
	outputs, readErr := e.hear(files)
	return outputs, errors.Join(err, readErr)
}

func or(values ...string) string {
	i := slices.IndexFunc(values, func(s string) bool { return s != "" })
	if i < 0 {
		return ""
	}
	return values[i]
}
