// Package snapshot keeps the data of a sandbox at one instant under a name, and
// puts it back. It copies folders while their writers run, and stops these only
// for what has changed during the copy.
package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/state"
)

// Snapshot is the data of a sandbox at one instant.
type Snapshot struct {
	Name     string    `json:"name"`
	Created  time.Time `json:"created"`
	Bytes    int64     `json:"bytes"`    // that it takes on disk
	Version  string    `json:"version"`  // of the kalypso that saved it
	ID       string    `json:"id"`       // of the sandbox, see state.State
	Workshop string    `json:"workshop"` // see state.State
	// Still is how long the sandbox's processes were stopped for it; 0 for a
	// sandbox that was down.
	Still time.Duration `json:"stillNanoseconds"`
}

const (
	infoFile   = "snapshot.json"
	dataFolder = "data"
	// freezeLimit is how long processes may be stopped for a snapshot. Past it,
	// the snapshot is given up.
	freezeLimit = 10 * time.Second
)

// Freezer stops all processes that write. The error of thaw says that one has
// written all the same, or might have.
type Freezer func(ctx context.Context) (thaw func() error, err error)

// names are also those of folders, and are typed into shells
var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func checkName(name string) error {
	if validName.MatchString(name) {
		return nil
	}
	return usage.Errorf("%q is no name for a snapshot: use up to 63 of a-z, 0-9 and -, not beginning or ending with -", name)
}

func folder(h state.Home, elem ...string) string {
	return h.Path(append([]string{"snapshots"}, elem...)...)
}

// saved are the paths below a home that a snapshot holds. The workshop is among them,
// since a reset can begin with another state of it.
var saved = append(slices.Clone(state.Data), state.WorkshopFolder)

// BelongTo are the patterns of the paths below a home that its snapshots fit: a
// sandbox that is removed without them can load its snapshots again.
var BelongTo = []string{"snapshots", "sandbox.json", state.WorkshopFolder, "clusters/*/pki"}

