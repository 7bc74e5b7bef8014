package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// renew is how often the holder says that it lives, and how often others look.
func (l *Lease) renew() time.Duration { return l.options.Length / 4 }

// silent is how long the holder works on without having been heard: others may
// take over after the whole length.
func (l *Lease) silent() time.Duration { return l.options.Length * 2 / 3 }

// term is the time for which the lease is held by one commit after another.
type term struct {
	commit string
	beats  int
	last   time.Time // when the last beat that was heard began
}

// beat says again and again that the holder lives. It returns why the term is
// over, wrapping errLost, or nil when ctx ended.
func (l *Lease) beat(ctx context.Context, t *term) error {
	for {
		deadline := t.last.Add(l.silent())
		if !pause(ctx, min(l.renew(), time.Until(deadline))) {
			return nil
		}
		try, cancel := context.WithDeadline(ctx, deadline)
		err := l.beatOnce(try, t)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errLost):
			return err
		case err == nil:
			l.change(func(s *State) { s.Error = "" })
		default:
			l.change(func(s *State) { s.Error = err.Error() })
			l.log.Debug("the lease could not be renewed", "error", err)
			if time.Until(deadline) <= 0 {
				return fmt.Errorf("%w: not renewed for %s: %w", errLost, l.silent(), err)
			}
		}
	}
}

func (l *Lease) beatOnce(ctx context.Context, t *term) error {
	began := time.Now()
	head, err := l.head(ctx)
	if err != nil {
		return err
	}
	if head != t.commit {
		return fmt.Errorf("%w: another has taken it, with commit %q", errLost, head)
	}
	if t.beats >= beatsPerCommit {
		next, err := l.take(ctx, head)
		if errors.Is(err, forge.ErrMoved) {
			return fmt.Errorf("%w: %w", errLost, err)
		}
		if err != nil {
			return err
		}
		t.commit, t.beats = next, 0
	}
	t.beats++
	if err := l.say(ctx, t.commit, forge.Pending, fmt.Sprintf("%s leads, heartbeat %d", l.options.Holder, t.beats)); err != nil {
		return err
	}
	t.last = began
	return nil
}

// head is the commit at the lease's branch, "" when there is none.
func (l *Lease) head(ctx context.Context) (string, error) {
	ref := l.options.At
	ref.Branch, ref.Path, ref.Commit = Branch, "", ""
	head, err := l.options.Forge.Head(ctx, ref)
	if errors.Is(err, forge.ErrNotFound) {
		head, err = "", nil
	}
	if err == nil {
		l.options.Heard()
	}
	return head, err
}

// take makes a commit of this contender's on top of the head. The error wraps
// forge.ErrMoved when another was faster.
func (l *Lease) take(ctx context.Context, head string) (commit string, err error) {
	request := forge.CommitRequest{
		Branch: Branch, Parent: head, Expect: head, FastForward: true, When: time.Now(),
		Message: l.options.Holder + " leads the scheduling",
	}
	if head == "" {
		ref := l.options.At
		ref.Path = ""
		if request.Parent, err = l.options.Forge.Head(ctx, ref); err != nil {
			return "", err
		}
		request.FastForward = false
	}
	// the time makes it a change, also for one that leads again
	content, err := json.MarshalIndent(map[string]string{"holder": l.options.Holder, "since": request.When.UTC().Format(time.RFC3339Nano)}, "", "  ")
	if err != nil {
		return "", err
	}
	request.Changes = []forge.Change{{Path: file, Content: append(content, '\n')}}
	return l.options.Forge.Commit(ctx, l.repo, request)
}

func (l *Lease) say(ctx context.Context, commit string, state forge.StatusState, text string) error {
	err := l.options.Forge.SetStatus(ctx, l.repo, commit, forge.Status{Context: Context, State: state, Description: text, URL: l.options.URL})
	if err == nil {
		l.options.Heard()
	}
	return err
}

// release tells the others that they need not wait.
func (l *Lease) release(ctx context.Context, t *term) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if err := l.say(ctx, t.commit, forge.Success, l.options.Holder+" has ended"); err != nil {
		l.log.Warn("the lease could not be released: another scheduler takes over when it has run out", "length", l.options.Length, "error", err)
	}
}

// pause returns false when ctx ends before the time is over.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// sighting is what another's term looks like.
type sighting struct {
	head   string
	status forge.Status
}

// look returns what is to be seen of the lease.
func (l *Lease) look(ctx context.Context) (sighting, error) {
	head, err := l.head(ctx)
	if err != nil || head == "" {
		return sighting{}, err
	}
	all, err := l.options.Forge.Statuses(ctx, l.repo, head)
	if err != nil {
		return sighting{}, err
	}
	for _, s := range all {
		if s.Context == Context {
			return sighting{head, s}, nil
		}
	}
	return sighting{head: head}, nil
}
