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
	// probeEach is the time between two probes of an attached cluster; after
	// probeFailures failed ones in a row it counts as gone.
	probeEach     = 30 * time.Second
	probeFailures = 2
)

// attachment attaches a cluster to the sandbox, and watches it.
type attachment struct {
	*Provider
	name   string
	source Source
}

// run implements supervisor.Background: it ends when the cluster has gone.
func (v attachment) run(ctx context.Context, report func(string), ready func()) error {
	report("waiting for an answer")
	if err := retryTransient(ctx, "an answer of cluster "+v.name, answerWait, report, v.answers); err != nil {
		return err
	}
	if err := v.finishRemoval(ctx, report); err != nil {
		return err
	}
	report("checking the cluster")
	var f Facts
	err := retryTransient(ctx, "cluster "+v.name, readyWait, report, func(ctx context.Context) (err error) {
		f, err = v.Preflight(ctx, v.name)
		return err
	})
	if err != nil {
		return err
	}
	if err := v.attach(f); err != nil {
		return err
	}
	ready()
	return v.untilGone(ctx)
}

// retryTransient repeats check until it succeeds, or fails with more than
// transient problems, which is a *supervisor.PermanentError.
func retryTransient(ctx context.Context, what string, limit time.Duration, report func(string), check func(context.Context) error) error {
	var last error
	err := retry.Until(ctx, what, limit, func(ctx context.Context) error {
		if last = check(ctx); last == nil || !transient(last) {
			return nil
		}
		report(last.Error())
		return last
	}, retry.Every(retryEach)) // each check is many calls
	if err == nil && last != nil {
		err = &supervisor.PermanentError{Err: last}
	}
	return err
}

// transient reports whether all of the problems may resolve themselves.
func transient(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if !transient(e) {
				return false
			}
		}
		return true
	}
	var p *Problem
	return !errors.As(err, &p) || p.Transient
}

// finishRemoval completes a removal that was interrupted, before anything new is
// applied.
func (v attachment) finishRemoval(ctx context.Context, report func(string)) error {
	l := v.inventory(v.name)
	r, err := l.read()
	if err != nil || !r.Removing {
		return err
	}
	report("removing what is left of before")
	if _, err := Remove(ctx, l.file, report); err != nil {
		return err
	}
	l.forget()
	return nil
}

// attach writes the inventory's head and the kubeconfig that the sandbox uses.
func (v attachment) attach(f Facts) error {
	if err := v.inventory(v.name).begin(v.name, f.UID); err != nil {
		return err
	}
	// written each time, since the user may have logged in again
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