// List returns the sandbox's snapshots, the oldest first. The error is
// state.ErrNoSandbox without a sandbox.
func List(h state.Home) ([]Snapshot, error) {
	if !h.Exists() {
		return nil, state.ErrNoSandbox
	}
	entries, err := os.ReadDir(folder(h))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := []Snapshot{}
	for _, e := range entries {
		if !e.IsDir() || checkName(e.Name()) != nil {
			continue
		}
		s, err := read(h, e.Name())
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

func read(h state.Home, name string) (*Snapshot, error) {
	b, err := os.ReadFile(folder(h, name, infoFile))
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

func unknown(h state.Home, name string) error {
	all, err := List(h)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return usage.Errorf("there is no snapshot %q, nor any other: `kalypso snapshot save %s` makes it", name, name)
	}
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return state.CheckName("snapshot", name, names)
}

// Find returns a snapshot that can be loaded into the sandbox. The error is a
// *usage.Error for one that does not exist or is another sandbox's, and
// state.ErrNoSandbox without a sandbox.
func Find(h state.Home, name string) (*Snapshot, error) {
	of, err := h.Load()
	if err != nil {
		return nil, err
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	s, err := read(h, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, unknown(h, name)
	case err != nil:
		return nil, err
	case s.ID != of.ID && s.Workshop != of.Workshop:
		return nil, usage.Errorf("snapshot %s is of the workshop %s, and this sandbox holds %s", name, s.Workshop, of.Workshop)
	case s.ID != of.ID:
		return nil, usage.Errorf("snapshot %s is of another sandbox, whose ports and addresses are in its data: it fits only there", name)
	}
	return s, nil
}

// Delete removes a snapshot. The error is a *usage.Error for one that does
// not exist.
func Delete(h state.Home, name string) error {
	if !h.Exists() {
		return state.ErrNoSandbox
	}
	if err := checkName(name); err != nil {
		return err
	}
	// out of the list first: half a snapshot is never seen
	old, err := h.Stage("old-")
	if err != nil {
		return err
	}
	err = os.Rename(folder(h, name), h.Path(old, name))
	if errors.Is(err, fs.ErrNotExist) {
		err = unknown(h, name)
	}
	return errors.Join(err, state.RemoveAll(h.Path(old)))
}

// CheckSave returns a *usage.Error for a name that is taken or is no name,
// and for a sandbox whose clusters' data is not in its home.
func CheckSave(h state.Home, of *state.State, name string) error {
	switch err := checkName(name); {
	case err != nil:
		return err
	case len(of.Existing) > 0:
		return usage.Errorf("snapshots are of embedded clusters, and this sandbox uses a cluster that was there before, whose data is not its own")
	case of.Provider != state.ProviderEmbedded:
		return usage.Errorf("snapshots are of embedded clusters, and this sandbox has %s clusters, whose data is not among its own", of.Provider)
	}
	_, err := os.Lstat(folder(h, name))
	if err == nil {
		return usage.Errorf("there is a snapshot %s already: choose another name, or remove it with `kalypso snapshot delete %s`", name, name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Save makes a snapshot; freeze is nil for a sandbox that is down. It gets its
// name when it is whole and on disk.
func Save(ctx context.Context, h state.Home, of *state.State, name, version string, freeze Freezer) (_ *Snapshot, err error) {
	if err := CheckSave(h, of, name); err != nil {
		return nil, err
	}
	partial, err := h.Stage("new-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("save snapshot %s: %w", name, err), os.RemoveAll(h.Path(partial)))
		}
	}()
	s := &Snapshot{Name: name, Version: version, ID: of.ID, Workshop: of.Workshop}
	c := newCopier(string(h), h.Path(partial, dataFolder))
	if err := os.MkdirAll(c.to, 0o700); err != nil {
		return nil, err
	}
	if err := c.pass(ctx, saved); err != nil {
		return nil, err
	}
	s.Created = time.Now().UTC()
	if freeze != nil {
		if s.Still, err = c.passFrozen(ctx, freeze); err != nil {
			return nil, err
		}
	}
	if s.Bytes, err = diskUsage(c.to); err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		os.MkdirAll(folder(h), 0o700),
		state.WriteFile(h.Path(partial, infoFile), append(b, '\n')),
		syncFolder(h.Path(partial)),
	)
	if err == nil {
		err = os.Rename(h.Path(partial), folder(h, name))
	}
	return s, err
}

// passFrozen is a pass while all writers are stopped, and returns for how long
// they were.
func (c *copier) passFrozen(ctx context.Context, freeze Freezer) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, freezeLimit,
		fmt.Errorf("the sandbox would have to stand still for more than %s: save it while it is down", freezeLimit))
	defer cancel()
	began := time.Now()
	thaw, err := freeze(ctx)
	if err != nil {
		return 0, err
	}
	// also when the copying hangs in a call that nothing ends
	stop := context.AfterFunc(ctx, func() { _ = thaw() })
	err = c.pass(ctx, saved)
	stop()
	err = errors.Join(err, thaw())
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return time.Since(began), err
}

// Unpack copies a snapshot's data to a staging folder, on disk, ready for Load.
// The sandbox may run meanwhile.
func Unpack(ctx context.Context, h state.Home, name string) (staged string, err error) {
	if _, err := Find(h, name); err != nil {
		return "", err
	}
	staged, err = h.Stage("new-")
	if err != nil {
		return "", err
	}
	err = newCopier(folder(h, name, dataFolder), h.Path(staged)).pass(ctx, saved)
	if err == nil {
		// one that is deleted meanwhile loses its files before the copy has them
		_, err = Find(h, name)
	}
	if err == nil {
		err = syncFolder(h.Path(staged))
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("load snapshot %s: %w", name, err), os.RemoveAll(h.Path(staged)))
	}
	return staged, nil
}

// Load puts what Unpack has staged in place of the sandbox's data. Nothing of the
// sandbox may run.
func Load(h state.Home, name, staged string) error {
	paths := saved
	if _, err := os.Stat(h.Path(staged, state.WorkshopFolder)); err != nil {
		paths = state.Data // one of a workshop that comes with kalypso, or of an older kalypso
	}
	return h.Replace("load of snapshot "+name, paths, staged)
}
