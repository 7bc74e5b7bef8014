package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// resident returns the resident memory of a process (field 2 of
// /proc/PID/statm, in pages), or 0.
func resident(pid int) int64 {
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
