package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stepShell starts the shell of a step: with its output going to the job's
// console ($0), and with nothing to read. What it leaves running must outlive
// the terminal that the library has given it.
const stepShell = `trap "" HUP; exec "$@" </dev/null >"$0" 2>&1`

// adoptOrphans makes this process the parent of all that descends from it and
// has lost its own parent.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// child is a child of this process. One that the library has started for a step
// leads a session with a terminal.
type child struct {
	pid    int
	leader bool
}

func children() (all []child) {
	self := strconv.Itoa(os.Getpid())
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		b, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state parent group session terminal: the name may have blanks and brackets
		fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		pid := filepath.Base(filepath.Dir(stat))
		if len(fields) < 5 || string(fields[1]) != self {
			continue
		}
		if n, err := strconv.Atoi(pid); err == nil {
			all = append(all, child{n, string(fields[3]) == pid && string(fields[4]) != "0"})
		}
	}
	return all
}

// stepProcesses are those that the library has started and waits for; each
// leads a group.
func stepProcesses(string) (pids []int) {
	for _, c := range children() {
		if c.leader {
			pids = append(pids, c.pid)
		}
	}
	return pids
}

// endProcesses kills all that descends from this process, except for children
// that are kept and what descends from those, until there is nothing left to
// kill: children of what is killed become this process's own.
func endProcesses(_ string, kept func(pid int) bool) error {
	deadline, tick := time.After(endLimit), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		left := 0
		for _, c := range children() {
			if !kept(c.pid) {
				left++
				_ = syscall.Kill(c.pid, syscall.SIGKILL)
				_, _ = syscall.Wait4(c.pid, nil, syscall.WNOHANG, nil)
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-deadline:
			return errProcessesLeft
		case <-tick.C:
		}
	}
}
