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
	a, err := NewAttempt(ctx, l.Options, l.Progress)
	if err != nil {
		return false, err
	}
	defer a.Close()
	t := &lesson{Lesson: l, attempt: a, lines: readLines(l.In)}
	err = t.run(ctx)
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
	attempt *Attempt
	lines   <-chan string // closed when the user has left
	hints   int           // given in the present step
	enter   string        // what the key does in it now
	last    string        // the last reason that was printed
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

func (t *lesson) run(ctx context.Context) error {
	info := t.attempt.Info
	t.show(t.attempt.intro())
	first, err := t.catchUp(ctx)
	if err != nil {
		return err
	}
	for i := first; i < len(info.Steps); i++ {
		t.hints, t.last = 0, ""
		before := t.attempt.firstUnmet(ctx, i)
		if err := ctx.Err(); err != nil {
			return err
		}
		t.printf("")
		t.show(t.attempt.task(i, before))
		if err := t.step(ctx, i); err != nil {
			return err
		}
	}
	t.printf("\n%s", t.Paint("good", info.Name+" is done."))
	return nil
}

// catchUp returns the step to begin with. The checks of those before are made
// once more: the sandbox may be another one by now, and commands remember what they
// have seen.
func (t *lesson) catchUp(ctx context.Context) (int, error) {
	info := t.attempt.Info
	for i, step := range info.Steps {
		if !t.attempt.has(i) {
			return i, nil
		}
		g, err := t.attempt.Probe(ctx, i)
		switch {
		case err != nil:
			return 0, err
		case !t.attempt.has(i):
			t.note("warn", fmt.Sprintf("Step %d, %s, was done and is not any more: %s", i+1, step.Title, scenarios.OneLine(g.Reason)))
			return i, nil
		case g.State == CannotCheck:
			t.note("warn", fmt.Sprintf("Step %d, %s, was done, and cannot be checked now: %s", i+1, step.Title, scenarios.OneLine(g.Reason)))
		}
		t.printf("%s %d/%d %s", t.Paint("good", "[x]"), i+1, len(info.Steps), step.Title)
	}
	return len(info.Steps), nil
}

// step waits until a step is done.
func (t *lesson) step(ctx context.Context, i int) error {
	t.enter = "checks now"
	why := t.attempt.script.simulated(t.attempt.Info.Steps[i].RealPods)
	if why != "" {
		t.note("warn", "This cannot be checked here: "+why+".")
		t.enter = "goes on"
	}
	t.prompt(i)
	return t.untilDone(ctx, i, why != "")
}

// prompt names the commands that a user can type.
func (t *lesson) prompt(i int) {
	step := t.attempt.Info.Steps[i]
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
// goes on when the user says so: they want to read. It may also be done elsewhere,
// such as on the hub's page.
func (t *lesson) untilDone(ctx context.Context, i int, unchecked bool) error {
	step := t.attempt.Info.Steps[i]
	ticker := time.NewTicker(lessonPoll)
	defer ticker.Stop()
	seen := unchecked
	for {
		what, err := t.look(ctx, i, seen)
		if err != nil {
			return err
		}
		if t.attempt.has(i) {
			return t.passed(i)
		}
		if what != "" && !step.Reading {
			return t.passed(i)
		}
		if what != "" {
			seen = true
			t.printf("%s", t.Paint("good", what))
			t.enter = "goes on"
			t.prompt(i)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
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
				if err := t.handle(ctx, i, line); err != nil {
					return err
				}
			}
		}
	}
}

// look makes the check once, unless it has been seen to be so. what says how it is
// done, "" if it is not yet; then look says what is not so, where that is new.
func (t *lesson) look(ctx context.Context, i int, seen bool) (what string, err error) {
	if seen {
		return "", t.Progress.Reload()
	}
	g, err := t.attempt.Probe(ctx, i)
	if err != nil {
		return "", err
	}
	text := ""
	switch g.State {
	case Holds:
		return "It is so.", nil
	case PassedBy:
		return "It has passed by: what comes after it is done already.", nil
	case CannotCheck:
		text = "cannot be checked now: "
	default:
		text = "not yet: "
	}
	if g.Reason != t.last {
		t.last = g.Reason
		t.note("faint", "  "+text+strings.ReplaceAll(shortened(g.Reason), "\n", "\n  "))
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
	info := t.attempt.Info
	t.printf("%s %d/%d %s", t.Paint("good", "[x]"), i+1, len(info.Steps), info.Steps[i].Title)
	return t.attempt.Acknowledge(i)
}

// handle does what the user asks for.
func (t *lesson) handle(ctx context.Context, i int, line string) error {
	reading := !t.attempt.Info.Steps[i].Has(scenarios.Solve)
	switch {
	case line == "quit" || line == "exit" || line == "q":
		return errLeft
	case line == "hint" || line == "h":
		t.hint(i)
	case reading && (line == "show" || line == "solve"):
		t.printf("%s", nothingToDo)
	case line == "show":
		t.show(t.attempt.toDo(i))
		t.prompt(i)
	case line == "solve":
		t.printf("%s", t.Paint("faint", "  doing it ..."))
		if err := t.attempt.Solve(ctx, i, nil); err != nil {
			t.note("warn", "It did not work: "+err.Error())
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
	step := t.attempt.Info.Steps[i]
	switch {
	case t.hints < len(step.Hints):
		t.hints++
		t.show([]block{{kind: hint, lang: fmt.Sprintf("Hint %d of %d", t.hints, len(step.Hints)), text: step.Hints[t.hints-1]}})
	case step.Has(scenarios.Solve):
		t.printf("There are no more hints. This is what to do:\n")
		t.show(t.attempt.toDo(i))
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
