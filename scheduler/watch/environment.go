package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/promote"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// environment is one environment that is followed.
type environment struct {
	name string
	wake signal
	stop context.CancelFunc

	mu     sync.Mutex
	ref    model.Reference // its branch and folder in the control plane
	gitOps model.Reference // where it is published to, zero before that is known
	seen   sightings       // what the last runs have read
	reader *witness        // of the run that goes on, nil between runs
	status EnvironmentStatus
	known  problems
}

func newEnvironment(name string, ref model.Reference) *environment {
	return &environment{
		name: name, wake: newSignal(), ref: ref,
		status: EnvironmentStatus{Name: name, State: Planning, Problems: []string{}},
	}
}

// move gives an environment another branch or folder, and news when that is a
// change.
func (e *environment) move(ref model.Reference) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ref != ref {
		e.ref = ref
		e.wake.set()
	}
}

// publishTo notes where an environment is published to, for the events from
// there.
func (e *environment) publishTo(ref model.Reference) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gitOps = ref
}

// follow runs an environment now and whenever there is reason to.
func (w *Watcher) follow(ctx context.Context, e *environment) {
	for failures := 0; ; {
		var retry <-chan time.Time
		err := w.run(ctx, e)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failures++
			retry = time.After(backoff(failures))
		default:
			failures = 0
		}
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
			failures = 0
		case <-retry:
		case <-time.After(resyncPolls * w.options.Poll):
		}
	}
}

// outcome is what a run found and did.
type outcome struct {
	plan      *plan.Plan
	promoted  promote.Result
	published publish.Result
	commit    string // of the environment's branch
	took      Durations
}

// run is one run of an environment.
func (w *Watcher) run(ctx context.Context, e *environment) error {
	ctx, cancel := context.WithTimeoutCause(ctx, runTimeout, fmt.Errorf("environment %s did not finish within %s", e.name, runTimeout))
	defer cancel()
	reader := &witness{Forge: w.options.Forge}
	ref := e.begin(reader)
	start := time.Now()
	var o outcome
	err := w.steps(ctx, e, ref, reader, &o)
	o.took.Total = since(start)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return err // stopped: nothing is known of the environment
	}
	o.commit = reader.sightings().commit(ref)
	w.logRun(e.name, o, err, e.end(o, err))
	return err
}

// steps does a run's work. A promotion that fails does not keep the
// environment from what it pins.
func (w *Watcher) steps(ctx context.Context, e *environment, ref model.Reference, reader *witness, o *outcome) error {
	var failed error
	name := e.name
	clock := time.Now()
	if name == w.options.PromoteTo {
		o.promoted, failed = promote.Apply(ctx, reader, promote.Request{Environment: name, Branch: ref, From: w.options.ControlPlane})
		o.took.Promote = since(clock)
	}

	clock = time.Now()
	env, err := model.LoadEnvironment(ctx, reader, name, ref)
	if err != nil {
		return errors.Join(failed, err)
	}
	e.publishTo(env.GitOps)
	var gitOps *model.Tree
	if env.GitOps.Repo != "" {
		gitOps, err = reader.Read(ctx, env.GitOps)
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return errors.Join(failed, fmt.Errorf("reading the GitOps branch of environment %s: %w", name, err))
		}
	}
	o.took.Load = since(clock)

	clock = time.Now()
	o.plan = plan.New(env, gitOps)
	o.took.Plan = since(clock)
	if env.GitOps.Repo == "" {
		return errors.Join(failed, fmt.Errorf("environment %s has no GitOps repository to publish to", name))
	}

	clock = time.Now()
	o.published, err = publish.Apply(ctx, w.options.Forge, o.plan, publish.Options{})
	o.took.Publish = since(clock)
	return errors.Join(failed, err)
}

// logRun writes one line about a run, and one about each problem that appeared
// or went with it. A run that changed nothing, or failed as the one before, is
// worth no more than a debug line.
func (w *Watcher) logRun(name string, o outcome, err error, n news) {
	log := w.log.With("environment", name)
	attrs := []slog.Attr{slog.Group("took", slog.Duration("total", o.took.Total.Duration()),
		slog.Duration("promote", o.took.Promote.Duration()), slog.Duration("load", o.took.Load.Duration()),
		slog.Duration("plan", o.took.Plan.Duration()), slog.Duration("publish", o.took.Publish.Duration()))}
	level := slog.LevelDebug
	if o.plan != nil {
		attrs = append(attrs, slog.Int("targets", len(o.plan.Targets)), slog.Int("assignments", len(o.plan.Assignments)),
			slog.Int("problems", len(o.plan.Problems)), slog.String("action", string(o.published.Action)))
	}
	if pr := o.published.PullRequest; pr != nil {
		attrs = append(attrs, slog.String("pullRequest", pr.URL))
	}
	if o.promoted.Promoted {
		attrs = append(attrs, slog.String("promoted", o.promoted.Commit))
	}
	if o.published.Writes > 0 || o.promoted.Promoted || len(n.appeared)+len(n.gone) > 0 || n.recovered {
		level = slog.LevelInfo
	}
	if err != nil {
		if n.failed {
			level = slog.LevelError
		}
		attrs = append(attrs, slog.Any("error", err))
	}
	log.LogAttrs(context.Background(), level, "environment run", attrs...)
	logProblems(log, n.appeared, n.gone)
}
