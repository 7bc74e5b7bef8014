package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// isStill tells whether no thread of a process runs. One that has ended does
// not.
func isStill(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	if err != nil {
		return false, err
	}
	for _, t := range threads {
		state, _ := stat(filepath.Join(t, "stat"))
		switch state {
		case "", "T", "t", "Z", "X": // gone, stopped, traced, ended
		default:
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
		state, parent := stat(f)
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil && state != "" && state != "Z" {
			parents[pid] = parent
		}
	}
	return parents, nil
}

// stat returns the fields 3 and 4 of a stat file (proc(5)), "" for a process
// that is gone.
func stat(file string) (state string, parent int) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", 0
	}
	// the name in parentheses may hold spaces and parentheses itself
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return string(fields[0]), parent
}
