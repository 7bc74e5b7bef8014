package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// followPoll is how often a followed log is read.
const followPoll = 200 * time.Millisecond

// LogQuery chooses lines of a log.
type LogQuery struct {
	// Since is zero for all. Lines without a time go with the one before, and
	// a log without any time with the time of its last change.
	Since time.Time
	Lines int // that many of the last ones; negative for all
}

// ErrLogGone says that a log that was followed has been removed.
var ErrLogGone = errors.New("the log has been removed")

// ReadLog writes the chosen lines of a log to w, beginning with those in the
// file that was put aside when the log had grown large.
func ReadLog(w io.Writer, path string, q LogQuery) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return writeLog(w, path, f, q)
}

// FollowLog writes the chosen lines and then everything that is added, until
// ctx ends, which is the error then. It goes on when the program is started
// again and when the log is put aside for a new one.
func FollowLog(ctx context.Context, w io.Writer, path string, q LogQuery) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	if err := writeLog(w, path, f, q); err != nil {
		return err
	}
	tick := time.NewTicker(followPoll)
	defer tick.Stop()
	missing := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		next, err := os.Open(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && missing:
			return fmt.Errorf("%s: %w", path, ErrLogGone)
		case errors.Is(err, fs.ErrNotExist):
			missing = true // between being put aside and being made anew
			continue
		case err != nil:
			return err
		}
		missing = false
		// compared before the rest is read: a rotated log is not written to
		same, err := sameLog(f, next)
		if err == nil {
			_, err = io.Copy(w, f)
		}
		if err == nil && !same {
			f, next = next, f
			_, err = io.Copy(w, f)
		}
		next.Close()
		if err != nil {
			return err
		}
	}
}

// sameLog reports whether the open log is still the one at its path, and goes
// back to the beginning of one that has been truncated.
func sameLog(open, present *os.File) (bool, error) {
	ours, err := open.Stat()
	if err != nil {
		return false, err
	}
	theirs, err := present.Stat()
	if err != nil {
		return false, err
	}
	if !os.SameFile(ours, theirs) {
		return false, nil
	}
	at, err := open.Seek(0, io.SeekCurrent)
	if err == nil && ours.Size() < at {
		_, err = open.Seek(0, io.SeekStart)
	}
	return true, err
}

// writeLog writes the chosen lines of the log whose present file is open. It
// leaves that at its end.
func writeLog(w io.Writer, path string, present *os.File, q LogQuery) error {
	old, err := openRotated(path, present, q)
	if err != nil {
		return err
	}
	var chosen [][]byte
	if old != nil {
		defer old.Close()
		if chosen, err = linesSince(old, q.Since); err != nil {
			return err
		}
	}
	lines, err := linesSince(present, q.Since)
	if err != nil {
		return err
	}
	chosen = append(chosen, lines...)
	if q.Lines >= 0 {
		chosen = chosen[max(0, len(chosen)-q.Lines):]
	}
	_, err = w.Write(bytes.Join(chosen, nil))
	return err
}

