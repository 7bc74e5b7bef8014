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
	W       io.Writer
	began   time.Time
	Style   Style
	seen    map[string]supervisor.State
	ran     map[string]bool // as a process
	Changed bool            // something became ready while we looked
	Live    bool            // the last line is ours to overwrite
	Width   int
}

func NewProgress(w io.Writer, began time.Time) *Progress {
	p := &Progress{W: w, began: began, Style: NewStyle(w), seen: map[string]supervisor.State{}, ran: map[string]bool{}}
	if f, ok := w.(*os.File); ok && p.Style.Terminal {
		p.Width, _, _ = term.GetSize(int(f.Fd()))
	}
	return p
}

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
				continue // ready before we came
			}
			p.Changed = true
			p.line("%s %-24s %s", p.Style.Good("ready"), s.Name, p.Style.Faint(fmt.Sprintf("%s, %.1f s", s.Title, s.Took.Seconds())))
		case supervisor.Restarting:
			p.line("%s %-24s %s", p.Style.Warn("again"), s.Name, s.Reason)
			if n := len(s.LogTail); n > 0 {
				p.line("      %s", p.Style.Faint("| "+s.LogTail[n-1]))
			}
		case supervisor.Failed:
			p.line("%s %-24s %s", p.Style.Bad("fails"), s.Name, s.Reason)
		case supervisor.Stopped:
			if !p.ran[s.Name] {
				continue // a task that was done, not a process
			}
			p.line("%s %s", p.Style.Faint("ended"), s.Name)
		}
	}
	p.waiting(all)
}

// waiting rewrites the last line on a terminal.
func (p *Progress) waiting(all []supervisor.Status) {
	if !p.Style.Terminal {
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
	p.Clear()
	if len(names) == 0 {
		return
	}
	text := fmt.Sprintf("      %.1f s, waiting for %s%s", time.Since(p.began).Seconds(), strings.Join(names, ", "), reason)
	text = strings.ReplaceAll(text, "\n", " ")
	if r := []rune(text); p.Width > 1 && len(r) >= p.Width {
		text = string(r[:p.Width-1])
	}
	fmt.Fprint(p.W, p.Style.Faint(text))
	p.Live = true
}

func (p *Progress) line(format string, args ...any) {
	p.Clear()
	fmt.Fprintf(p.W, format+"\n", args...)
}

func (p *Progress) Clear() {
	if p.Live {
		fmt.Fprint(p.W, "\r\x1b[K")
		p.Live = false
	}
}

func (p *Progress) End() { p.Clear() }

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

// ReportStart says what is useful when the world has not come up again.
func (a *App) ReportStart(ctx context.Context, err error) error {
	var failed *sandbox.FailedError
	switch {
	case ctx.Err() != nil:
		a.Messagef("Interrupted. What has begun goes on: `kalypso status` tells.")
		return Silent(ctx.Err())
	case errors.As(err, &failed):
		a.PrintLogTails(failed)
		a.Messagef("\nThe rest goes on. `kalypso doctor` looks for causes; then run `kalypso up`.")
	}
	return err
}
