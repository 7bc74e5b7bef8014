package sandbox

import (
	"context"
	"errors"
	"fmt"
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

// CollectLogs copies the logs of all components into a folder, and into one
// below it for each cluster what the parts within the cluster have logged. A
// cluster that cannot be asked is an error, and does not keep the rest away. The
// error is a *UsageError for a folder that has something in it already, and
// ErrNoSandbox without a sandbox.
func CollectLogs(ctx context.Context, h Home, dir string) error {
	state, err := h.LoadState()
	if err != nil {
		return err
	}
	w, err := findWorkshop(state.Workshop)
	if err != nil {
		return err
	}
	if err := state.useEngine(); err != nil {
		return err
	}
	if there, err := os.ReadDir(dir); err == nil && len(there) > 0 {
		return &UsageError{fmt.Sprintf("%s has something in it already: name a new folder for the logs", dir)}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	all := []error{os.CopyFS(dir, os.DirFS(filepath.Dir(h.Log("daemon"))))}
	clusters := newWorld(h, state, w, slog.New(slog.DiscardHandler)).clusters
	names, err := clusters.List(ctx)
	all = append(all, err)
	for _, name := range names {
		if err := clusters.Logs(ctx, name, filepath.Join(dir, name)); err != nil {
			all = append(all, fmt.Errorf("cluster %s: %w", name, err))
		}
	}
	return errors.Join(all...)
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
	for _, u := range newWorld(h, state, w, slog.New(slog.DiscardHandler)).units() {
		if u.Log != "" {
			logging = append(logging, u.Name)
		} else {
			tasks = append(tasks, u.Name)
		}
	}
	return logging, tasks
}
