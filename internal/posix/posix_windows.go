// Package posix stands in for what the sandbox and its commands use of POSIX.
package posix

import (
	"errors"
	"io/fs"
	"syscall"
)

// Signals that Windows has not; [Kill] refuses them.
const (
	SIGSTOP = syscall.Signal(0x13)
	SIGCONT = syscall.Signal(0x12)
)

// Kill refuses: there is no sandbox whose processes could be signalled.
func Kill(int, syscall.Signal) error { return errors.ErrUnsupported }

// Umask does nothing.
func Umask(mask int) int { return mask }

// NewSession returns the usual attributes: a program does not end with its terminal here.
func NewSession() *syscall.SysProcAttr { return nil }

// Owner is not known.
func Owner(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

// Allocated returns the file's length.
func Allocated(info fs.FileInfo) int64 { return info.Size() }
