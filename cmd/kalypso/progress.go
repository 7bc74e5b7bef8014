package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"golang.org/x/term"
)

// progress shows one line per component as it becomes ready, restarts or
// fails. On a terminal a last line says what is still waited for.
type progress struct {
	w       io.Writer
	began   time.Time
	style   style
	seen    map[string]supervisor.State
	ran     map[string]bool // as a process
	changed bool            // something became ready while we looked
	live    bool            // the last line is ours to overwrite
	width   int
}

func newProgress(w io.Writer, began time.Time) *progress {
	p := &progress{w: w, began: began, style: newStyle(w), seen: map[string]supervisor.State{}, ran: map[string]bool{}}
	if f, ok := w.(*os.File); ok && p.style.terminal {
		p.width, _, _ = term.GetSize(int(f.Fd()))
	}
	return p
}

func (p *progress) show(all []supervisor.Status) {
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
			p.changed = true
			p.line("%s %-24s %s", p.style.good("ready"), s.Name, p.style.faint(fmt.Sprintf("%s, %.1f s", s.Title, s.Took.Seconds())))
		case supervisor.Restarting:
			p.line("%s %-24s %s", p.style.warn("again"), s.Name, s.Reason)
			if n := len(s.LogTail); n > 0 {
				p.line("      %s", p.style.faint("| "+s.LogTail[n-1]))
			}
		case supervisor.Failed:
			p.line("%s %-24s %s", p.style.bad("fails"), s.Name, s.Reason)
		case supervisor.Stopped:
			if !p.ran[s.Name] {
				continue // a task that was done, not a process
			}
			p.line("%s %s", p.style.faint("ended"), s.Name)
		}
	}
	p.waiting(all)
}

// waiting rewrites the last line on a terminal.
func (p *progress) waiting(all []supervisor.Status) {
	if !p.style.terminal {
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
	p.clear()
	if len(names) == 0 {
		return
	}
	text := fmt.Sprintf("      %.1f s, waiting for %s%s", time.Since(p.began).Seconds(), strings.Join(names, ", "), reason)
	text = strings.ReplaceAll(text, "\n", " ")
	if r := []rune(text); p.width > 1 && len(r) >= p.width {
		text = string(r[:p.width-1])
	}
	fmt.Fprint(p.w, p.style.faint(text))
	p.live = true
}

func (p *progress) line(format string, args ...any) {
	p.clear()
	fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *progress) clear() {
	if p.live {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.live = false
	}
}

func (p *progress) end() { p.clear() }
