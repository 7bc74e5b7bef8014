package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Data are the paths below the home of all that a workshop changes: what reset
// makes anew and snapshots hold. Programs, logs, certificates and the nodes'
// images are not among it, nor is what never changes in a sandbox.
var Data = []string{
	"gitea", "clusters/etcd", "clusters/etcd.answered", "flux", "argocd", "arc", "scheduler", Hub, "runner", "scenarios", stoppedFile, changesFile,
}

// replacement is a write-ahead record of one replacement of data. Interrupted at
// any instant, the next start finishes it, and until then nothing may run.
//
// First everything old moves out; only when that is recorded, what is new moves
// in. So a path that exists is old in the first stage, and new in the second.
type replacement struct {
	What  string   `json:"what"`  // for messages
	Stage string   `json:"stage"` // movingOut or movingIn
	Paths []string `json:"paths"` // below the home
	Old   string   `json:"old"`   // folder below the home that takes the old data
	New   string   `json:"new"`   // the one that holds the new data; "" for none
}

const (
	stagingFolder   = "aside" // of data that moves in or out
	replacementFile = stagingFolder + "/change.json"
	movingOut       = "out"
	movingIn        = "in"
)

// IncompleteError is about a replacement of data that has begun and is not
// done. Nothing may run on such data.
type IncompleteError struct{ Err error }

func (e *IncompleteError) Error() string { return e.Err.Error() + "; `kalypso up` goes on with it" }
func (e *IncompleteError) Unwrap() error { return e.Err }

// Stage makes a folder for data that is to move in, and returns its path below
// the home.
func (h Home) Stage(pattern string) (string, error) {
	if err := os.MkdirAll(h.Path(stagingFolder), 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(h.Path(stagingFolder), pattern)
	if err != nil {
		return "", err
	}
	return filepath.Join(stagingFolder, filepath.Base(dir)), nil
}

// Replace moves the data at the paths out, and that of the staging folder
// incoming in, "" for none. With an *IncompleteError it has begun; with any other
// error nothing has changed. Sweep removes what was replaced.
func (h Home) Replace(what string, paths []string, incoming string) error {
	old, err := h.Stage("old-")
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	r := &replacement{What: what, Stage: movingOut, Paths: paths, Old: old, New: incoming}
	if err := h.note(r); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return h.finish(r)
}

func (h Home) note(r *replacement) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return WriteFile(h.Path(replacementFile), b)
}

// ReplacementPending reports whether a replacement has been interrupted.
func (h Home) ReplacementPending() (bool, error) {
	_, err := os.Stat(h.Path(replacementFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// FinishReplacement finishes a replacement that was interrupted, and returns its
// name, "" if there is none. Nothing of the sandbox may run.
func (h Home) FinishReplacement() (string, error) {
	b, err := os.ReadFile(h.Path(replacementFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var r replacement
	if err := json.Unmarshal(b, &r); err != nil {
		return "", fmt.Errorf("%s: %w; `kalypso down --delete` removes the sandbox", h.Path(replacementFile), err)
	}
	return r.What, h.finish(&r)
}

func (h Home) finish(r *replacement) error {
	err := h.moveOut(r)
	if err == nil {
		err = h.moveIn(r)
	}
	if err == nil {
		err = os.Remove(h.Path(replacementFile))
	}
	if err != nil {
		return &IncompleteError{fmt.Errorf("%s: %w", r.What, err)}
	}
	return nil
}

func (h Home) moveOut(r *replacement) error {
	if r.Stage != movingOut {
		return nil
	}
	for _, p := range r.Paths {
		if err := h.move(p, filepath.Join(r.Old, p)); err != nil {
			return err
		}
	}
	r.Stage = movingIn
	return h.note(r)
}

func (h Home) moveIn(r *replacement) error {
	if r.New == "" {
		return nil
	}
	for _, p := range r.Paths {
		if err := h.move(filepath.Join(r.New, p), p); err != nil {
			return err
		}
	}
	return nil
}

// incoming is where a path of the home is that an interrupted replacement has not
// moved in yet.
func (h Home) incoming(path string) string {
	var r replacement
	if b, err := os.ReadFile(h.Path(replacementFile)); err != nil || json.Unmarshal(b, &r) != nil {
		return h.Path(path)
	}
	return h.Path(r.New, path)
}

// move renames a path, unless it has been moved already.
func (h Home) move(from, to string) error {
	if _, err := os.Lstat(h.Path(from)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.Path(to)), 0o700); err != nil {
		return err
	}
	return os.Rename(h.Path(from), h.Path(to))
}

// Sweep returns a function that removes data that was replaced. What it is to
// remove is listed now; the function may be called later, also at the same time
// as another's.
func (h Home) Sweep() (remove func() error) {
	if pending, _ := h.ReplacementPending(); pending {
		return func() error { return nil } // the replacement needs it
	}
	left, err := os.ReadDir(h.Path(stagingFolder))
	return func() error {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		var all []error
		for _, e := range left {
			all = append(all, RemoveAll(h.Path(stagingFolder, e.Name())))
		}
		return errors.Join(all...)
	}
}
