package controller

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/promote"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
)

// environment is one environment that is reconciled. The Controller's lock is
// for what is below the planner.
type environment struct {
	name    string
	loader  model.Loader
	planner plan.Planner // plans only what has changed since the last run

	removed  bool               // from the control plane
	ref      model.Reference    // its branch and folder in the control plane
	rollouts driver.Environment // as the last run has read them
	gitOps   model.Reference    // where it is published to, zero before that is known
	seen     readSet            // what the last runs have read
	reader   *recordingReader   // of the run that goes on, nil between runs
	cancel   context.CancelFunc // of the last run
	status   EnvironmentStatus
	known    problems

	severities    severities // of the problems
	rolloutWrites int        // of the last look at rollouts
	last          outcome    // of the last run, without its plan
}

func newEnvironment(name string, ref model.Reference) *environment {
	return &environment{
		name: name, ref: ref,
		status: EnvironmentStatus{Name: name, State: Planning, Problems: []string{}},
	}
}

// outcome is what a run found and did.
type outcome struct {
	plan      *plan.Plan
	promoted  promote.Result
	published publish.Result
	complete  bool   // all that could be planned was published
	conflict  bool   // with another environment
	commit    string // of the environment's branch
	took      Durations
}

// run is one run of an environment.
func (c *Controller) run(ctx context.Context, e *environment) error {
	ctx, cancel := context.WithTimeoutCause(ctx, runTimeout, fmt.Errorf("environment %s did not finish within %s", e.name, runTimeout))
	defer cancel()
	reader := &recordingReader{Forge: c.options.Forge}
	ref := c.begin(e, reader, cancel)
	start := time.Now()
	var o outcome
	err := c.guarded(ctx, e, ref, reader, &o)
	o.took.Total = since(start)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return err // stopped: nothing is known of the environment
	}
	o.commit = reader.read().commit(ref)
	c.options.Metrics.run(c.name, e.name, o, err)
	if err == nil {
		c.answered()
	}
	c.logRun(e.name, o, err, c.end(e, o, err))
	return err
}

// guarded does a run's work, and makes an error of a panic: a bug that one
// environment triggers must not stop the others.
func (c *Controller) guarded(ctx context.Context, e *environment, ref model.Reference, reader *recordingReader, o *outcome) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("environment %s: this is a mistake in the scheduler: %v", e.name, v)
			c.log.Error("panic", "environment", e.name, "reason", v, "stack", string(debug.Stack()))
		}
	}()
	return c.steps(ctx, e, ref, reader, o)
}

// statusCode is in the errors of git servers.
var statusCode = regexp.MustCompile(`status code: (\d{3})`)

// Unreadable words for an issue why a workload's repository cannot be read. The error
// itself, whose words may change with each try, is in the status and the log.
func Unreadable(err error) (what, hint string) {
	code := statusCode.FindStringSubmatch(err.Error())
	switch {
	case errors.Is(err, gitclient.ErrDenied):
		return "the server refuses the scheduler's account", "let the account read the repository; where it is on another server than the forge, it has to be public"
	case code != nil:
		return "the server answers " + code[1], "ask those who run the server"
	case errors.Is(err, gitclient.ErrNetwork), errors.Is(err, context.DeadlineExceeded):
		return "the server does not answer, or not to the end", "check the address, and the network between the scheduler and the server"
	}
	return "the server fails", "the scheduler's status and log have the error"
}

// steps does a run's work. A promotion that fails does not keep the
// environment from what it pins.
func (c *Controller) steps(ctx context.Context, e *environment, ref model.Reference, reader *recordingReader, o *outcome) error {
	var failed error
	name := e.name
	clock := time.Now()
	if name == c.options.PromoteTo {
		o.promoted, failed = promote.Apply(ctx, reader, promote.Request{Environment: name, Branch: ref, From: c.options.ControlPlane})
		o.took.Promote = since(clock)
	}

	clock = time.Now()
	env, err := e.loader.Load(ctx, reader, name, ref, model.Tolerant(Unreadable))
	if err != nil {
		return errors.Join(failed, err)
	}
	// a workload that cannot be read is tried again, and keeps nothing else back
	failed = errors.Join(failed, errors.Join(env.Unreadable...))
	c.mu.Lock()
	for other := range c.all() {
		if c.options.Pool.Exceeds(&other.loader) {
			c.wake(task(other.name))
		}
	}
	c.mu.Unlock()
	c.publishTo(e, env.GitOps)
	c.setRollouts(e, driver.Of(env))
	var gitOps *model.Tree
	if env.GitOps.Repo != "" {
		gitOps, err = reader.Read(ctx, env.GitOps)
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return errors.Join(failed, fmt.Errorf("reading the GitOps branch of environment %s: %w", name, err))
		}
	}
	o.took.Load = since(clock)

	clock = time.Now()
	o.plan, err = e.planner.New(ctx, env, gitOps)
	o.took.Plan = since(clock)
	if err != nil {
		return errors.Join(failed, err)
	}
	if env.GitOps.Repo == "" {
		return errors.Join(failed, fmt.Errorf("environment %s has no GitOps repository to publish to", name))
	}

	clock = time.Now()
	if other := c.conflict(e); other != "" {
		return errors.Join(failed, c.reject(ctx, e, other, o, gitOps))
	}
	o.published, err = publish.Apply(ctx, c.options.Forge, o.plan, publish.Options{
		Base: gitOps, Owner: c.name, Sources: env.Sources, ControlPlane: env.ControlPlane.Repo,
	})
	o.took.Publish = since(clock)
	o.complete = err == nil
	return errors.Join(failed, err)
}
