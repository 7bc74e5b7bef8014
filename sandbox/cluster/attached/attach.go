package attached

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	// attachDeadline is for a cluster that is just starting, and one that has to be
	// cleaned up first.
	attachDeadline = 4 * time.Minute
	answerWait     = 90 * time.Second
	readyWait      = 60 * time.Second
	retryEach      = time.Second
	// probeEach is how often somebody looks whether the cluster is still there;
	// it is away when it is not, so many times in a row.
	probeEach     = 30 * time.Second
	probeFailures = 2
)

// attachment is what makes an existing cluster one of the sandbox's.
type attachment struct {
	*Provider
	name   string
	source Source
}

// run is what supervisor.Background does: it ends when the cluster has gone.
func (v attachment) run(ctx context.Context, say func(string), ready func()) error {
	say("waiting for an answer")
	if err := patiently(ctx, "an answer of cluster "+v.name, answerWait, say, v.answers); err != nil {
		return err
	}
	if err := v.finishRemoval(ctx, say); err != nil {
		return err
	}
	say("looking at the cluster")
	var f Facts
	err := patiently(ctx, "cluster "+v.name, readyWait, say, func(ctx context.Context) (err error) {
		f, err = v.Preflight(ctx, v.name)
		return err
	})
	if err != nil {
		return err
	}
	if err := v.enter(f); err != nil {
		return err
	}
	ready()
	return v.untilGone(ctx)
}

// patiently looks until all is well, or something is wrong that does not mend
// itself, which is a *supervisor.PermanentError.
func patiently(ctx context.Context, what string, limit time.Duration, say func(string), check func(context.Context) error) error {
	var last error
	err := retry.Until(ctx, what, limit, func(ctx context.Context) error {
		if last = check(ctx); last == nil || !passes(last) {
			return nil
		}
		say(last.Error())
		pause(ctx, retryEach) // each look is many calls
		return last
	})
	if err == nil && last != nil {
		err = &supervisor.PermanentError{Err: last}
	}
	return err
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// passes tells whether all that is wrong may mend itself.
func passes(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if !passes(e) {
				return false
			}
		}
		return true
	}
	var p *Problem
	return !errors.As(err, &p) || p.Passing
}

// finishRemoval goes on with one that was cut off. What it has not taken yet
// would go some time later.
func (v attachment) finishRemoval(ctx context.Context, say func(string)) error {
	l := v.inventory(v.name)
	r, err := l.read()
	if err != nil || !r.Removing {
		return err
	}
	say("removing what is left of before")
	if _, err := Remove(ctx, l.file, say); err != nil {
		return err
	}
	l.forget()
	return nil
}

// enter writes down what the sandbox is to use.
func (v attachment) enter(f Facts) error {
	if err := v.inventory(v.name).begin(v.name, f.UID); err != nil {
		return err
	}
	// anew each time: a person may have logged in again
	if err := v.source.write(v.name, v.Kubeconfig(v.name)); err != nil {
		return err
	}
	v.setFacts(v.name, f)
	if v.Renewed != nil {
		v.Renewed(v.name)
	}
	return nil
}

// answers returns nil when the cluster does, and a *Problem when not.
func (v attachment) answers(ctx context.Context) error {
	client, config, err := v.source.connect(v.name, callLimit)
	if err != nil {
		return unreadable(v.name, v.source, err)
	}
	_, err = preflight{name: v.name, source: v.source, client: client, config: config}.version(ctx)
	return err
}

// untilGone returns when the cluster does not answer any more.
func (v attachment) untilGone(ctx context.Context) error {
	client, err := cluster.NewClient(v.Kubeconfig(v.name), "")
	if err != nil {
		return err
	}
	tick := time.NewTicker(probeEach)
	defer tick.Stop()
	for missed := 0; missed < probeFailures; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if _, err = answers(ctx, client); err == nil {
			missed = 0
		} else {
			missed++
		}
	}
	return fmt.Errorf("the cluster does not answer any more: %w", err)
}
