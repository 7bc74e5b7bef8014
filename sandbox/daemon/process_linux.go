package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// Resident returns the resident memory of a process and of all below it, or 0:
// a node is a tree of programs, and its first one is the smallest. What they
// share is counted once for each.
func Resident(pid int) int64 {
	if pid == 0 {
		return 0
	}
	sum := residentAlone(pid)
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range tasks {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		for _, field := range bytes.Fields(b) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				sum += Resident(child)
			}
		}
	}
	return sum
}

// residentAlone is field 2 of /proc/PID/statm, in pages.
func residentAlone(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// canDropRights tries what the runner does for each job, since a container may
// not allow it. A folder cannot be executed, which is found out only when the
// rights have been dropped: what can depends on folders that this user may not enter.
func canDropRights() error {
	cmd := &exec.Cmd{Path: "/", SysProcAttr: &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS,
		Credential:   &syscall.Credential{Uid: firstWorkflowUser, Gid: firstWorkflowUser},
	}}
	if err := cmd.Run(); !errors.Is(err, syscall.EACCES) {
		return fmt.Errorf("this machine allows no mount namespaces or no other users (%w)", err)
	}
	return nil
}
