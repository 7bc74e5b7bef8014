package builder

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/recipe"
)

// keep is how many entries of one component stay in the cache for each platform.
const keep = 3

// An entry is an archive in the cache and what is known about it. Its record
// is written last, so that an archive with a record is whole.
type entry struct {
	Key       string               `json:"key"`
	Platform  string               `json:"platform"`
	Component components.Component `json:"component"`
	// path is where the archive lies.
	path string
}

// A cache holds the archives of one component.
type cache struct{ dir, name string }

func (c cache) archive(key string) string {
	return filepath.Join(c.dir, c.name+"-"+key[:keyLen]+".tar.zst")
}

func (c cache) record(key string) string {
	return filepath.Join(c.dir, c.name+"-"+key[:keyLen]+".json")
}

// lockPoll is how often a build tries again to get a lock.
const lockPoll = 50 * time.Millisecond

// lock gets the lock of a file in the cache's folder, and calls wait once if
// another process has it. The lock ends with the process.
func lock(ctx context.Context, path string, wait func()) (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	l := flock.New(path)
	got, err := l.TryLock()
	if err == nil && !got {
		wait()
		_, err = l.TryLockContext(ctx, lockPoll)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return l.Unlock, nil
}

// find returns the entry with that key. One that is damaged counts as absent.
func (c cache) find(key string) (entry, bool) {
	data, err := os.ReadFile(c.record(key))
	if err != nil {
		return entry{}, false
	}
	var e entry
	if json.Unmarshal(data, &e) != nil || e.Key != key {
		return entry{}, false
	}
	e.path = c.archive(key)
	if digest, err := digestOf(e.path); err != nil || digest != e.Component.SHA256 {
		return entry{}, false
	}
	// the time of use decides which entries stay
	now := time.Now()
	_ = os.Chtimes(c.record(key), now, now)
	return e, true
}

// add packs the tree in dir into a new entry. It calls packed with the length of each file
// that is packed, and of all.
func (c cache) add(dir, key, platform string, comp components.Component, packed func(done, all int64)) (entry, error) {
	e := entry{Key: key, Platform: platform, path: c.archive(key)}
	tmp, err := os.CreateTemp(c.dir, c.name+"-*.tmp")
	if err != nil {
		return entry{}, err
	}
	defer os.Remove(tmp.Name())
	digest := sha256.New()
	comp.Files, err = writeArchive(io.MultiWriter(tmp, digest), dir, components.LicensesFile, packed)
	info, statErr := tmp.Stat()
	if err := errors.Join(err, statErr, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return entry{}, err
	}
	comp.SHA256, comp.Size = hex.EncodeToString(digest.Sum(nil)), info.Size()
	e.Component = comp
	// an old record must not vouch for a new archive
	if err := os.Remove(c.record(key)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return entry{}, err
	}
	if err := os.Rename(tmp.Name(), e.path); err != nil {
		return entry{}, err
	}
	data, err := json.Marshal(e)
	if err != nil {
		return entry{}, err
	}
	return e, writeFile(c.record(key), data)
}

// trim removes all entries but the most recently used of each platform, and what
// interrupted builds have left.
func (c cache) trim() error {
	records, err := filepath.Glob(filepath.Join(c.dir, c.name+"-*.json"))
	if err != nil {
		return err
	}
	used := map[string]time.Time{}
	for _, r := range records {
		info, err := os.Stat(r)
		if err != nil {
			return err
		}
		used[r] = info.ModTime()
	}
	slices.SortFunc(records, func(a, b string) int { return cmp.Or(used[b].Compare(used[a]), cmp.Compare(a, b)) })
	recent, kept := map[string]bool{}, map[string]int{}
	for _, r := range records {
		var e entry
		if data, err := os.ReadFile(r); err != nil {
			return err
		} else if json.Unmarshal(data, &e) != nil {
			continue // damaged, and so never found
		}
		if kept[e.Platform]++; kept[e.Platform] <= keep {
			recent[strings.TrimSuffix(r, ".json")] = true
		}
	}
	all, err := filepath.Glob(filepath.Join(c.dir, c.name+"-*"))
	if err != nil {
		return err
	}
	for _, path := range all {
		stem := strings.TrimSuffix(strings.TrimSuffix(path, ".json"), ".tar.zst")
		if recent[stem] {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// writeFile replaces a file as a whole, unless it has that content already: an
// untouched file keeps its time, and saves the compiler's work.
func writeFile(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == string(data) {
		return nil
	}
	return renameio.WriteFile(path, data, 0o644)
}

// format is raised when what all archives have in common changes.
const format = 1

// keyLen is how much of a key the names of files and messages show.
const keyLen = 12

// keyOf digests all that decides what is in a component's archive: the content
// of its folder, which pins every module and tool; the recipe; the Go
// toolchain and the platform.
func keyOf(ctx context.Context, dir string, r recipe.Recipe) (key, platform string, err error) {
	toolchain, platform, err := recipe.Toolchain(ctx, dir)
	if err != nil {
		return "", "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "format %d\ncomponent %q\n", format, r.Name)
	for _, line := range append(r.Inputs(), toolchain...) {
		fmt.Fprintf(h, "%q\n", line)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return digestFile(h, path, filepath.ToSlash(rel))
	})
	if err != nil {
		return "", "", err
	}
	return hex.EncodeToString(h.Sum(nil)), platform, nil
}

// digestFile writes the name, length and content of a file, in a form that no
// other files have.
func digestFile(w io.Writer, path, name string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "file %q %d\n", name, len(data))
	_, err = w.Write(data)
	return err
}
