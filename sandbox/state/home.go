// Package state is what a sandbox keeps on disk: its folder, the lock on it,
// and what must stay the same from one start to the next. Every other package
// of the sandbox reads it from here, so that a choice of the user is written
// down once.
package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-dev/kalypso/internal/atomicfile"
	"github.com/kalypso-dev/kalypso/internal/posix"
	"github.com/kalypso-dev/kalypso/internal/usage"
)

// MaxSocketPath is the shortest limit on the length of a unix socket's path
// among the platforms that kalypso runs on (macOS; Linux allows 107).
const MaxSocketPath = 103

// Home is the folder that holds everything of one sandbox. Removing it, once
// nothing runs in it, removes the sandbox.
type Home string

// FindHome returns the folder that $KALYPSO_HOME names, or ~/.kalypso.
func FindHome() (Home, error) {
	dir := os.Getenv("KALYPSO_HOME")
	if dir == "" {
		own, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no folder for the sandbox: set KALYPSO_HOME to one: %w", err)
		}
		dir = filepath.Join(own, ".kalypso")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("KALYPSO_HOME: %w", err)
	}
	h := Home(dir)
	if n := len(h.Socket()); n > MaxSocketPath {
		return "", usage.Errorf("KALYPSO_HOME %s is too long: its control socket's path has %d characters and the system allows %d; set KALYPSO_HOME to a shorter path", dir, n, MaxSocketPath)
	}
	if i := strings.IndexFunc(dir, unusable); (i >= 0 || !utf8.ValidString(dir)) && !h.Exists() {
		return "", usage.Errorf("KALYPSO_HOME %q has a character that Gitea, CoreDNS or kubectl cannot have in a path%s: set KALYPSO_HOME to a path without it", dir, named(dir, i))
	}
	for parent := dir; ; parent = filepath.Dir(parent) {
		info, err := os.Stat(parent)
		if err == nil && !info.IsDir() {
			return "", usage.Errorf("KALYPSO_HOME %s: %s is a file: name a folder, or a path at which one can be made", dir, parent)
		}
		if err == nil || parent == filepath.Dir(parent) {
			return h, h.checkOpen()
		}
	}
}

// checkOpen returns a *usage.Error for a folder that is closed to this user, or
// lies in one that is.
func (h Home) checkOpen() error {
	f, err := os.Open(string(h))
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrPermission) {
		return nil // it is not there yet
	}
	closed := string(h)
	info, err := os.Stat(closed)
	for err != nil && closed != filepath.Dir(closed) {
		closed = filepath.Dir(closed)
		info, err = os.Stat(closed)
	}
	if err != nil {
		return usage.Errorf("%s cannot be entered: set KALYPSO_HOME to a folder of your own", h)
	}
	uid, _, ok := posix.Owner(info)
	if !ok || uid == os.Geteuid() {
		return usage.Errorf("%s cannot be entered, although it is yours: `chmod u+rwx %s`, or set KALYPSO_HOME to another folder", closed, closed)
	}
	name := fmt.Sprintf("user %d", uid)
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		name = u.Username
	}
	return usage.Errorf("%s belongs to %s and is closed to you: set KALYPSO_HOME to a folder of your own, or run kalypso as %s", closed, name, name)
}

// unusable reports whether a path with a character works in no sandbox: it would
// be a variable, an escape or a comment to Gitea's or CoreDNS's settings, part of a
// URL to SQLite, a pattern, or what separates the files of KUBECONFIG.
func unusable(r rune) bool {
	return unicode.IsControl(r) || strings.ContainsRune("\"#$%*:;<>?[\\]`{|}", r)
}

