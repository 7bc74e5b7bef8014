//go:build unix && !linux

package actions

import "syscall"

// adoptOrphans is not to be had here: a process that leaves its group
// outlives the job.
func adoptOrphans() error { return nil }

func stepAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func killChildren(groups []int) {
	for _, g := range groups {
		_ = syscall.Kill(-g, syscall.SIGKILL)
	}
}
