// Package sandbox brings a sandbox up on one machine, and controls it: clusters,
// a git forge with a workshop's repositories, reconcilers and the scheduler, all
// run by one detached daemon and kept below one Home.
//
// Its functions are what the user's commands call. They hold no state and may be
// interrupted at any instant: the daemon owns the processes, and what it does can
// be interrupted and done again.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// What the commands need of the packages below.
type (
	Home            = state.Home
	Choice          = state.Choice
	Status          = stack.Status
	Component       = stack.Component
	Environment     = stack.Environment
	PullRequest     = stack.PullRequest
	Problem         = stack.Problem
	ExistingCluster = stack.AttachedCluster
)

const (
	DefaultWorkshop  = state.DefaultWorkshop
	Organisation     = state.Organisation
	ArmResourceGroup = state.ArmResourceGroup
	ProviderEmbedded = state.ProviderEmbedded
	ProviderKind     = state.ProviderKind
	// HubPage is the name of the hub's page, which a ticket opens.
	HubPage = state.Hub
)

// HubDatabase is the file in which the hub of a sandbox has its data.
func HubDatabase(h Home) string { return h.Path(state.Hub, state.HubDatabase) }

// HubConfig is the configuration file of the hub of a sandbox.
func HubConfig(h Home) string { return h.Path(state.Hub, state.HubConfig) }

// HubScheduler is the configuration of the scheduler as the hub of a sandbox has it, with the
// forge and the control plane.
func HubScheduler(h Home) string { return h.Path(state.Hub, state.HubScheduler) }

// Errors of a sandbox that does not exist, and of one that does not run.
var (
	ErrNoSandbox = state.ErrNoSandbox
	ErrDown      = daemon.ErrDown
)

// FailedError says which components have failed.
type FailedError struct{ Failed []supervisor.Status }

func (e *FailedError) Error() string {
	names := make([]string, len(e.Failed))
	for i, s := range e.Failed {
		names[i] = s.Name
	}
	return strings.Join(names, ", ") + " failed"
}

// TimeoutError is about a component that is not ready in time.
type TimeoutError struct {
	What   string
	After  time.Duration
	Reason string // the last one for not being ready, "" for none
}

func (e *TimeoutError) Error() string {
	text := fmt.Sprintf("%s is not ready after %s", e.What, e.After.Round(time.Second))
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// selection are the components that awaitReady waits for.
type selection struct {
	match    func(supervisor.Status) bool // nil for all
	since    time.Time                    // failures of before do not count
	progress func([]supervisor.Status)    // may be nil
}

// awaitReady waits until each component is ready or held, and returns them. When
// some fail for good the error is a *FailedError.
func awaitReady(ctx context.Context, c *daemon.Client, of selection) (now []supervisor.Status, err error) {
	var failed []supervisor.Status
	err = c.Follow(ctx, func(all []supervisor.Status) bool {
		now, failed = nil, nil
		for _, s := range all {
			if of.match != nil && !of.match(s) {
				continue
			}
			now = append(now, s)
			if s.State == supervisor.Failed && !s.Held && !s.Since.Before(of.since) {
				failed = append(failed, s)
			}
		}
		if of.progress != nil {
			of.progress(now)
		}
		return !daemon.AllReady(now) && len(failed) == 0
	})
	switch {
	case errors.Is(err, daemon.ErrNoDaemon):
		return now, c.DiedError()
	case err == nil && len(failed) > 0:
		return now, &FailedError{failed}
	}
	return now, err
}

// awaited returns awaitReady's error, or a *TimeoutError when only the time that
// the user has given is over.
func awaited(ctx, limited context.Context, began time.Time, what string, now []supervisor.Status, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if limited.Err() == nil {
		return err
	}
	late := &TimeoutError{What: what, After: time.Since(began)}
	for _, s := range now {
		if s.State != supervisor.Ready && (late.Reason == "" || s.Reason != "") {
			late.What, late.Reason = s.Name, s.Reason
		}
	}
	return late
}
