//go:build unix && !linux

package supervisor

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// startTime asks ps(1), which every BSD and macOS has.
func startTime(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", os.ErrProcessDone
	}
	return strings.TrimSpace(string(out)), nil
}
