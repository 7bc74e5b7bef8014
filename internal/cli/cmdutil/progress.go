package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"golang.org/x/term"
)

// Progress shows one line per component as it becomes ready, restarts or
// fails. On a terminal a last line says what is still waited for.
type Progress struct {
	w       io.Writer
	began   time.Time
	style   Style
	seen    map[string]supervisor.State
	ran     map[string]bool // as a process
	Changed bool            // something became ready since the first call
	live    bool            // the last line is ours to overwrite
	width   int
}

// NewProgress begins to count the time.
func NewProgress(w io.Writer) *Progress {
	p := &Progress{w: w, began: time.Now(), style: NewStyle(w), seen: map[string]supervisor.State{}, ran: map[string]bool{}}
	if f, ok := w.(*os.File); ok && p.style.Terminal {
		p.width, _, _ = term.GetSize(int(f.Fd()))
	}
	return p
}

// Show prints what has changed since the last call.
func (p *Progress) Show(all []supervisor.Status) {
	first := len(p.seen) == 0
	for _, s := range all {
		if s.PID != 0 {
			p.ran[s.Name] = true
		}
		before := p.seen[s.Name]
		p.seen[s.Name] = s.State
		if s.State == before {
			continue
		}
		switch s.State {
		case supervisor.Ready:
			if first {
				continue // ready before the first call
			}
			p.Changed = true
			p.line("%s %-24s %s", p.style.Good("ready"), s.Name, p.style.Faint(fmt.Sprintf("%s, %.1f s", s.Title, s.Took.Seconds())))
		case supervisor.Restarting:
			p.line("%s %-24s %s", p.style.Warn("again"), s.Name, s.Reason)
			if n := len(s.LogTail); n > 0 {
				p.line("      %s", p.style.Faint("| "+s.LogTail[n-1]))
			}
		case supervisor.Failed:
			p.line("%s %-24s %s", p.style.Bad("fails"), s.Name, s.Reason)
		case supervisor.Stopped:
			if !p.ran[s.Name] {
				continue // a task that was done, not a process
			}
			p.line("%s %s", p.style.Faint("ended"), s.Name)
		}
	}
	p.waiting(all)
}

// waiting says on a terminal what is not ready yet.
func (p *Progress) waiting(all []supervisor.Status) {
	if !p.style.Terminal {
		return
	}
	var names []string
	reason := ""
	for _, s := range all {
		if s.State == supervisor.Starting || s.State == supervisor.Restarting || s.State == supervisor.Stopping {
			names = append(names, s.Name)
			if s.Reason != "" {
				reason = " (" + s.Name + ": " + s.Reason + ")"
			}
		}
	}
	if len(names) == 0 {
		p.Clear()
		return
	}
	p.Last(fmt.Sprintf("      %.1f s, waiting for %s%s", p.Took(), strings.Join(names, ", "), reason))
}

// Last writes the last line of a terminal, over what was there; elsewhere it
// prints nothing.
func (p *Progress) Last(text string) {
	if !p.style.Terminal {
		return
	}
	p.Clear()
	text, _, _ = strings.Cut(text, "\n")
	if r := []rune(text); p.width > 1 && len(r) >= p.width {
		text = string(r[:p.width-1])
	}
	fmt.Fprint(p.w, p.style.Faint(text))
	p.live = true
}

func (p *Progress) line(format string, args ...any) {
	p.Clear()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// Clear removes the last line of a terminal, so that another can be printed.
func (p *Progress) Clear() {
	if p.live {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.live = false
	}
}

// Took are the seconds since the beginning.
func (p *Progress) Took() float64 { return time.Since(p.began).Seconds() }

// PrintLogTails shows the last log lines of what has failed.
func (a *App) PrintLogTails(failed *sandbox.FailedError) {
	for _, s := range failed.Failed {
		if len(s.LogTail) == 0 {
			continue
		}
		a.Messagef("\nLast lines of %s:", s.Log)
		for _, line := range s.LogTail {
			a.Messagef("  | %s", line)
		}
	}
}

// ReportStart says what to do when the sandbox has not come up again.
func (a *App) ReportStart(ctx context.Context, err error) error {
	var failed *sandbox.FailedError
	switch {
	case ctx.Err() != nil:
		a.Messagef("Interrupted. What has begun goes on: `kalypso status` shows it.")
		return Silent(ctx.Err())
	case errors.As(err, &failed):
		a.PrintLogTails(failed)
		a.Messagef("\nThe rest goes on. `kalypso doctor` looks for causes; then run `kalypso up`.")
	}
	return err
}
