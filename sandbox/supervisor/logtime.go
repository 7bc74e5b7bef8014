package supervisor

import (
	"bytes"
	"time"
)

// lineTime finds the time that a line of a log begins with or names early, in
// the ways of the programs of a sandbox. Lines that tell none belong to the
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
// the beginning is looked at: further on it would be somebody else's time.
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
