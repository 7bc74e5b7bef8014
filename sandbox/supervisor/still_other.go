//go:build unix && !linux

package supervisor

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// isStill asks ps(1), which every BSD and macOS has.
func isStill(pid int) (bool, error) {
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
