package sandbox

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// FindLog returns the log file of a component, or of the supervisor itself,
// which is called "daemon". The error is a *UsageError for a name that there is
// not, or that writes no log, and ErrNoSandbox without a sandbox.
func FindLog(h Home, component string) (string, error) {
	files, err := filepath.Glob(h.Log("*"))
	if err != nil {
		return "", err
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".log"))
	}
	units, tasks := h.units()
	for _, name := range units {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return "", ErrNoSandbox
	case slices.Contains(tasks, component):
		return "", &UsageError{fmt.Sprintf("%s is a task and has no log of its own: `kalypso status` has its last error, `kalypso logs daemon` when it was done", component)}
	case !slices.Contains(names, component):
		slices.Sort(names)
		return "", unknown("log of", component, names)
	}
	path := h.Log(component)
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return "", fmt.Errorf("%s has not run yet, so it has no log", component)
	}
	return path, nil
}

// units are the names of the components with a log, and of those without; none
// when it cannot be known.
func (h Home) units() (logging, tasks []string) {
	state, err := h.LoadState()
	if err != nil {
		return nil, nil
	}
	w, err := findWorkshop(state.Workshop)
	if err != nil {
		return nil, nil
	}
	for _, u := range newWorld(h, state, w, slog.New(slog.NewTextHandler(io.Discard, nil))).units() {
		if u.Log != "" {
			logging = append(logging, u.Name)
		} else {
			tasks = append(tasks, u.Name)
		}
	}
	return logging, tasks
}
