//go:build unix

// Package posix is what the sandbox and its commands use of POSIX. On Windows there is no
// sandbox, and what stands in for it here refuses or does nothing: the commands that need no
// sandbox run there, too.
package posix

import (
	"io/fs"
	"syscall"
)

// Signals that stop a process and let it go on.
const (
	SIGSTOP = syscall.SIGSTOP
	SIGCONT = syscall.SIGCONT
)

// Kill sends a signal to a process, or to a process group by its ID below zero.
func Kill(pid int, signal syscall.Signal) error { return syscall.Kill(pid, signal) }

// Umask sets which permissions new files do not get, and returns those of before.
func Umask(mask int) int { return syscall.Umask(mask) }

// NewSession lets a child outlive the terminal of this process.
func NewSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Owner returns the user and the group that a file belongs to, false where there is none.
func Owner(info fs.FileInfo) (uid, gid int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(s.Uid), int(s.Gid), true
}

// Allocated returns the bytes that a file takes on disk.
func Allocated(info fs.FileInfo) int64 {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Size()
	}
	return s.Blocks * 512
}
