package daemon

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
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
