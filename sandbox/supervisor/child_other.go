//go:build unix && !linux

package supervisor

import "syscall"

// childAttributes puts a child into a process group of its own. These systems
// have no parent-death signal: an orphan is ended by the next start, which
// knows it from the registry.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
