package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/sirupsen/logrus"
)

// timeoutError is a job or step that takes longer than it may.
type timeoutError struct {
	what  string
	limit time.Duration
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("the %s has not ended after %s", e.what, e.limit)
}

// expressionError is an expression that cannot be evaluated.
type expressionError struct{ message string }

func (e *expressionError) Error() string { return e.message }

// stepProgress is how far a step is.
type stepProgress struct {
	limit   time.Duration // zero for none
	started bool
	result  string
	mayFail bool  // its failure counts as success
	why     error // it is to end before its time
	timer   *time.Timer
}

// WithJobLogger gives the library its log of the job: the job follows its steps
// by that.
func (j *job) WithJobLogger() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	log.AddHook(j)
	return log
}

func (j *job) Levels() []logrus.Level { return logrus.AllLevels }

// Fire takes an entry of the library's log. All that is not output comes from
// the goroutine that runs the steps.
func (j *job) Fire(e *logrus.Entry) error {
	n, isStep := e.Data["stepNumber"].(int)
	isStep = isStep && e.Data["stage"] == "Main"
	if !isStep {
		n = -1
	}
	if e.Data["raw_output"] == true {
		j.line(n, strings.TrimRight(e.Message, "\r\n"))
		return nil
	}
	if result, ok := e.Data["jobResult"]; ok {
		j.mu.Lock()
		j.result = fmt.Sprint(result)
		j.mu.Unlock()
	}
	ids, _ := e.Data["stepID"].([]string)
	inner := len(ids) != 1 // a step of an action
	result, ends := e.Data["stepResult"]
	script, isScript := strings.CutPrefix(e.Message, "Wrote command \n")
	switch {
	case isStep && !inner && ends:
		j.stepEnded(n, fmt.Sprint(result))
	case isStep && !inner && e.Level == logrus.InfoLevel && !j.steps[n].started:
		j.stepStarted(n)
	case isStep && !inner && isScript:
		script, _, _ = strings.Cut(script, "\n to '")
		j.group(n, "Run "+j.model.Steps[n].String(), script)
	case isStep && !inner && e.Message == "Failed but continue next step":
		j.steps[n].mayFail = true
		j.line(n, "The step may fail: the job goes on.")
	case strings.HasPrefix(e.Message, "Unable to interpolate"): // the library goes on with an empty text
		j.end(&expressionError{e.Message}, afterCancel)
	case ends, inner && isStep, e.Level > logrus.WarnLevel: // an error of an inner step comes once more, as the step's own
	case e.Level == logrus.WarnLevel:
		j.line(n, "::warning::"+e.Message)
	default:
		message := strings.TrimLeft(e.Message, " \u274c")
		if code, ok := strings.CutPrefix(message, "exit status "); ok {
			message = "Process completed with exit code " + code + "."
		}
		for line := range strings.Lines(message) {
			j.line(n, "::error::"+strings.TrimSpace(line))
		}
		if isStep && !inner && j.steps[n].result != failure && j.steps[n].result != cancelled { // before or after it has run
			j.stepEnded(n, failure)
		}
	}
	return nil
}

// group adds lines that the forge shows folded.
func (j *job) group(n int, title, lines string) {
	j.line(n, "::group::"+title)
	for line := range strings.Lines(strings.Trim(lines, "\n")) {
		j.line(n, strings.TrimRight(line, "\r\n"))
	}
	j.line(n, "::endgroup::")
}

var addMask = regexp.MustCompile(`^\s*::add-mask::(.+)`)

// unescape undoes the escapes of workflow commands.
var unescape = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%")

// line adds a line to the log of a step, with secrets hidden, in pieces that the
// forge takes. Broken letters are replaced, since it takes UTF-8 only.
func (j *job) line(step int, text string) {
	if secret := addMask.FindStringSubmatch(text); secret != nil {
		j.mask.add(unescape.Replace(secret[1]))
	}
	text = strings.ToValidUTF8(j.mask.hide(text), "\ufffd")
	for len(text) > maxLine {
		cut := maxLine
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		j.report.line(step, text[:cut])
		text = text[cut:]
	}
	j.report.line(step, text)
}

// running is the step that runs, -1 for none.
func (j *job) running() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.step
}

