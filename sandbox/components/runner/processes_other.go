//go:build unix && !linux

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// stepShell starts the shell of a step: with its output going to the job's
// console ($0), and with nothing to read. It writes down its group beside the
// console. What it leaves running must outlive the terminal that the library has
// given it.
const stepShell = `trap "" HUP; echo $$ >>"${0%/*}/groups"; exec "$@" </dev/null >"$0" 2>&1`

// adoptOrphans is not to be had here: a process that leaves its group outlives
// the job.
func adoptOrphans() error { return nil }

func groups(dir string) (pids []int) {
	b, _ := os.ReadFile(filepath.Join(dir, "groups"))
	for _, field := range strings.Fields(string(b)) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stepProcesses is the last one that has been started.
func stepProcesses(dir string) []int {
	all := groups(dir)
	return all[max(0, len(all)-1):]
}

// endProcesses kills the groups of all steps.
func endProcesses(dir string, _ func(pid int) bool) error {
	for _, pid := range groups(dir) {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
	return nil
}
