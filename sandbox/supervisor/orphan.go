package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
)

const orphanGrace = 5 * time.Second

// identity tells a process from another that got the same ID later.
type identity struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // in the system's own terms; only compared
}

func identityFile(dir, name string) string { return filepath.Join(dir, name+".json") }

func register(dir, name string, pid int) error {
	started, err := startTime(pid)
	if err != nil {
		// it has ended already: nothing to remember
		return nil
	}
	b, err := json.Marshal(identity{pid, started})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(identityFile(dir, name), b, 0o600)
}

func unregister(dir, name string) { _ = os.Remove(identityFile(dir, name)) }

// Living returns the IDs of the processes that are registered in a folder and
// run, by name. Without a supervisor they are orphans.
func Living(dir string) (map[string]int, error) {
	files, err := filepath.Glob(identityFile(dir, "*"))
	if err != nil {
		return nil, err
	}
	living := map[string]int{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just ended
		}
		if err != nil {
			return nil, err
		}
		var id identity
		if json.Unmarshal(b, &id) == nil && id.running() {
			living[strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))] = id.PID
		}
	}
	return living, nil
}

// running tells whether the process of then still runs.
func (id identity) running() bool {
	started, err := startTime(id.PID)
	return err == nil && started == id.Started
}

// EndOrphan kills the process that an earlier supervisor registered under name
// and did not live to stop, with the process group it leads. A process that
// merely has its ID now is left alone.
func EndOrphan(dir, name string) error {
	b, err := os.ReadFile(identityFile(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var id identity
	if json.Unmarshal(b, &id) != nil {
		// written halfway when the power went: no process of then is left
		unregister(dir, name)
		return nil
	}
	what := fmt.Sprintf("end of process %d (%s) of an earlier run", id.PID, name)
	err = retry.Until(context.Background(), what, orphanGrace, func(context.Context) error {
		if !id.running() {
			return nil
		}
		_ = syscall.Kill(-id.PID, syscall.SIGKILL)
		_ = syscall.Kill(id.PID, syscall.SIGKILL)
		return errors.New("it has been killed and still runs: end it by hand")
	})
	if err != nil {
		return err
	}
	unregister(dir, name)
	return nil
}