// named is the character at an index in words, "" for none.
func named(text string, i int) string {
	if i < 0 {
		return ""
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return fmt.Sprintf(" (%q)", r)
}

// Path returns a path below the folder.
func (h Home) Path(elem ...string) string {
	return filepath.Join(append([]string{string(h)}, elem...)...)
}

// Socket is the unix socket of the daemon's API.
func (h Home) Socket() string { return h.Path("daemon.sock") }

// Contains reports whether a file lies below the folder.
func (h Home) Contains(file string) bool {
	rel, err := filepath.Rel(string(h), file)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// EtcdSocket is where the clusters' etcd listens. Its path is no longer than
// that of Socket, whose length has been checked.
func (h Home) EtcdSocket() string { return h.Path("etcd.sock") }

// Components is the folder of the unpacked components.
func (h Home) Components() string { return h.Path("components") }

// Children is the folder in which supervised processes are registered.
func (h Home) Children() string { return h.Path("children") }

// Log is the log file of a component.
func (h Home) Log(component string) string { return h.Path("logs", component+".log") }

// Kubeconfig has a context for each cluster of the sandbox.
func (h Home) Kubeconfig() string { return h.Path("kubeconfig") }

func (h Home) stateFile() string { return h.Path("sandbox.json") }

// Exists reports whether there is a sandbox here.
func (h Home) Exists() bool {
	_, err := os.Stat(h.stateFile())
	return err == nil
}

// owned are the names of everything that a sandbox has directly in its home,
// the state first. `down --delete` removes these and nothing else.
var owned = []string{
	"sandbox.json", "daemon.lock", "daemon.pid", "daemon.sock", "etcd.sock", "kubeconfig",
	"components", "logs", "clusters", "gitea", "flux", "argocd", "arc", "scheduler", Hub, "runner", "scenarios", shareFolder, "children", "tmp",
	"snapshots", newWorkshopFolder, WorkshopFolder, stagingFolder,
}

// Create makes the folder, or returns an error that says why it cannot be a
// sandbox's.
func (h Home) Create() error {
	if err := h.CheckOthers(); err != nil {
		return err
	}
	if err := os.MkdirAll(string(h), 0o700); err != nil {
		return fmt.Errorf("no folder for the sandbox: %w; set KALYPSO_HOME to a folder that can be written", err)
	}
	return h.KeepPrivate()
}

// CheckOthers returns a *usage.Error for a folder that holds other things and no
// sandbox: making one there would mix them up, and deleting it could take them
// along.
func (h Home) CheckOthers() error {
	if h.Exists() {
		return nil
	}
	entries, err := os.ReadDir(string(h))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "daemon.lock", name == "daemon.pid", name == "daemon.sock", name == "logs":
			// of a start that was interrupted before the state was written
		case strings.HasPrefix(name, ".sandbox.json"), strings.HasPrefix(name, ".daemon.pid"), name == newWorkshopFolder, name == WorkshopFolder:
			// of a write that was interrupted
		default:
			return usage.Errorf("%s holds other things already (%s): set KALYPSO_HOME to an empty or a new folder", h, name)
		}
	}
	return nil
}

// KeepPrivate takes the folder's rights away from everybody but its owner. All
// that is in it relies on that: sockets without a password of their own, keys,
// and the programs that the sandbox runs.
func (h Home) KeepPrivate() error {
	info, err := os.Stat(string(h))
	if err != nil {
		return err
	}
	if uid, _, ok := posix.Owner(info); ok && uid != os.Geteuid() {
		return usage.Errorf("%s belongs to another user (ID %d), who could change what the sandbox runs: set KALYPSO_HOME to a folder of your own", h, uid)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return os.Chmod(string(h), 0o700)
}

// Remove deletes what a sandbox has in its home, the state last: as long as it
// is there, `down --delete` can be called again. Files of others stay, and so do
// those that match one of the patterns below the home.
func (h Home) Remove(keep ...string) error {
	var kept []string
	for _, pattern := range keep {
		some, err := filepath.Glob(h.Path(filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		kept = append(kept, some...)
	}
	for i := len(owned) - 1; i >= 0; i-- {
		if err := removeBut(h.Path(owned[i]), kept); err != nil {
			return err
		}
	}
	for _, name := range []string{".sandbox.json*", ".kubeconfig*", ".daemon.pid*"} {
		left, err := filepath.Glob(h.Path(name)) // of writes that were interrupted
		for _, f := range left {
			err = errors.Join(err, os.Remove(f))
		}
		if err != nil {
			return err
		}
	}
	err := os.Remove(string(h))
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return nil
	}
	return err
}

// removeBut removes a file or folder, but not the files and folders to keep in it.
func removeBut(path string, kept []string) error {
	if slices.Contains(kept, path) {
		return nil
	}
	if !slices.ContainsFunc(kept, func(k string) bool { return Home(path).Contains(k) }) {
		return RemoveAll(path)
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		err = errors.Join(err, removeBut(filepath.Join(path, e.Name()), kept))
	}
	return err
}

// RemoveAll removes a file or folder with all that is in it. Argo CD takes from
// its folder of repositories the right to be listed, which stops everybody but
// root, so folders are made readable first where that is needed.
func RemoveAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && err == nil {
			return os.Chmod(name, 0o700) // before it is read
		}
		return nil
	})
	return os.RemoveAll(path)
}

// WriteFile replaces a file in one step, readable by its owner only: a reader,
// or a start after a power cut, sees the old content or the new one.
func WriteFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(path, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
