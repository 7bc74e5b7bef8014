package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// lessonPoll is how long a lesson pauses between two looks at what a user
// does elsewhere.
const lessonPoll = 2 * time.Second

// Lesson leads a user through a scenario: it explains a step, waits until the
// user has done it wherever they like, checks by itself, and goes on.
type Lesson struct {
	Options
	Progress *scenarios.Progress
	In       io.Reader // lines that the user types
	Out      io.Writer
	Width    int                            // of the text; 0 is 80
	Paint    func(kind, text string) string // "title", "good", "warn", "faint"; may be nil
}

// Learn holds a lesson. It ends without an error when the scenario is done, and
// when the user leaves, without done.
func Learn(ctx context.Context, l Lesson) (done bool, err error) {
	if l.Paint == nil {
		l.Paint = func(_, text string) string { return text }
	}
	s, err := newScript(ctx, l.Options)
	if err != nil {
		return false, err
	}
	defer s.close()
	t := &lesson{Lesson: l, script: s, lines: readLines(l.In)}
	err = t.run()
	switch {
	case errors.Is(err, errLeft):
		fmt.Fprintf(l.Out, "\nThe progress is kept. Go on with: kalypso scenario learn %s\n", l.Name)
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}

// errLeft says that the user does not want to go on now.
var errLeft = errors.New("left")

// lesson is a lesson that goes on.
type lesson struct {
	Lesson
	script *script
	page   *Page
	lines  <-chan string // closed when the user has left
	hints  int           // given in the present step
	enter  string        // what the key does in it now
	last   string        // the last reason that was printed
}

// readLines hands on what the user types. It ends with the input; until then
// it waits in a read that nothing can interrupt.
func readLines(in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			lines <- strings.TrimSpace(scanner.Text())
		}
	}()
	return lines
}

func (t *lesson) run() error {
	info := t.script.info
	page, err := NewPage(t.Library, t.Name, PageOptions{OrgURL: t.Access.OrgURL()})
	if err != nil {
		return err
	}
	t.page = page
	t.show(page.intro())
	first, err := t.catchUp()
	if err != nil {
		return err
	}
	for i := first; i < len(info.Steps); i++ {
		t.script.begin(i)
		t.hints, t.last = 0, ""
		before := t.script.firstUnmet(i)
		if err := t.script.ctx.Err(); err != nil {
			return err
		}
		t.printf("")
		t.show(page.task(i, before))
		if err := t.step(i); err != nil {
			return err
		}
	}
	t.printf("\n%s", t.Paint("good", info.Name+" is done."))
	return nil
}

// catchUp returns the step to begin with. The checks of those before are made
// once more: the sandbox may be another one by now, and commands remember what they
// have seen.
func (t *lesson) catchUp() (int, error) {
	info := t.script.info
	for i, step := range info.Steps {
		if !t.Progress.Has(info, step.Title) {
			return i, nil
		}
		t.script.begin(i)
		f := t.script.probe(i)
		if err := t.script.ctx.Err(); err != nil {
			return 0, err
		}
		if f != nil && !step.Transient && t.script.simulated(step.RealPods) == "" {
			t.note("warn", fmt.Sprintf("Step %d, %s, was done and is not any more: %s", i+1, step.Title, scenarios.OneLine(f.reason)))
			return i, t.Progress.Remove(info, step.Title)
		}
		t.printf("%s %d/%d %s", t.Paint("good", "[x]"), i+1, len(info.Steps), step.Title)
	}
	return len(info.Steps), nil
}

// step waits until a step is done.
func (t *lesson) step(i int) error {
	info := t.script.info
	step := info.Steps[i]
	if why := t.script.simulated(step.RealPods); why != "" {
		t.note("warn", "This cannot be checked here: "+why+".")
		t.enter = "goes on"
		t.prompt(i)
		return t.untilDone(i, true)
	}
	t.enter = "checks now"
	t.prompt(i)
	return t.untilDone(i, false)
}

// prompt names the commands that a user can type.
func (t *lesson) prompt(i int) {
	step := t.script.info.Steps[i]
	words := []string{"enter " + t.enter}
	if left := len(step.Hints) - t.hints; left > 0 {
		words = append(words, fmt.Sprintf("hint (%d left)", left))
	}
	if step.Has(scenarios.Solve) {
		words = append(words, "show what to do", "solve does it for you")
	}
	t.note("faint", "["+strings.Join(append(words, "skip", "quit"), " · ")+"]")
}

// show prints a part of the scenario's page.
func (t *lesson) show(part []block) {
	t.printf("%s", terminal(part, t.Width, t.Paint))
}