// openRotated opens the older part of a log, nil when there is none that matters.
func openRotated(path string, present *os.File, q LogQuery) (*os.File, error) {
	old, err := os.Open(path + rotatedSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := old.Stat()
	if err == nil && !info.ModTime().Before(q.Since) {
		// what is open may have been put aside this very moment
		if now, statErr := present.Stat(); statErr == nil && !os.SameFile(now, info) {
			return old, nil
		}
	}
	return nil, errors.Join(err, old.Close())
}

// linesSince reads the lines of a log that are not older; a zero time is all.
func linesSince(f *os.File, since time.Time) (chosen [][]byte, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	now, last := time.Now(), time.Time{} // the time of the line before
	for line := range bytes.Lines(b) {
		t, ok := lineTime(line, now)
		if ok && last.IsZero() && t.Before(since) {
			chosen = nil // the lines before the first time go with it
		}
		if ok {
			last = t
		}
		if last.IsZero() || !last.Before(since) {
			chosen = append(chosen, line)
		}
	}
	if last.IsZero() && info.ModTime().Before(since) {
		return nil, nil
	}
	return chosen, nil
}

// lineTime finds the time that a line of a log begins with or names early, in
// the ways of the programs of a sandbox. Lines without one belong to the
// one before: a stack trace, a message of several lines. Times without a zone
// are local, as the programs mean them; now is for those without a year.
func lineTime(line []byte, now time.Time) (time.Time, bool) {
	for _, form := range []func([]byte, time.Time) (time.Time, bool){keyTime, jsonTime, klogTime, plainTime} {
		if t, ok := form(line, now); ok {
			return t, true
		}
	}
	return time.Time{}, false
}

// keyTime reads time=2025-03-01T10:00:00.5Z level=INFO, of log/slog.
func keyTime(line []byte, _ time.Time) (time.Time, bool) {
	value, ok := bytes.CutPrefix(line, []byte("time="))
	if !ok {
		return time.Time{}, false
	}
	value, _, _ = bytes.Cut(value, []byte(" "))
	return parsed(time.RFC3339Nano, string(bytes.Trim(value, "\"\n")))
}

// jsonTime reads {"level":"info","ts":"2025-03-01T10:00:00.5Z"}, of zap. Only
// the beginning is looked at: further on it would be a time in the message.
func jsonTime(line []byte, _ time.Time) (time.Time, bool) {
	const early = 100
	if !bytes.HasPrefix(line, []byte("{")) {
		return time.Time{}, false
	}
	for _, key := range []string{`"ts":"`, `"time":"`} {
		at := bytes.Index(line[:min(len(line), early)], []byte(key))
		if at < 0 {
			continue
		}
		value, _, _ := bytes.Cut(line[at+len(key):], []byte(`"`))
		return parsed(time.RFC3339Nano, string(value))
	}
	return time.Time{}, false
}

// klogTime reads I0301 10:00:00.500000 of Kubernetes. It has no year: the one
// is taken that makes it the latest time that is not to come.
func klogTime(line []byte, now time.Time) (time.Time, bool) {
	const form = "0102 15:04:05.000000"
	if len(line) < 1+len(form) || !bytes.ContainsRune([]byte("IWEF"), rune(line[0])) {
		return time.Time{}, false
	}
	t, ok := parsed(form, string(line[1:1+len(form)]))
	if !ok {
		return time.Time{}, false
	}
	t = t.AddDate(now.Year(), 0, 0) // the year 0 has a 29 February
	if t.After(now.Add(24 * time.Hour)) {
		t = t.AddDate(-1, 0, 0)
	}
	return t, true
}

// plainTime reads 2025/03/01 10:00:00 of package log and of Gitea, and RFC 3339.
func plainTime(line []byte, _ time.Time) (time.Time, bool) {
	const form = "2006/01/02 15:04:05"
	if len(line) >= len(form) {
		if t, ok := parsed(form, string(line[:len(form)])); ok {
			return t, true
		}
	}
	first, _, _ := bytes.Cut(line, []byte(" "))
	return parsed(time.RFC3339Nano, string(bytes.TrimSpace(first)))
}

func parsed(form, value string) (time.Time, bool) {
	t, err := time.ParseInLocation(form, value, time.Local)
	return t, err == nil
}

const (
	logLimit  = 16 << 20
	tailBytes = 16 << 10
	// rotatedSuffix ends the name of the file that an earlier, large part of a
	// log is kept in.
	rotatedSuffix = ".1"
)

// openLog opens a log for appending. One that has grown large is kept once as
// FILE.1, so that logs never fill a disk over many starts.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
		if err := os.Rename(path, path+rotatedSuffix); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// Tail returns the last lines of a file; none when it cannot be read.
func Tail(path string, lines int) []string {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return nil
		}
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil
	}
	b = bytes.TrimRight(b, "\n")
	if len(b) == 0 {
		return nil
	}
	all := strings.Split(string(b), "\n")
	return all[max(0, len(all)-lines):]
}
