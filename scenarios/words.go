package scenarios

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// word is one of our own commands.
type word struct {
	name  string // one word, or two as in "pr wait"
	args  string // for people
	min   int    // number of arguments
	max   int    // -1 is any
	looks looks
	run   func(s *script, args []string) error
}

// looks tells whether a word changes nothing, so that it may be tried again,
// be negated, and be part of a check.
type looks func(args []string) bool

func always([]string) bool { return true }
func never([]string) bool  { return false }

func words() []word {
	return []word{
		{"step", "TITLE", 1, -1, never, (*script).wordNothing},
		{"hint", "TEXT", 1, -1, never, (*script).wordNothing},
		{"needs", "real-pods CLUSTER...", 2, -1, never, (*script).wordNothing},
		{"momentary", "", 0, 0, never, (*script).wordNothing},
		{"setup", "", 0, 0, never, (*script).wordNothing},
		{"solve", "", 0, 0, never, (*script).wordNothing},
		{"check", "", 0, 0, never, (*script).wordNothing},
		{"look", "[(holds before)]", 0, 2, never, (*script).wordLook},
		{"clone", "REPO BRANCH [DIR]", 2, 3, never, (*script).wordClone},
		{"write", "FILE DEST", 2, 2, never, (*script).wordWrite},
		{"edit", "DEST OLD NEW", 3, 3, never, (*script).wordEdit},
		{"pull", "DIR", 1, 1, never, (*script).wordPull},
		{"push", "DIR MESSAGE", 2, 2, never, (*script).wordPush},
		{"repo show", "REPO BRANCH PATH", 3, 3, always, (*script).wordRepoShow},
		{"repo same-yaml", "REPO BRANCH PATH WANTED", 4, 4, always, (*script).wordRepoSameYAML},
		{"repo has-text", "REPO BRANCH PATH WANTED", 4, 4, always, (*script).wordRepoHasText},
		{"repo promotes", "REPO BRANCH COMMIT", 3, 3, always, (*script).wordRepoPromotes},
		{"repo gone", "REPO", 1, 1, always, (*script).wordRepoGone},
		{"pr wait", "REPO BASE DURATION [KEY=VALUE...] [FILE...]", 3, -1, always, (*script).wordPRWait},
		{"pr files", "FILE...", 1, -1, always, (*script).wordPRFiles},
		{"pr show", "PATH", 1, 1, always, (*script).wordPRShow},
		{"pr says", "TEXT...", 1, -1, always, (*script).wordPRSays},
		{"pr label", "NAME", 1, 1, always, (*script).wordPRLabel},
		{"pr promotes", "REPO COMMIT", 2, 2, always, (*script).wordPRPromotes},
		{"pr open", "", 0, 0, always, (*script).wordPROpen},
		{"pr merged", "", 0, 0, always, (*script).wordPRMerged},
		{"pr merge", "", 0, 0, never, (*script).wordPRMerge},
		{"issue open", "REPO TITLE [TEXT...]", 2, -1, always, (*script).wordIssueOpen},
		{"issue closed", "REPO TITLE", 2, 2, always, (*script).wordIssueClosed},
		{"issue count", "REPO NUMBER", 2, 2, always, (*script).wordIssueCount},
		{"status", "REPO COMMIT CONTEXT STATE [DESCRIPTION]", 4, 5, always, (*script).wordStatus},
		{"workflow run", "REPO FILE BRANCH [INPUT=VALUE...]", 3, -1, never, (*script).wordWorkflowRun},
		{"workflow wait", "REPO FILE COMMIT|BRANCH DURATION [CONCLUSION]", 4, 5, always, (*script).wordWorkflowWait},
		{"kubectl", "ARGUMENT...", 1, -1, kubectlLooks, (*script).wordKubectl},
		{"az", "ARGUMENT...", 1, -1, azLooks, (*script).wordAz},
		{"kalypso", "ARGUMENT...", 1, -1, kalypsoLooks, (*script).wordKalypso},
		{"http get", "[--context CLUSTER] NAMESPACE svc/NAME PORT PATH [TEXT...]", 4, -1, always, (*script).wordHTTPGet},
		{"same-yaml", "FILE WANTED", 2, 2, always, (*script).wordSameYAML},
		{"has-fields", "WANTED... [FLAG...]", 1, -1, always, (*script).wordHasFields},
		{"says", "TEXT WORD...", 2, -1, saysLooks, (*script).wordSays},
		{"eventually", "DURATION WORD...", 2, -1, eventuallyLooks, (*script).wordEventually},
		{"measure", "NAME since push|merge", 3, 3, always, (*script).wordMeasure},
	}
}

