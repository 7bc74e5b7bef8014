package supervisor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// followPoll is how often a followed log is looked at.
const followPoll = 200 * time.Millisecond

// LogQuery chooses lines of a log.
type LogQuery struct {
	// Since is zero for all. Lines without a time go with the one before, and
	// a log that tells no time at all with the time of its last change.
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
		// looked at before the rest is read: nobody writes to a log put aside
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

// sameLog tells whether the open log is still the one at its path, and goes
// back to the beginning of one that somebody has emptied.
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
	buffered := bufio.NewWriter(w)
	c := chooser{LogQuery: q, w: buffered, now: time.Now(), chosen: true}
	old, err := putAside(path, present, q)
	if err != nil {
		return err
	}
	if old != nil {
		defer old.Close()
		if err := c.read(old); err != nil {
			return err
		}
	}
	return errors.Join(c.read(present), c.flush(), buffered.Flush())
}

// putAside opens the older part of a log, nil when there is none that matters.
func putAside(path string, present *os.File, q LogQuery) (*os.File, error) {
	old, err := os.Open(path + asideSuffix)
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

// chooser writes the lines that a query wants.
type chooser struct {
	LogQuery
	w       *bufio.Writer
	now     time.Time
	decided bool     // a line has told its time, or none needs to
	chosen  bool     // the line before was
	early   [][]byte // lines before one has told its time
	last    [][]byte // with Lines: those that may be among the last, in a ring
	next    int
}

func (c *chooser) read(f *os.File) error {
	lines := bufio.NewReaderSize(f, 64<<10)
	c.decided = c.Since.IsZero()
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := c.take(line); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF && c.decided:
			return nil
		case err == io.EOF:
			info, err := f.Stat()
			if err != nil {
				return err
			}
			return c.decide(info.ModTime())
		case err != nil:
			return err
		}
	}
}

func (c *chooser) take(line []byte) error {
	if !c.Since.IsZero() {
		if t, ok := lineTime(line, c.now); ok {
			if err := c.decide(t); err != nil {
				return err
			}
		}
	}
	switch {
	case !c.decided:
		c.early = append(c.early, line)
		return nil
	case !c.chosen || c.Lines == 0:
		return nil
	case c.Lines < 0:
		_, err := c.w.Write(line)
		return err
	case len(c.last) < c.Lines:
		c.last = append(c.last, line)
	default:
		c.last[c.next] = line
		c.next = (c.next + 1) % c.Lines
	}
	return nil
}

// decide says whether the lines from here on are chosen, and those before when
// none has told its time.
func (c *chooser) decide(t time.Time) error {
	c.decided, c.chosen = true, !t.Before(c.Since)
	early := c.early
	c.early = nil
	for _, line := range early {
		if err := c.take(line); err != nil {
			return err
		}
	}
	return nil
}

// flush writes the last lines, now that it is known which they are.
func (c *chooser) flush() error {
	for i := range c.last {
		if _, err := c.w.Write(c.last[(c.next+i)%len(c.last)]); err != nil {
			return err
		}
	}
	return nil
}
