//go:build unix && !linux

package supervisor

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// childAttributes puts a child into a process group of its own. These systems
// have no parent-death signal: an orphan is ended by the next start, which
// knows it from the registry.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// startTime asks ps(1), which every BSD and macOS has.
func startTime(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", os.ErrProcessDone
	}
	return strings.TrimSpace(string(out)), nil
}

// isStopped asks ps(1), which every BSD and macOS has.
func isStopped(pid int) (bool, error) {
	out, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return true, nil // it is gone
	}
	state := strings.TrimSpace(string(out))
	return strings.HasPrefix(state, "T") || strings.HasPrefix(state, "Z"), nil
}

// parentsOfAll has the parent of every process.
func parentsOfAll() (map[int]int, error) {
	out, err := exec.Command("ps", "-axo", "pid=,ppid=").Output()
	if err != nil {
		return nil, fmt.Errorf("list of processes: %w", err)
	}
	parents := map[int]int{}
	for line := range strings.Lines(string(out)) {
		var pid, parent int
		if n, _ := fmt.Sscan(line, &pid, &parent); n == 2 {
			parents[pid] = parent
		}
	}
	return parents, nil
}
