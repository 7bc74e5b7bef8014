//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const endLimit = 20 * time.Second

// process is one that has to do with a machine.
type process struct {
	pid     int
	command string
}

func describe(all []process) string {
	var s []string
	for _, p := range all {
		s = append(s, fmt.Sprintf("%d %s", p.pid, p.command))
	}
	return strings.Join(s, "; ")
}

// processes are those whose command, environment or folder is in the machine's
// folder. They are found in /proc; elsewhere than on Linux there are none.
func (m *machine) processes() []process {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var all []process
	for _, d := range dirs {
		pid, err := strconv.Atoi(filepath.Base(d))
		if err != nil || pid == os.Getpid() {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(d, "cmdline"))
		environment, _ := os.ReadFile(filepath.Join(d, "environ"))
		cwd, _ := os.Readlink(filepath.Join(d, "cwd"))
		exe, _ := os.Readlink(filepath.Join(d, "exe"))
		if strings.Contains(string(command)+"\x00"+string(environment)+"\x00"+cwd+"\x00"+exe, m.dir) {
			all = append(all, process{pid, strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))})
		}
	}
	return all
}

// gone says whether a process has ended, with all its threads: until then it
// keeps what it has open.
func gone(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if strings.Contains(string(stat), ") Z ") && len(threads) <= 1 {
		return nil // nobody has asked for its exit code yet
	}
	return fmt.Errorf("process %d is still there with %d threads", pid, len(threads))
}

func (m *machine) noProcesses() error {
	if left := m.processes(); len(left) > 0 {
		return errors.New("still there: " + describe(left))
	}
	return nil
}

// pids are those of the components, and of the daemon under its name.
func (m *machine) pids() map[string]int {
	m.t.Helper()
	s := m.status()
	pids := map[string]int{"daemon": s.PID}
	for _, c := range s.Components {
		if c.PID != 0 {
			pids[c.Name] = c.PID
		}
	}
	return pids
}
