package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxSocketPath is the shortest limit on the length of a unix socket's path
// among the platforms that kalypso runs on (macOS; Linux allows 107).
const maxSocketPath = 103

// Home is the folder that holds everything of one sandbox. Removing it, once
// nothing runs in it, removes the sandbox.
type Home string

// FindHome returns the folder that $KALYPSO_HOME names, or ~/.kalypso.
func FindHome() (Home, error) {
	dir := os.Getenv("KALYPSO_HOME")
	if dir == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no place for the sandbox: set KALYPSO_HOME to a folder: %w", err)
		}
		dir = filepath.Join(user, ".kalypso")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("KALYPSO_HOME: %w", err)
	}
	h := Home(dir)
	if n := len(h.Socket()); n > maxSocketPath {
		return "", &UsageError{fmt.Sprintf("KALYPSO_HOME %s is too long: its control socket's path has %d characters and the system allows %d; set KALYPSO_HOME to a shorter path", dir, n, maxSocketPath)}
	}
	if file := fileOn(dir); file != "" {
		return "", &UsageError{fmt.Sprintf("KALYPSO_HOME %s: %s is a file: name a folder, or a path at which one can be made", dir, file)}
	}
	return h, nil
}

// fileOn is the file that stands where a folder or one above it is wanted.
func fileOn(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return dir
		case err == nil, dir == filepath.Dir(dir):
			return ""
		}
	}
}

// Path returns a path below the folder.
func (h Home) Path(elem ...string) string {
	return filepath.Join(append([]string{string(h)}, elem...)...)
}

// Socket is the daemon's control door.
func (h Home) Socket() string { return h.Path("daemon.sock") }

// etcdSocket is where the clusters' etcd listens. Its path is no longer than
// that of Socket, whose length has been checked.
func (h Home) etcdSocket() string { return h.Path("etcd.sock") }

// Components is the folder of the unpacked components.
func (h Home) Components() string { return h.Path("components") }

// Log is the log file of a component.
func (h Home) Log(component string) string { return h.Path("logs", component+".log") }

// Kubeconfig has a context for each cluster of the sandbox.
func (h Home) Kubeconfig() string { return h.Path("kubeconfig") }

// keepPrivate takes the folder's rights away from everybody but its owner. All
// that is in it relies on that: sockets without a password of their own, keys,
// and the programs that the sandbox runs.
func (h Home) keepPrivate() error {
	info, err := os.Stat(string(h))
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return &UsageError{fmt.Sprintf("%s belongs to another user (ID %d), who could change what the sandbox runs: set KALYPSO_HOME to a folder of your own", h, owner.Uid)}
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return os.Chmod(string(h), 0o700)
}

// Exists tells whether there is a sandbox here.
func (h Home) Exists() bool {
	_, err := os.Stat(h.stateFile())
	return err == nil
}

func (h Home) stateFile() string { return h.Path("sandbox.json") }

// ErrNoSandbox is returned where a sandbox is needed and none has been made.
var ErrNoSandbox = errors.New("there is no sandbox yet: run `kalypso up`")

// BrokenError is about a sandbox whose state cannot be understood.
type BrokenError struct {
	File string
	Err  error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s: %v; `kalypso down --delete --forget` removes the sandbox", e.File, e.Err)
}
func (e *BrokenError) Unwrap() error { return e.Err }

// LoadState reads what is known about the sandbox. It is ErrNoSandbox when
// none has been made, and a *BrokenError when the file has been damaged.
func (h Home) LoadState() (*State, error) {
	b, err := os.ReadFile(h.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoSandbox
	}
	if err != nil {
		return nil, err
	}
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, &BrokenError{h.stateFile(), err}
	}
	s.Provider = cmp.Or(s.Provider, ProviderEmbedded)
	return &s, nil
}

func (h Home) saveState(s *State) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(h.stateFile(), append(b, '\n'), 0o600)
}

// writeFile replaces a file in one step: a reader, or a start after a power
// cut, sees the old content or the new one.
func writeFile(path string, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}
