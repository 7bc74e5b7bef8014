package status

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"golang.org/x/term"
)

// Control sequences of a terminal (ECMA-48 and, for wrapping, DEC's private mode 7).
const (
	screenClear = "\x1b[2J"
	screenHome  = "\x1b[H"
	lineRest    = "\x1b[K"
	screenRest  = "\x1b[J"
	wrapOff     = "\x1b[?7l"
	wrapOn      = "\x1b[?7h"
)

// watch shows the status until ctx ends, which is how it is meant to end.
func watch(ctx context.Context, home sandbox.Home, o *Options) error {
	s := statusScreen{w: o.Out, style: cmdutil.NewStyle(o.Out), all: o.All, json: o.Output.String() == "json", now: time.Now}
	if f, ok := o.Out.(*os.File); ok {
		s.rows = func() int {
			_, rows, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0
			}
			return rows
		}
	}
	err := sandbox.Watch(ctx, home, func(now *sandbox.Status) error { return s.show(o.withUnmatched(ctx, now)) })
	if errors.Is(err, context.Canceled) {
		return cmdutil.Silent(err)
	}
	return err
}

// statusScreen shows one status after another.
type statusScreen struct {
	w     io.Writer
	style cmdutil.Style
	json  bool
	all   bool
	now   func() time.Time
	rows  func() int // of the terminal; 0 when that is not known

	drawn bool
	last  string // what was shown last, without times and memory
}

func (s *statusScreen) show(status *sandbox.Status) error {
	if s.style.Terminal && !s.json {
		return s.draw(status)
	}
	gist, err := gist(status)
	if err != nil || gist == s.last {
		return err
	}
	s.last = gist
	if s.json {
		return json.NewEncoder(s.w).Encode(status)
	}
	if s.drawn {
		fmt.Fprintln(s.w)
	}
	s.drawn = true
	fmt.Fprintf(s.w, "--- %s\n", s.now().Format(time.TimeOnly))
	return printStatus(s.w, s.style, status, s.now(), s.all)
}

// draw puts the status over the one before, so that nothing flickers. What the
// terminal has no room for is left out: it would scroll the rest away.
func (s *statusScreen) draw(status *sandbox.Status) error {
	var text bytes.Buffer
	fmt.Fprintln(&text, s.style.Faint(s.now().Format(time.TimeOnly)+"  ctrl-c ends"))
	if err := printStatus(&text, s.style, status, s.now(), s.all); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	if rows := s.rows(); rows > 1 && len(lines) >= rows {
		more := len(lines) - rows + 2
		lines = append(lines[:rows-2], s.style.Faint(fmt.Sprintf("... and %s: `kalypso status` shows all", cmdutil.Count(more, "more line"))))
	}
	var screen strings.Builder
	if !s.drawn {
		screen.WriteString(screenClear)
	}
	s.drawn = true
	screen.WriteString(screenHome + wrapOff)
	for _, line := range lines {
		screen.WriteString(line + lineRest + "\n")
	}
	screen.WriteString(screenRest + wrapOn)
	_, err := io.WriteString(s.w, screen.String())
	return err
}

// gist is what of a status is worth showing: time that passes and memory are
// not.
func gist(status *sandbox.Status) (string, error) {
	var b strings.Builder
	fmt.Fprintln(&b, status.Running, status.Ready, status.PID)
	for _, c := range status.Components {
		fmt.Fprintln(&b, c.Name, c.State, c.Reason, c.PID, c.Restarts)
	}
	if status.Running {
		if err := printOverview(&b, cmdutil.Style{}, status); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}
