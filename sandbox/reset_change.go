package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// worldData is all that a workshop's world consists of: what reset makes anew
// and snapshots hold. Programs, logs, certificates and the nodes' images are
// not among it, nor is what never changes in a sandbox.
var worldData = []string{
	"gitea", "clusters/etcd", "clusters/etcd.answered", "flux", "argocd", "arc", "scheduler", "runner", "scenarios", awayFile,
}

// change is an exchange of data, noted on disk before it begins. Cut off at
// any instant, it is finished by the next who comes, and until then nothing
// may run.
//
// First everything old goes out; only when that is noted, what is new comes
// in. So a path that is there means the old in the first stage, and the new in
// the second.
type change struct {
	What  string   `json:"what"`  // for people
	Stage string   `json:"stage"` // goingOut or comingIn
	Paths []string `json:"paths"` // below the home
	Old   string   `json:"old"`   // folder below the home that takes what goes
	New   string   `json:"new"`   // the one that holds what comes; "" for nothing
}

const (
	asideFolder = "aside" // of data that is on its way in or out
	changeFile  = asideFolder + "/change.json"
	goingOut    = "out"
	comingIn    = "in"
)

// aside makes a folder for data on its way, and returns its path below the
// home.
func (h Home) aside(pattern string) (string, error) {
	if err := os.MkdirAll(h.Path(asideFolder), 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(h.Path(asideFolder), pattern)
	if err != nil {
		return "", err
	}
	return filepath.Join(asideFolder, filepath.Base(dir)), nil
}

// apply does a change. With a *halfwayError it has begun; with any other error
// nothing has changed. What was replaced is left aside, for sweep.
func (h Home) apply(what string, paths []string, incoming string) error {
	old, err := h.aside("old-")
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	c := &change{What: what, Stage: goingOut, Paths: paths, Old: old, New: incoming}
	if err := h.note(c); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return h.finish(c)
}

func (h Home) note(c *change) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return writeFile(h.Path(changeFile), b, 0o600)
}

// finishChange finishes a change that was cut off, and returns its name, "" if
// there is none. Nothing of the sandbox may run.
func (h Home) finishChange() (string, error) {
	b, err := os.ReadFile(h.Path(changeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var c change
	if err := json.Unmarshal(b, &c); err != nil {
		return "", fmt.Errorf("%s: %w; `kalypso down --delete` removes the sandbox", h.Path(changeFile), err)
	}
	return c.What, h.finish(&c)
}

func (h Home) finish(c *change) error {
	err := h.goOut(c)
	if err == nil {
		err = h.comeIn(c)
	}
	if err == nil {
		err = os.Remove(h.Path(changeFile))
	}
	if err != nil {
		return &halfwayError{fmt.Errorf("%s: %w", c.What, err)}
	}
	return nil
}

func (h Home) goOut(c *change) error {
	if c.Stage != goingOut {
		return nil
	}
	for _, p := range c.Paths {
		if err := h.move(p, filepath.Join(c.Old, p)); err != nil {
			return err
		}
	}
	c.Stage = comingIn
	return h.note(c)
}

func (h Home) comeIn(c *change) error {
	if c.New == "" {
		return nil
	}
	for _, p := range c.Paths {
		if err := h.move(filepath.Join(c.New, p), p); err != nil {
			return err
		}
	}
	return nil
}

// move renames what is there; it may have been moved already.
func (h Home) move(from, to string) error {
	if _, err := os.Lstat(h.Path(from)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.Path(to)), 0o700); err != nil {
		return err
	}
	return os.Rename(h.Path(from), h.Path(to))
}

// sweep removes what was left aside. It looks before it returns; the rest may
// be called at leisure, also at the same time as another's.
func (h Home) sweep() (remove func() error) {
	if _, err := os.Stat(h.Path(changeFile)); err == nil {
		return func() error { return nil } // it is needed still
	}
	left, err := os.ReadDir(h.Path(asideFolder))
	return func() error {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		var all []error
		for _, e := range left {
			all = append(all, removeAll(h.Path(asideFolder, e.Name())))
		}
		return errors.Join(all...)
	}
}