// onlyLooks tells whether a line with this word changes nothing.
func (w word) onlyLooks(line []string) bool {
	return w.looks(line[len(strings.Fields(w.name)):])
}

// eventuallyLooks is true since it refuses words that do something.
func eventuallyLooks([]string) bool { return true }

// unmetError says that a check was made and that things are not as it wants
// them. Every other error means that it could not be made.
type unmetError struct{ error }

func unmet(format string, args ...any) error { return &unmetError{fmt.Errorf(format, args...)} }

// commands are our words in the form that testscript takes them.
func (s *script) commands() map[string]func(*testscript.TestScript, bool, []string) {
	all := map[string]func(*testscript.TestScript, bool, []string){}
	for _, w := range words() {
		name, _, _ := strings.Cut(w.name, " ")
		all[name] = func(ts *testscript.TestScript, negated bool, args []string) {
			s.ts = ts
			line := append([]string{name}, args...)
			err := s.call(line, negated)
			s.wordError = err
			if s.ran.Len() > 0 {
				ts.Logf("%s", s.ran.String())
			}
			// a word that prints nothing leaves the last output to be looked at
			if s.stdout.Len()+s.stderr.Len() > 0 {
				fmt.Fprint(ts.Stdout(), s.stdout.String())
				fmt.Fprint(ts.Stderr(), s.stderr.String())
			}
			ts.Check(err)
		}
	}
	return all
}

// call runs a word with its arguments.
func (s *script) call(line []string, negated bool) error {
	s.ran.Reset()
	s.stdout.Reset()
	s.stderr.Reset()
	w, args, err := findWord(line)
	if err != nil {
		return err
	}
	if negated && !w.onlyLooks(line) {
		return fmt.Errorf("%s cannot be negated: it does something", w.name)
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if negated {
		// what is not to come is not waited for, now or later
		defer func(patient bool, wanted *pullQuery) { s.patient, s.wanted = patient, wanted }(s.patient, s.wanted)
		s.patient = false
	}
	err = w.run(s, args)
	if !negated {
		return err
	}
	var not *unmetError
	switch {
	case err == nil:
		return unmet("this holds, and should not: %s", shellWords(line))
	case errors.As(err, &not):
		return nil
	}
	return err
}

func findWord(line []string) (word, []string, error) {
	var usages []string
	for _, w := range words() {
		name := strings.Fields(w.name)
		if line[0] != name[0] {
			continue
		}
		usages = append(usages, strings.TrimSpace(w.name+" "+w.args))
		if len(line) < len(name) || strings.Join(line[:len(name)], " ") != w.name {
			continue
		}
		if args := line[len(name):]; len(args) >= w.min && (w.max < 0 || len(args) <= w.max) {
			return w, args, nil
		}
	}
	if usages == nil {
		return word{}, nil, fmt.Errorf("there is no word %q", line[0])
	}
	return word{}, nil, fmt.Errorf("usage: %s", strings.Join(usages, " | "))
}

// saysLooks is true where the word looks whose output is wanted.
func saysLooks(args []string) bool {
	w, _, err := findWord(args[1:])
	return err == nil && w.onlyLooks(args[1:])
}

// wordSays runs a word and looks for a text in what it prints.
func (s *script) wordSays(args []string) error {
	text, line := args[0], args[1:]
	if err := s.call(line, false); err != nil {
		return err
	}
	if said := s.stdout.String(); !strings.Contains(said, text) {
		return unmet("%s does not say %q, but %q", line[0], text, strings.TrimSpace(said))
	}
	return nil
}

// wordLook begins a section, which is read before the script runs. What is left
// in one is misspelled.
func (s *script) wordLook(args []string) error {
	return fmt.Errorf("usage: look [(holds before)], and not look %s", strings.Join(args, " "))
}

// wordNothing is for words that are read before the script runs.
func (s *script) wordNothing([]string) error { return nil }
