package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// ErrDown is returned where a running sandbox is needed and there is one that
// does not run.
var ErrDown = errors.New("the sandbox is down: `kalypso up` brings it back")

// TimeoutError says that something was waited for and did not come.
type TimeoutError struct {
	What   string
	After  time.Duration
	Reason string // the last one for not being there, "" for none
}

func (e *TimeoutError) Error() string {
	text := fmt.Sprintf("%s is not ready after %s", e.What, e.After.Round(time.Second))
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Restart ends a component of the running sandbox, starts it again, and returns
// it when it is ready; what needs it stays as it is. Other than of ctx's end
// the error is a *UsageError for a name that there is not, ErrNoSandbox or
// ErrDown without a sandbox, a *FailedError when the component fails for good,
// and a *TimeoutError when it is not ready in time. In the last case it goes on
// starting.
func Restart(ctx context.Context, h Home, component string, limit time.Duration, progress func(supervisor.Status)) (*supervisor.Status, error) {
	began := time.Now()
	d := openDoor(h)
	if err := d.knows(ctx, h, component); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last supervisor.Status
	err := d.postSlowly(waiting, pathRestart+"?component="+url.QueryEscape(component))
	if err == nil {
		err = d.follow(waiting, func(all []supervisor.Status) bool {
			i := slices.IndexFunc(all, func(s supervisor.Status) bool { return s.Name == component })
			if i < 0 {
				return true
			}
			last = all[i]
			if progress != nil {
				progress(last)
			}
			return last.State != supervisor.Ready && last.State != supervisor.Failed && !last.Held
		})
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case waiting.Err() != nil:
		return nil, &TimeoutError{component, time.Since(began), last.Reason}
	case err != nil:
		return nil, refused(h, err)
	case last.Held:
		return nil, fmt.Errorf("%s has been stopped meanwhile: %s", component, last.Reason)
	case last.State == supervisor.Failed:
		return nil, &FailedError{[]supervisor.Status{last}}
	}
	return &last, nil
}

// knows returns nil for a component of the running sandbox.
func (d *door) knows(ctx context.Context, h Home, component string) error {
	all, err := d.components(ctx)
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	switch {
	case errors.Is(err, errNoDaemon) && !h.Exists():
		return ErrNoSandbox
	case errors.Is(err, errNoDaemon):
		return ErrDown
	case err != nil:
		return err
	case slices.Contains(names, component):
		return nil
	case component == "daemon":
		return &UsageError{"the daemon is restarted with all that it runs, by `kalypso down` and `kalypso up`"}
	}
	return unknown("component", component, names)
}

// unknown is the error about a name that there is not, with the nearest.
func unknown(what, name string, known []string) error {
	text := fmt.Sprintf("there is no %s %q", what, name)
	if near := model.Nearest(name, known); near != "" {
		text += ", did you mean " + near + "?"
	}
	return &UsageError{text + "\nChoose one of " + strings.Join(known, ", ")}
}
