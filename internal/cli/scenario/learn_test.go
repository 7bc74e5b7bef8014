//go:build unix

package scenario

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
)

const explanation = "The platform team reads a somewhat longish explanation here, whose words are meant to be read as they are written, and whose sentences go on for several lines of an ordinary terminal of eighty columns."

const lesson = `# A lesson
#
# Persona: platform team
# Follows: A tutorial

step Push a file
# ` + explanation + `
hint Push it to the branch main of the control plane, in whatever way you usually push things to where they belong.
solve
clone control main
write wanted.yaml control/file.yaml
push control 'Push a file'
check
repo same-yaml control main file.yaml wanted.yaml

-- wanted.yaml --
kind: A
`

// TestLearnOnTerminal types into a lesson while it speaks. What it says comes
// above what is being typed, which stays whole, and no line is longer than the
// terminal is wide.
func TestLearnOnTerminal(t *testing.T) {
	const columns = 80
	terminal, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	defer tty.Close()
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
		t.Fatal(err)
	}
	before, err := term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{columns: columns}
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := terminal.Read(buffer)
			s.write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()

	forge := giteafake.Start(t)
	repo := forge.Create("kalypso/control", "main")
	repo.Push("main", nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := &Options{App: &cmdutil.App{In: tty, Out: tty, Err: tty}}
	type outcome struct {
		done bool
		err  error
	}
	ended := make(chan outcome, 1)
	go func() {
		done, err := o.hold(ctx, engine.Lesson{
			Options: engine.Options{
				Name:    "lesson",
				Access:  engine.Access{ForgeURL: forge.URL, Organisation: "kalypso", User: giteafake.User, Token: giteafake.Token, Home: t.TempDir()},
				Library: scenarios.Library{Workshop: "test", Files: fstest.MapFS{"lesson.txtar": {Data: []byte(lesson)}}, Ordered: []string{"lesson"}},
			},
			Progress: &scenarios.Progress{Done: map[string][]string{}},
		})
		ended <- outcome{done, err}
	}()

	keys := func(text string) {
		t.Helper()
		if _, err := terminal.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	// shows waits for a text, and for what the last line then is
	shows := func(text, last string) {
		t.Helper()
		if err := retry.Until(ctx, "the screen", 30*time.Second, func(context.Context) error {
			if lines := s.lines(); !strings.Contains(strings.Join(strings.Fields(strings.Join(lines, " ")), " "), text) || lines[len(lines)-1] != last {
				return fmt.Errorf("no %q, or no %q at the end:\n%s", text, last, strings.Join(lines, "\n"))
			}
			return nil
		}, retry.Every(10*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	shows(explanation, ">")
	shows("has no file file.yaml", ">")
	keys("hi")
	shows("", "> hi")
	repo.Push("main", map[string]string{"file.yaml": "kind: B\n"})
	shows("file.yaml on main of control is not as it should be", "> hi")
	keys("nt")
	shows("", "> hint")
	keys("\r")
	shows("Hint 1 of 1: Push it to the branch main of the control plane, in whatever way you usually push things to where they belong.", ">")
	keys("quit\r")
	if got := <-ended; got.done || got.err != nil {
		t.Errorf("%+v", got)
	}
	const farewell = "The progress is kept. Go on with: kalypso scenario learn lesson"
	shows(farewell, farewell)
	if s.wrapped() {
		t.Errorf("a line is wider than the terminal:\n%s", strings.Join(s.lines(), "\n"))
	}
	after, err := term.GetState(int(tty.Fd()))
	if err != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("the terminal is not as it was: %v, %v, %v", err, before, after)
	}
}

// screen is what a terminal shows, with all that has gone out of it at the top.
type screen struct {
	mu          sync.Mutex
	columns     int
	rows        [][]rune
	row, column int
	tooWide     bool
	escape      []byte
}

func (s *screen) write(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range string(data) {
		switch {
		case len(s.escape) > 0:
			s.escape = append(s.escape, byte(r))
			if len(s.escape) > 2 && r >= '@' && r <= '~' {
				s.control(string(s.escape[2:]))
				s.escape = nil
			}
		case r == '\x1b':
			s.escape = []byte{byte(r)}
		case r == '\r':
			s.column = 0
		case r == '\n':
			s.row++
		default:
			if s.column >= s.columns {
				s.tooWide = true
				s.row, s.column = s.row+1, 0
			}
			line := s.line()
			for len(*line) <= s.column {
				*line = append(*line, ' ')
			}
			(*line)[s.column] = r
			s.column++
		}
	}
}

// control carries out a sequence without its introduction: ways, clearing to the
// end of the line, and colours, which nothing shows.
func (s *screen) control(sequence string) {
	n := 1
	_, _ = fmt.Sscan(sequence[:len(sequence)-1], &n)
	switch sequence[len(sequence)-1] {
	case 'A':
		s.row = max(0, s.row-n)
	case 'B':
		s.row += n
	case 'C':
		s.column = min(s.columns-1, s.column+n)
	case 'D':
		s.column = max(0, s.column-n)
	case 'K':
		if line := s.line(); len(*line) > s.column {
			*line = (*line)[:s.column]
		}
	}
}

func (s *screen) line() *[]rune {
	for len(s.rows) <= s.row {
		s.rows = append(s.rows, nil)
	}
	return &s.rows[s.row]
}

func (s *screen) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := []string{""}
	for _, r := range s.rows {
		lines = append(lines, strings.TrimRight(string(r), " "))
	}
	for len(lines) > 1 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func (s *screen) wrapped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tooWide
}
