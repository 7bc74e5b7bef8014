package scenarios

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// lessonPoll is how long a lesson pauses between two looks at what a person
// does elsewhere.
const lessonPoll = 2 * time.Second

// Lesson leads a person through a scenario: it explains a step, waits until the
// person has done it wherever they like, checks by itself, and goes on.
type Lesson struct {
	Options
	Progress *Progress
	In       io.Reader // lines that the person types
	Out      io.Writer
	Width    int                            // of the text; 0 is 80
	Paint    func(kind, text string) string // "title", "good", "warn", "faint"; may be nil
}

// Learn holds a lesson. It ends without an error when the scenario is done, and
// when the person leaves; done tells which.
func Learn(ctx context.Context, l Lesson) (done bool, err error) {
	if l.files == nil {
		l.files = library
	}
	if l.Paint == nil {
		l.Paint = func(_, text string) string { return text }
	}
	s, err := newScript(ctx, l.Options)
	if err != nil {
		return false, err
	}
	defer s.close()
	t := &teacher{Lesson: l, script: s, lines: readLines(l.In)}
	err = t.teach()
	switch {
	case errors.Is(err, errLeft):
		fmt.Fprintf(l.Out, "\nThe progress is kept. Go on with: kalypso scenario learn %s\n", l.Name)
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}

// errLeft says that the person does not want to go on now.
var errLeft = errors.New("left")

// teacher is a lesson that goes on.
type teacher struct {
	Lesson
	script *script
	page   *Page
	lines  <-chan string // closed when the person has left
	hints  int           // told of the present step
	enter  string        // what the key does in it now
	last   string        // the reason that was told last
}

// readLines hands on what the person types. It ends with the input; until then
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

func (t *teacher) teach() error {
	info := t.script.info
	page, err := pageIn(t.files, t.Workshop, t.Name, t.World.OrgURL())
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
		t.say("")
		t.show(page.task(i))
		if err := t.step(i); err != nil {
			return err
		}
	}
	t.say("\n%s", t.Paint("good", info.Name+" is done."))
	return nil
}

// catchUp returns the step to begin with. The checks of those before are made
// once more: the world may be another one by now, and words remember what they
// have seen.
func (t *teacher) catchUp() (int, error) {
	info := t.script.info
	for i, step := range info.Steps {
		if !t.Progress.has(info, step.Title) {
			return i, nil
		}
		t.script.begin(i)
		f := t.script.glance(i)
		if err := t.script.ctx.Err(); err != nil {
			return 0, err
		}
		if f != nil && !step.Momentary && t.script.simulated(step.RealPods) == "" {
			t.say("%s", t.Paint("warn", fmt.Sprintf("Step %d, %s, was done and is not any more: %s", i+1, step.Title, inOneLine(f.reason))))
			return i, t.Progress.remove(info, step.Title)
		}
		t.say("%s %d/%d %s", t.Paint("good", "[x]"), i+1, len(info.Steps), step.Title)
	}
	return len(info.Steps), nil
}

// step waits until a step is done.
func (t *teacher) step(i int) error {
	info := t.script.info
	step := info.Steps[i]
	if why := t.script.simulated(step.RealPods); why != "" {
		t.say("%s", t.Paint("warn", "This cannot be checked here: "+why+"."))
		t.enter = "goes on"
		t.prompt(i)
		return t.untilDone(i, true)
	}
	t.enter = "checks now"
	t.prompt(i)
	return t.untilDone(i, false)
}

// prompt names the words that a person can type.
func (t *teacher) prompt(i int) {
	step := t.script.info.Steps[i]
	words := []string{"enter " + t.enter}
	if left := len(step.Hints) - t.hints; left > 0 {
		words = append(words, fmt.Sprintf("hint (%d left)", left))
	}
	if step.has(solve) {
		words = append(words, "show what to do", "solve does it for you")
	}
	t.say("%s", t.Paint("faint", "["+strings.Join(append(words, "skip", "quit"), " · ")+"]"))
}

// show prints a part of the scenario's page.
func (t *teacher) show(part []block) {
	t.say("%s", t.page.terminal(part, t.Width, t.Paint))
}

// untilDone looks again and again, and listens. What there is only to look at
// goes on when the person says so: they want to read.
func (t *teacher) untilDone(i int, unchecked bool) error {
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
				t.say("%s", t.Paint("good", what))
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
				t.last = "" // tell once more
			case "skip":
				t.say("%s", t.Paint("warn", "Skipped."))
				return nil
			default:
				if err := t.obey(i, line); err != nil {
					return err
				}
			}
		}
	}
}

// look makes the check once. seen says how it is done, "" if it is not yet; then
// look tells what is not so, where that is new.
func (t *teacher) look(i int) (seen string, err error) {
	f := t.script.glance(i)
	if err := t.script.ctx.Err(); err != nil {
		return "", err
	}
	if f == nil {
		return "It is so.", nil
	}
	// whatever this lesson has done, a person can have gone on elsewhere
	if t.script.info.Steps[i].Momentary && t.script.nextDone(i) {
		return "It has passed by: what comes after it is done already.", nil
	}
	if f.reason != t.last {
		t.last = f.reason
		t.say("%s", t.Paint("faint", "  not yet: "+strings.ReplaceAll(shortened(f.reason), "\n", "\n  ")))
	}
	return "", nil
}

// shortened is a reason with as many lines as a person reads: a whole page of an
// application can be in it.
func shortened(reason string) string {
	const most = 20
	lines := strings.Split(reason, "\n")
	if len(lines) <= most {
		return reason
	}
	return strings.Join(lines[:most], "\n") + fmt.Sprintf("\n(%d lines more)", len(lines)-most)
}

func (t *teacher) passed(i int) error {
	info := t.script.info
	t.say("%s %d/%d %s", t.Paint("good", "[x]"), i+1, len(info.Steps), info.Steps[i].Title)
	return t.Progress.add(info, info.Steps[i].Title)
}

// obey does what the person asks for.
func (t *teacher) obey(i int, line string) error {
	step := t.script.info.Steps[i]
	switch line {
	case "quit", "exit", "q":
		return errLeft
	case "hint", "h":
		t.hint(i)
	case "show":
		if !step.has(solve) {
			t.say("%s", nothingToDo)
			return nil
		}
		t.show(t.page.toDo(i))
		t.prompt(i)
	case "solve":
		if !step.has(solve) {
			t.say("%s", nothingToDo)
			return nil
		}
		t.say("%s", t.Paint("faint", "  doing it ..."))
		if f := t.script.run(i, solve, true); f != nil {
			t.say("%s", t.Paint("warn", "It did not work: "+f.reason))
		}
		t.last = ""
	default:
		t.say("There is no %q. Type hint, show, solve, skip or quit, or just enter.", line)
	}
	return nil
}

const nothingToDo = "There is nothing to do in this step but to wait and to look."

// hint gives the next one. What comes after the last one is all that there is
// to do.
func (t *teacher) hint(i int) {
	step := t.script.info.Steps[i]
	switch {
	case t.hints < len(step.Hints):
		t.hints++
		t.show([]block{{kind: hint, lang: fmt.Sprintf("Hint %d of %d", t.hints, len(step.Hints)), text: step.Hints[t.hints-1]}})
	case step.has(solve):
		t.say("There are no more hints. This is what to do:\n")
		t.show(t.page.toDo(i))
	default:
		t.say("%s", nothingToDo)
	}
	t.prompt(i)
}

func (t *teacher) say(format string, args ...any) { fmt.Fprintf(t.Out, format+"\n", args...) }
