package kind

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kind/pkg/exec"
	"sigs.k8s.io/kind/pkg/log"
)

// logger is kind's: everything goes to a log file, and the steps that kind
// announces to the progress report, too.
type logger struct {
	*os.File // nil for a quiet one
	log      *slog.Logger
	step     func(string)
}

var _ log.Logger = (*logger)(nil)

// quiet is for what takes a moment.
func quiet() *logger { return &logger{log: slog.New(slog.DiscardHandler), step: func(string) {}} }

func openLogger(file string, step func(string)) (*logger, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	l := &logger{File: f, log: slog.New(slog.NewTextHandler(f, nil))}
	l.step = func(text string) {
		l.write(slog.LevelInfo, text)
		step(text)
	}
	return l, nil
}

func (l *logger) write(level slog.Level, text string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		l.log.Log(context.Background(), level, strings.TrimSpace(line))
	}
}

// started and ended are how kind marks the beginning and the end of a step.
const (
	started = " • "
	ended   = " ✓ "
)

func (l *logger) Info(text string) {
	if step, ok := strings.CutPrefix(text, started); ok {
		l.step(plain(strings.TrimSuffix(strings.TrimSpace(step), " ...")))
		return
	}
	if !strings.HasPrefix(text, ended) {
		l.write(slog.LevelInfo, text)
	}
}

// plain is text without the pictures that kind puts at the end of its steps.
func plain(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r > 0x2000 {
			return -1
		}
		return r
	}, text))
}

func (l *logger) Infof(format string, args ...any)  { l.Info(fmt.Sprintf(format, args...)) }
func (l *logger) Warn(text string)                  { l.write(slog.LevelWarn, text) }
func (l *logger) Warnf(format string, args ...any)  { l.Warn(fmt.Sprintf(format, args...)) }
func (l *logger) Error(text string)                 { l.write(slog.LevelError, text) }
func (l *logger) Errorf(format string, args ...any) { l.Error(fmt.Sprintf(format, args...)) }

// V implements log.Logger: kind's details are for its own makers.
func (l *logger) V(level log.Level) log.InfoLogger {
	if level > 0 {
		return log.NoopInfoLogger{}
	}
	return l
}

// Enabled implements log.InfoLogger.
func (l *logger) Enabled() bool { return true }

// outputLines of a command that failed are kept in an error.
const outputLines = 12

// withOutput adds to an error of kind's the last lines of the command that has
// failed, which kind leaves to its own program to show.
func withOutput(err error) error {
	r := exec.RunErrorForError(err)
	if r == nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(r.Output)), "\n")
	if n := len(lines); n > outputLines {
		lines = lines[n-outputLines:]
	}
	return errors.Join(err, errors.New(strings.Join(lines, "\n")))
}
