package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// childAttributes puts a child into a process group of its own, so that a
// terminal's interrupt does not reach it and all it starts can be ended
// together, and lets it die with this process.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// startTime returns field 22 of /proc/PID/stat (proc(5)): clock ticks from
// boot to the process's start. A zombie counts as ended.
func startTime(pid int) (string, error) {
	const started = 22
	fields := stat(fmt.Sprintf("/proc/%d/stat", pid))
	if len(fields) <= started-firstField || fields[0] == "Z" {
		return "", os.ErrProcessDone
	}
	return fields[started-firstField], nil
}

// isStopped reports whether no thread of a process runs.
func isStopped(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	if err != nil {
		return false, err
	}
	for _, t := range threads {
		fields := stat(filepath.Join(t, "stat"))
		if len(fields) > 0 && !slices.Contains([]string{"T", "t", "Z", "X"}, fields[0]) { // stopped, traced, ended
			return false, nil
		}
	}
	return true, nil
}

// parentsOfAll has the parent of every process that has not ended.
func parentsOfAll() (map[int]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	parents := make(map[int]int, len(files))
	for _, f := range files {
		fields := stat(f)
		if len(fields) < 2 || fields[0] == "Z" {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		parent, parentErr := strconv.Atoi(fields[1])
		if err == nil && parentErr == nil {
			parents[pid] = parent
		}
	}
	return parents, nil
}

const firstField = 3 // of those that stat returns: the state

// stat returns the fields of a stat file (proc(5)) from the state on, none for a
// process that is gone.
func stat(file string) []string {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	// the name in parentheses may hold spaces and parentheses itself
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}
