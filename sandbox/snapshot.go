package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Snapshot is the data of a sandbox's world at one instant, kept in the
// sandbox's home under a name.
type Snapshot struct {
	Name     string    `json:"name"`
	Created  time.Time `json:"created"`
	Bytes    int64     `json:"bytes"`    // that it takes on disk
	Version  string    `json:"version"`  // of the kalypso that saved it
	ID       string    `json:"id"`       // of the sandbox, see State
	Workshop string    `json:"workshop"` // see State
	// Still is how long the sandbox stood still for it; 0 for one that was
	// down.
	Still time.Duration `json:"stillNanoseconds"`
}

const (
	snapshotFolder = "snapshots"
	snapshotFile   = "snapshot.json"
	snapshotData   = "data"
)

// names are also those of folders, and are typed into shells
var snapshotName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func checkSnapshotName(name string) error {
	if snapshotName.MatchString(name) {
		return nil
	}
	return &UsageError{fmt.Sprintf("%q is no name for a snapshot: use up to 63 of a-z, 0-9 and -, not beginning or ending with -", name)}
}

func (h Home) snapshot(elem ...string) string {
	return h.Path(append([]string{snapshotFolder}, elem...)...)
}

// Snapshots are those of the sandbox, the oldest first. The error is
// ErrNoSandbox without one.
func Snapshots(h Home) ([]Snapshot, error) {
	if !h.Exists() {
		return nil, ErrNoSandbox
	}
	entries, err := os.ReadDir(h.snapshot())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := []Snapshot{}
	for _, e := range entries {
		if !e.IsDir() || checkSnapshotName(e.Name()) != nil {
			continue
		}
		s, err := h.readSnapshot(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is just being deleted
		}
		if err != nil {
			return nil, err
		}
		all = append(all, *s)
	}
	slices.SortStableFunc(all, func(a, b Snapshot) int { return a.Created.Compare(b.Created) })
	return all, nil
}

func (h Home) readSnapshot(name string) (*Snapshot, error) {
	b, err := os.ReadFile(h.snapshot(name, snapshotFile))
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", name, err)
	}
	var s Snapshot
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("snapshot %s: %w; `kalypso snapshot delete %s` removes it", name, err, name)
	}
	s.Name = name
	return &s, nil
}

// findSnapshot is a *UsageError for a snapshot that there is not.
func (h Home) findSnapshot(name string) (*Snapshot, error) {
	if err := checkSnapshotName(name); err != nil {
		return nil, err
	}
	s, err := h.readSnapshot(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, h.unknownSnapshot(name)
	}
	return s, err
}

func (h Home) unknownSnapshot(name string) error {
	all, err := Snapshots(h)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return &UsageError{fmt.Sprintf("there is no snapshot %q, nor any other: `kalypso snapshot save %s` makes it", name, name)}
	}
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return unknown("snapshot", name, names)
}

// DeleteSnapshot removes a snapshot. The error is a *UsageError for one that
// there is not.
func DeleteSnapshot(h Home, name string) error {
	if !h.Exists() {
		return ErrNoSandbox
	}
	if err := checkSnapshotName(name); err != nil {
		return err
	}
	// out of the list first: half a snapshot is never seen
	old, err := h.aside("old-")
	if err != nil {
		return err
	}
	err = os.Rename(h.snapshot(name), h.Path(old, filepath.Base(name)))
	if errors.Is(err, fs.ErrNotExist) {
		err = h.unknownSnapshot(name)
	}
	return errors.Join(err, removeAll(h.Path(old)))
}

// checkSnapshots is a *UsageError where the clusters' data is not in the home.
func (s *State) checkSnapshots() error {
	if len(s.Existing) > 0 {
		return &UsageError{"snapshots are of embedded clusters, and this sandbox uses a cluster that was there before, whose data is not its own"}
	}
	if s.Provider == ProviderEmbedded {
		return nil
	}
	return &UsageError{fmt.Sprintf("snapshots are of embedded clusters, and this sandbox has %s clusters, whose data is not among its own", s.Provider)}
}
