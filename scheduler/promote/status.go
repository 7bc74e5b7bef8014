package promote

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// What the statuses of a commit say, in the words that the tutorials show.
const (
	Promoted = "Promoted" // an environment pins it
	Deployed = "Deployed" // all clusters of an environment have it
)

// StatusContext is the context of the statuses about an environment.
func StatusContext(environment string) string { return environment + " environment" }

// announce sets the status of a commit that an environment has just taken,
// unless there is one: a later one says how the commit fares there.
func announce(ctx context.Context, f forge.Forge, repo, environment, commit string) error {
	status, err := statusOf(ctx, f, repo, environment, commit)
	if errors.Is(err, forge.ErrNotFound) {
		return nil // a pin that leads nowhere is the model's to report
	}
	if err != nil || status != nil {
		return err
	}
	return f.SetStatus(ctx, repo, commit, forge.Status{Context: StatusContext(environment), State: forge.Pending, Description: Promoted})
}

// overtake ends the statuses of a commit that an environment is about to give up
// for another one, where it has got no further than to be pinned: nothing comes
// that would end them. It has not failed. It comes before the pin, since
// afterwards nothing says any more which commit it was.
func overtake(ctx context.Context, f forge.Forge, repo, environment, commit, by string) error {
	if commit == "" {
		return nil
	}
	status, err := statusOf(ctx, f, repo, environment, commit)
	if errors.Is(err, forge.ErrNotFound) {
		return nil // history was rewritten
	}
	if err != nil || status == nil || status.State != forge.Pending || status.Description != Promoted {
		return err
	}
	if err := Conclude(ctx, f, repo, commit); err != nil {
		return err
	}
	status.State, status.Description = forge.Success, fmt.Sprintf("Overtaken by %.7s", by)
	return f.SetStatus(ctx, repo, commit, *status)
}

// Conclude makes a success of what a commit's deployment to each environment is:
// it goes no further, and until then they are pending.
func Conclude(ctx context.Context, f forge.Forge, repo, commit string) error {
	all, err := f.Statuses(ctx, repo, commit)
	if err != nil {
		return err
	}
	for _, status := range all {
		if !strings.HasSuffix(status.Context, StatusContext("")) || status.State != forge.Pending || status.Description != Deployed {
			continue
		}
		status.State = forge.Success
		if err := f.SetStatus(ctx, repo, commit, status); err != nil {
			return err
		}
	}
	return nil
}

// statusOf returns a commit's status in an environment, nil when it has none.
func statusOf(ctx context.Context, f forge.Forge, repo, environment, commit string) (*forge.Status, error) {
	all, err := f.Statuses(ctx, repo, commit)
	for _, status := range all {
		if status.Context == StatusContext(environment) {
			return &status, err
		}
	}
	return nil, err
}