func (j *job) stepStarted(n int) {
	j.report.stepStarted(n)
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &j.steps[n]
	s.started, j.step = true, n
	if limit := s.limit; limit > 0 {
		s.timer = time.AfterFunc(limit, func() { j.interrupt(n, &timeoutError{"step", limit}) })
	}
	if j.cause != nil && !j.restricted { // it has come since the step before
		go j.interrupt(n, j.cause)
	}
}

func (j *job) stepEnded(n int, result string) {
	j.console.drain()
	j.mu.Lock()
	s := &j.steps[n]
	if s.timer != nil {
		s.timer.Stop()
	}
	why := s.why
	if invalid := (*expressionError)(nil); errors.As(j.cause, &invalid) && !j.restricted {
		why, result = j.cause, failure
	}
	switch {
	case s.mayFail && result == failure:
		result = success
	case why != nil && result == failure && (errors.Is(why, errCancelled) || errors.Is(why, errStopped)),
		j.restricted && result == skipped:
		result = cancelled
	}
	s.result, j.step = result, -1
	if j.cause != nil {
		j.restrict(n + 1)
		j.restricted, j.logged = true, j.logged || why != nil
	}
	j.mu.Unlock()
	if why != nil {
		j.line(n, "::error::"+why.Error())
	}
	for _, summary := range j.summaries() { // the forge shows them nowhere else
		j.group(n, "Summary", summary)
	}
	j.report.stepEnded(n, result)
}

// summaries are those that steps have written. A link in their place leads nowhere
// else.
func (j *job) summaries() (all []string) {
	root, err := os.OpenRoot(j.dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	files, _ := fs.Glob(root.FS(), "act/*/act/workflow/SUMMARY.md")
	for _, file := range files {
		if info, err := root.Stat(file); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if b, err := root.ReadFile(file); err == nil && len(strings.TrimSpace(string(b))) > 0 {
			all = append(all, string(b))
		}
	}
	return all
}

// statusFunctions are those of an expression that ask how the job is.
var statusFunctions = regexp.MustCompile(`(?i)\b(always|success|failure|cancelled)\s*\(\s*\)`)

// restrict leaves out the steps from the n-th on that do not ask to run in spite
// of the job's end, by always() or cancelled(); and all of them when the runner
// is to stop. The library knows no such state of a job.
func (j *job) restrict(n int) {
	for _, s := range j.model.Steps[n:] {
		if errors.Is(j.cause, errStopped) || !statusFunctions.MatchString(s.If.Value) {
			s.If.Value = "false"
			continue
		}
		s.If.Value = statusFunctions.ReplaceAllStringFunc(s.If.Value, func(call string) string {
			switch call[0] {
			case 'a', 'A', 'c', 'C':
				return "always()"
			}
			return "!always()"
		})
	}
}

// end brings the job to its end: the step that runs is interrupted, and the rest
// may take as long as limit.
func (j *job) end(cause error, limit time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cause != nil && !errors.Is(cause, errStopped) {
		return
	}
	j.cause = cause
	if j.step >= 0 {
		go j.interrupt(j.step, cause)
	}
	time.AfterFunc(limit, j.abandon)
}

// abandon makes the job end without the steps that do not end.
func (j *job) abandon() {
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case <-j.abandoned:
	default:
		close(j.abandoned)
	}
}

// grace is how long a step may take to end after each signal; the first two are
// GitHub's.
var grace = []time.Duration{7500 * time.Millisecond, 2500 * time.Millisecond, endLimit}

// interrupt asks the processes of a step to end, asks again, then kills them.
func (j *job) interrupt(n int, why error) {
	j.report.hurry() // what is killed must not wait for a forge that takes no lines
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		pause := grace[i]
		if errors.Is(why, errStopped) {
			pause = min(pause, time.Second)
		}
		next, signalled := time.After(pause), map[int]bool{}
		for over := false; !over; {
			if !j.signal(n, signal, why, signalled) {
				return
			}
			select {
			case <-next:
				over = true
			case <-tick.C:
			}
		}
	}
	j.abandon()
}

// signal signals the processes of a step that have not been, as long as the step
// runs.
func (j *job) signal(n int, signal syscall.Signal, why error, signalled map[int]bool) bool {
	j.mu.Lock() // the next step does not begin meanwhile
	defer j.mu.Unlock()
	if j.step != n {
		return false
	}
	j.steps[n].why = cmp.Or(j.steps[n].why, why)
	for _, pid := range stepProcesses(j.dir) {
		if !signalled[pid] {
			_ = syscall.Kill(-pid, signal)
		}
		signalled[pid] = true
	}
	return true
}
