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

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
)

// parallelRuns bounds how many environments RunOnce runs at a time.
const parallelRuns = 4

// RunReport is what running the environments of a control plane once has found
// and done. Its JSON is for scripts: fields are added, not changed, and lists are
// never null.
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

// Changed reports whether anything was changed on the forge.
func (r RunReport) Changed() bool {
	return slices.ContainsFunc(r.Environments, func(e RunResult) bool { return e.Writes > 0 || e.Promotes })
}

// HasErrors reports whether there are problems that leave something out, or runs
// that failed.
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
// those of all runs; the reports have the others all the same. The log gets what
// the forge waits for, and no more: the rest is in the reports.
func RunOnce(ctx context.Context, config Config, only string, log *slog.Logger) ([]RunReport, error) {
	controllers, err := config.controllers(NewMetrics(), nil, slog.New(slog.DiscardHandler), log)
	if err != nil {
		return nil, err
	}
	reports := make([]RunReport, 0, len(controllers))
	var all []error
	unknown := &UnknownEnvironmentError{Name: only}
	for _, c := range controllers {
		report, err := c.RunOnce(ctx, only)
		var absent *UnknownEnvironmentError
		if errors.As(err, &absent) {
			unknown.Known = append(unknown.Known, absent.Known...)
			continue
		}
		reports = append(reports, report)
		all = append(all, err)
	}
	if len(reports) == 0 {
		slices.Sort(unknown.Known)
		unknown.Known = slices.Compact(unknown.Known)
		return nil, unknown
	}
	return reports, errors.Join(all...)
}

// RunOnce runs a Controller that is not running, see the function RunOnce.
func (c *Controller) RunOnce(ctx context.Context, only string) (RunReport, error) {
	c.start()
	// a process that ends cannot see for how long clusters fail
	c.driver = driver.New(driver.Options{Forge: c.options.Forge, Fleet: c.options.Fleet})
	refs, _, err := c.listed(ctx)
	if err != nil {
		return c.report(nil), err
	}
	names := slices.Sorted(maps.Keys(refs))
	if only != "" && !slices.Contains(names, only) {
		return RunReport{}, &UnknownEnvironmentError{only, names}
	}
	all, _ := c.update(refs, false)
	c.locate(ctx, all)
	chosen := slices.DeleteFunc(all, func(e *environment) bool { return only != "" && e.name != only })
	slices.SortFunc(chosen, func(a, b *environment) int { return cmp.Compare(a.name, b.name) })
	failures := make([]error, len(chosen))
	var group errgroup.Group
	group.SetLimit(parallelRuns)
	for i, e := range chosen {
		group.Go(func() error {
			failures[i] = c.run(ctx, e)
			_, err := c.rollOut(ctx, e.name)
			failures[i] = errors.Join(failures[i], err)
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
	for i, e := range chosen {
		if !e.last.conflict && c.conflict(e) != "" { // where the other one publishes to was not known in time
			failures[i] = c.run(ctx, e)
		}
	}
	return c.report(chosen), errors.Join(failures...)
}

// report is what a Controller that ran once has found and done.
func (c *Controller) report(environments []*environment) RunReport {
	r := RunReport{ControlPlane: c.Status().ControlPlane, Environments: []RunResult{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Errors = c.severities[model.Error]
	for _, e := range environments {
		o := e.last
		r.Environments = append(r.Environments, RunResult{
			EnvironmentStatus: e.status, Action: o.published.Action, Promotes: o.promoted.Promoted, Writes: o.published.Writes + e.rolloutWrites, Errors: e.severities[model.Error],
		})
	}
	return r
}
