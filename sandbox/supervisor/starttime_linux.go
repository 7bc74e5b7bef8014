package supervisor

import (
	"bytes"
	"fmt"
	"os"
)

// startTime returns field 22 of /proc/PID/stat (proc(5)): clock ticks from
// boot to the process's start. A zombie counts as ended.
func startTime(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// the name in parentheses may hold spaces and parentheses itself
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return "", fmt.Errorf("/proc/%d/stat: no command name", pid)
	}
	fields := bytes.Fields(b[i+1:]) // from field 3, the state
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields)+2)
	}
	if string(fields[0]) == "Z" {
		return "", os.ErrProcessDone
	}
	return string(fields[19]), nil
}
