package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// word is one of our own commands.
type word struct {
	name  string // one word, or two as in "pr wait"
	args  string // for people
	min   int    // number of arguments
	max   int    // -1 is any
	looks bool   // changes nothing: it may be tried again, and be negated
	run   func(s *script, args []string) error
}

func words() []word {
	return []word{
		{"step", "TITLE", 1, -1, false, (*script).wordStep},
		{"clone", "REPO BRANCH [DIR]", 2, 3, false, (*script).wordClone},
		{"write", "FILE DEST", 2, 2, false, (*script).wordWrite},
		{"push", "DIR MESSAGE", 2, 2, false, (*script).wordPush},
		{"pr wait", "REPO BASE DURATION [FILE...]", 3, -1, false, (*script).wordPRWait},
		{"pr files", "FILE...", 1, -1, true, (*script).wordPRFiles},
		{"pr show", "PATH", 1, 1, true, (*script).wordPRShow},
		{"pr merge", "", 0, 0, false, (*script).wordPRMerge},
		{"kubectl", "ARGUMENT...", 1, -1, true, (*script).wordKubectl},
		{"same-yaml", "FILE WANTED", 2, 2, true, (*script).wordSameYAML},
		{"has-fields", "WANTED... [FLAG...]", 1, -1, true, (*script).wordHasFields},
		{"eventually", "DURATION WORD...", 2, -1, false, (*script).wordEventually},
		{"measure", "NAME since push|merge", 3, 3, false, (*script).wordMeasure},
	}
}

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
			err := s.call(append([]string{name}, args...), negated)
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
	if negated && !w.looks {
		return fmt.Errorf("%s cannot be negated: it does something", w.name)
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	err = w.run(s, args)
	if !negated {
		return err
	}
	var not *unmetError
	switch {
	case err == nil:
		return unmet("this holds, and should not")
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

func (s *script) wordStep(args []string) error {
	s.begin(strings.Join(args, " "))
	return nil
}

func (s *script) wordWrite(args []string) error {
	content, err := s.read(args[0])
	if err != nil {
		return err
	}
	dest := s.ts.MkAbs(args[1])
	if err := os.MkdirAll(filepath.Dir(dest), 0o777); err != nil {
		return err
	}
	s.written = append(s.written, dest)
	return os.WriteFile(dest, content, 0o666)
}

// read returns a file's content, or what the last command printed.
func (s *script) read(file string) ([]byte, error) {
	if file == "stdout" || file == "stderr" {
		return []byte(s.ts.ReadFile(file)), nil
	}
	b, err := os.ReadFile(s.ts.MkAbs(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s", file)
	}
	return b, err
}
