package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// parallelRuns bounds how many environments RunOnce runs at a time.
const parallelRuns = 4

// RunReport is what one round of a control plane has found and done. Its JSON is
// for scripts: fields are added, not changed, and lists are never null.
type RunReport struct {
	ControlPlane ControlPlaneStatus `json:"controlPlane"`
	Environments []RunResult        `json:"environments"` // sorted by name
	Errors       int                `json:"errors"`       // problems of the control plane itself
}

// RunResult is what one run of an environment has found and done.
type RunResult struct {
	EnvironmentStatus
	Action   publish.Action `json:"action"`   // about the pull request; empty when the run has failed before it
	Promotes bool           `json:"promotes"` // the commit that it pins is new
	Writes   int            `json:"writes"`   // how many changes were made on the forge
	Errors   int            `json:"errors"`   // of the problems, those that leave something out
}

// Changed tells whether a round has changed anything on the forge.
func (r RunReport) Changed() bool {
	return slices.ContainsFunc(r.Environments, func(e RunResult) bool { return e.Writes > 0 || e.Promotes })
}

// HasErrors tells whether a round has problems that leave something out, or
// runs that failed.
func (r RunReport) HasErrors() bool {
	return r.ControlPlane.Error != "" || r.Errors > 0 ||
		slices.ContainsFunc(r.Environments, func(e RunResult) bool { return e.State != Synced || e.Errors > 0 })
}

// UnknownEnvironmentError is an environment that no control plane has.
type UnknownEnvironmentError struct {
	Name  string
	Known []string
}

func (e *UnknownEnvironmentError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no environment %s: the control plane has no Environment objects", e.Name)
	}
	return fmt.Sprintf("there is no environment %s: choose one of %s", e.Name, strings.Join(e.Known, ", "))
}

// RunOnce runs every environment of every control plane once, or only the one of a
// name, and returns what came of it. It needs no webhook secret. The error joins
// those of all runs; the rounds tell of the others all the same. The log hears
// what the forge waits for, and no more: the rest is in the rounds.
func RunOnce(ctx context.Context, config Config, only string, log *slog.Logger) ([]RunReport, error) {
	config.LeaderElection = nil // one round is over before another's turn would come
	controllers, err := config.controllers(NewMetrics(), slog.New(slog.DiscardHandler), log)
	if err != nil {
		return nil, err
	}
	rounds := make([]RunReport, 0, len(controllers))
	var all []error
	unknown := &UnknownEnvironmentError{Name: only}
	for _, w := range controllers {
		round, err := w.RunOnce(ctx, only)
		var absent *UnknownEnvironmentError
		if errors.As(err, &absent) {
			unknown.Known = append(unknown.Known, absent.Known...)
			continue
		}
		rounds = append(rounds, round)
		all = append(all, err)
	}
	if len(rounds) == 0 {
		slices.Sort(unknown.Known)
		unknown.Known = slices.Compact(unknown.Known)
		return nil, unknown
	}
	return rounds, errors.Join(all...)
}

// RunOnce is one round of a Controller that is not running, see the function RunOnce.
func (c *Controller) RunOnce(ctx context.Context, only string) (RunReport, error) {
	refs, _, err := c.listed(ctx)
	if err != nil {
		return c.result(), err
	}
	names := slices.Sorted(maps.Keys(refs))
	if only != "" {
		if _, ok := refs[only]; !ok {
			return RunReport{}, &UnknownEnvironmentError{only, names}
		}
		names = []string{only}
		c.lookAround(ctx, refs, only)
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(parallelRuns)
	failures := map[string]error{}
	for _, name := range names {
		e := newEnvironment(name, refs[name])
		c.options.Pool.Join(&e.loader)
		c.mu.Lock()
		c.environments[name] = e
		c.mu.Unlock()
		group.Go(func() error {
			if err := c.run(ctx, e); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures[name] = err
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
	for _, e := range c.unaware() {
		failures[e.name] = c.run(ctx, e)
	}
	var all []error
	for _, name := range slices.Sorted(maps.Keys(failures)) {
		all = append(all, failures[name])
	}
	return c.result(), errors.Join(all...)
}

// result is what the round of a Controller that ran once has found and done.
func (c *Controller) result() RunReport {
	r := RunReport{ControlPlane: c.Status().ControlPlane, Environments: []RunResult{}}
	c.mu.Lock()
	r.Errors = c.severities[model.Error]
	c.mu.Unlock()
	for _, e := range c.followed() {
		e.mu.Lock()
		o := e.last
		r.Environments = append(r.Environments, RunResult{
			EnvironmentStatus: e.status, Action: o.published.Action, Promotes: o.promoted.Promoted, Writes: o.published.Writes, Errors: e.severities[model.Error],
		})
		e.mu.Unlock()
	}
	slices.SortFunc(r.Environments, func(a, b RunResult) int { return cmp.Compare(a.Name, b.Name) })
	return r
}
