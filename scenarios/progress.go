package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/kalypso-dev/kalypso/internal/atomicfile"
)

const (
	// lockLimit is how long a change waits for that of another process, which takes
	// milliseconds.
	lockLimit = 10 * time.Second
	lockPoll  = 20 * time.Millisecond
)

// Progress is how far a user has come in learning: the titles of the steps
// that are done, by workshop and scenario. It is kept in a file, and says
// nothing about the sandbox.
//
// A terminal and the hub's pages write the same file: a change is made to what the
// file has then, under a lock, so that none is lost. What others have changed is
// seen by Reload, and after each change. A Progress is for one goroutine at a time.
type Progress struct {
	file string
	Done map[string][]string `json:"done"` // by WORKSHOP/NAME
}

// LoadProgress reads a user's progress; a file that is not there is none.
func LoadProgress(file string) (*Progress, error) {
	p := &Progress{file: file, Done: map[string][]string{}}
	return p, p.Reload()
}

// Reload reads the file again. A progress without a file stays as it is.
func (p *Progress) Reload() error {
	if p.file == "" {
		return nil
	}
	read := Progress{Done: map[string][]string{}}
	b, err := os.ReadFile(p.file)
	if err == nil {
		err = json.Unmarshal(b, &read)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("progress of learning: %w; `kalypso scenario reset` forgets it", err)
	}
	if p.Done = read.Done; p.Done == nil {
		p.Done = map[string][]string{}
	}
	return nil
}

// Of returns how many steps of a scenario are done, of those it has today.
func (p *Progress) Of(info Info) int {
	n := 0
	for _, step := range info.Steps {
		if p.Has(info, step.Title) {
			n++
		}
	}
	return n
}

// Has says whether a step is done.
func (p *Progress) Has(info Info, title string) bool {
	return slices.Contains(p.Done[key(info)], title)
}

func key(info Info) string { return info.Workshop + "/" + info.Name }

// Add notes that a step is done.
func (p *Progress) Add(info Info, title string) error {
	if p.Has(info, title) {
		return nil
	}
	return p.change(func() {
		if !p.Has(info, title) {
			p.Done[key(info)] = append(p.Done[key(info)], title)
		}
	})
}

// Remove forgets a step that is not done any more.
func (p *Progress) Remove(info Info, title string) error {
	return p.change(func() {
		p.Done[key(info)] = slices.DeleteFunc(p.Done[key(info)], func(t string) bool { return t == title })
	})
}

// change edits what the file has now, and writes it.
func (p *Progress) change(edit func()) error {
	if p.file == "" {
		edit()
		return nil
	}
	unlock, err := lock(p.file)
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.Reload(); err != nil {
		return err
	}
	edit()
	b, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = atomicfile.Write(p.file, append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("progress of learning: %w", err)
	}
	return nil
}

// lock keeps others from changing the file. The lock is a file of its own: that with
// the progress is another one after each change.
func lock(file string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("progress of learning: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockLimit)
	defer cancel()
	l := flock.New(file+".lock", flock.SetPermissions(0o600))
	if _, err := l.TryLockContext(ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("progress of learning: another process has had %s.lock for %s: %w", file, lockLimit, err)
	}
	return func() { _ = l.Close() }, nil // which unlocks it
}

// ForgetProgress removes the file. One that is not there is forgotten already.
func ForgetProgress(file string) error {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := lock(file)
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