// untilDone looks again and again, and listens. What there is only to look at
// goes on when the user says so: they want to read.
func (t *lesson) untilDone(i int, unchecked bool) error {
	step := t.script.info.Steps[i]
	ticker := time.NewTicker(lessonPoll)
	defer ticker.Stop()
	seen := unchecked
	for {
		if !seen {
			what, err := t.look(i)
			if err != nil {
				return err
			}
			seen = what != ""
			if seen && !step.Reading {
				return t.passed(i)
			}
			if seen {
				t.printf("%s", t.Paint("good", what))
				t.enter = "goes on"
				t.prompt(i)
			}
		}
		select {
		case <-t.script.ctx.Done():
			return t.script.ctx.Err()
		case <-ticker.C:
		case line, ok := <-t.lines:
			if !ok {
				return errLeft
			}
			switch line {
			case "":
				if seen {
					return t.passed(i)
				}
				t.last = "" // so that the reason is printed once more
			case "skip":
				t.printf("%s", t.Paint("warn", "Skipped."))
				return nil
			default:
				if err := t.handle(i, line); err != nil {
					return err
				}
			}
		}
	}
}

// look makes the check once. seen says how it is done, "" if it is not yet; then
// look says what is not so, where that is new.
func (t *lesson) look(i int) (seen string, err error) {
	f := t.script.probe(i)
	if err := t.script.ctx.Err(); err != nil {
		return "", err
	}
	if f == nil {
		return "It is so.", nil
	}
	// whatever this lesson has done, a user can have gone on elsewhere
	if t.script.info.Steps[i].Transient && t.script.nextDone(i) {
		return "It has passed by: what comes after it is done already.", nil
	}
	if f.reason != t.last {
		t.last = f.reason
		t.note("faint", "  not yet: "+strings.ReplaceAll(shortened(f.reason), "\n", "\n  "))
	}
	return "", nil
}

// shortened is a reason with as many lines as a user reads: a whole page of an
// application can be in it.
func shortened(reason string) string {
	const most = 20
	lines := strings.Split(reason, "\n")
	if len(lines) <= most {
		return reason
	}
	return strings.Join(lines[:most], "\n") + fmt.Sprintf("\n(%d lines more)", len(lines)-most)
}

func (t *lesson) passed(i int) error {
	info := t.script.info
	t.printf("%s %d/%d %s", t.Paint("good", "[x]"), i+1, len(info.Steps), info.Steps[i].Title)
	return t.Progress.Add(info, info.Steps[i].Title)
}

// handle does what the user asks for.
func (t *lesson) handle(i int, line string) error {
	reading := !t.script.info.Steps[i].Has(scenarios.Solve)
	switch {
	case line == "quit" || line == "exit" || line == "q":
		return errLeft
	case line == "hint" || line == "h":
		t.hint(i)
	case reading && (line == "show" || line == "solve"):
		t.printf("%s", nothingToDo)
	case line == "show":
		t.show(t.page.toDo(i))
		t.prompt(i)
	case line == "solve":
		t.printf("%s", t.Paint("faint", "  doing it ..."))
		if f := t.script.run(i, scenarios.Solve, true); f != nil {
			t.note("warn", "It did not work: "+f.reason)
		}
		t.last = ""
	default:
		t.printf("There is no %q. Type hint, show, solve, skip or quit, or just enter.", line)
	}
	return nil
}

const nothingToDo = "There is nothing to do in this step but to wait and to look."

// hint gives the next one. What comes after the last one is all that there is
// to do.
func (t *lesson) hint(i int) {
	step := t.script.info.Steps[i]
	switch {
	case t.hints < len(step.Hints):
		t.hints++
		t.show([]block{{kind: hint, lang: fmt.Sprintf("Hint %d of %d", t.hints, len(step.Hints)), text: step.Hints[t.hints-1]}})
	case step.Has(scenarios.Solve):
		t.printf("There are no more hints. This is what to do:\n")
		t.show(t.page.toDo(i))
	default:
		t.printf("%s", nothingToDo)
	}
	t.prompt(i)
}

// note prints a text without breaking a word at the edge of the terminal. Lines
// keep their indentation.
func (t *lesson) note(kind, text string) {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if len([]rune(line)) > textWidth(t.Width) {
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			line = strings.TrimSuffix(wrap(line, textWidth(t.Width), indent, indent), "\n")
		}
		b.WriteString(line + "\n")
	}
	t.printf("%s", t.Paint(kind, strings.TrimSuffix(b.String(), "\n")))
}

func (t *lesson) printf(format string, args ...any) { fmt.Fprintf(t.Out, format+"\n", args...) }
