package actions

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of all that descends from it and
// has lost its own parent.
func adoptOrphans() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// stepAttributes put a step into a session of its own, without a terminal, and
// let its first process die with the keeper.
func stepAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// killChildren kills all children of this process. Their own children become
// this process's by that, and are found the next time.
func killChildren([]int) {
	self := strconv.Itoa(os.Getpid())
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		b, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state parent: the name may have blanks and brackets
		fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if len(fields) < 2 || string(fields[1]) != self {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
