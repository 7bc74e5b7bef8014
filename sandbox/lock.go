package sandbox

import (
	"errors"
	"os"
	"syscall"
)

// errLocked says that a daemon holds the sandbox.
var errLocked = errors.New("another kalypso daemon runs this sandbox")

// lock takes the sandbox for this process. The system gives it back when the
// process ends, however it ends.
func (h Home) lock() (*os.File, error) {
	if err := os.MkdirAll(string(h), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(h.Path("daemon.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, err
	}
	return f, nil
}

// locked tells whether a daemon holds the sandbox.
func (h Home) locked() bool {
	if _, err := os.Stat(h.Path("daemon.lock")); err != nil {
		return false
	}
	f, err := h.lock()
	if err != nil {
		return errors.Is(err, errLocked)
	}
	f.Close()
	return false
}
