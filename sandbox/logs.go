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

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/state"
)

// LogNames returns the names of all that writes a log, sorted. The error is
// ErrNoSandbox without a sandbox.
func LogNames(h Home) ([]string, error) {
	names, _, err := logNames(h)
	return names, err
}

// logNames also returns the components that are tasks and have no log of their own.
func logNames(h Home) (names, tasks []string, err error) {
	files, err := filepath.Glob(h.Log("*"))
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".log"))
	}
	if s, err := h.Load(); err == nil {
		for _, u := range stack.New(h, s, slog.New(slog.DiscardHandler)).Units() {
			switch {
			case u.Log == "":
				tasks = append(tasks, u.Name)
			case !slices.Contains(names, u.Name):
				names = append(names, u.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil, nil, ErrNoSandbox
	}
	slices.Sort(names)
	return names, tasks, nil
}

// FindLog returns the log file of a component, or of the supervisor itself,
// which is called "daemon". The error is a *usage.Error for a name that does
// not exist, or that writes no log, and ErrNoSandbox without a sandbox.
func FindLog(h Home, component string) (string, error) {
	names, tasks, err := logNames(h)
	if err != nil {
		return "", err
	}
	if slices.Contains(tasks, component) {
		return "", usage.Errorf("%s is a task and has no log of its own: `kalypso status` has its last error, `kalypso logs daemon` when it was done", component)
	}
	if err := state.CheckName("log of", component, names); err != nil {
		return "", err
	}
	path := h.Log(component)
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return "", fmt.Errorf("%s has not run yet, so it has no log", component)
	}
	return path, nil
}

// CollectLogs copies the logs of all components into a folder, and into one
// below it for each cluster what the parts within the cluster have logged. A
// cluster that does not answer is an error, and does not keep the rest away. The
// error is a *usage.Error for a folder that has something in it already, and
// ErrNoSandbox without a sandbox.
func CollectLogs(ctx context.Context, h Home, dir string) error {
	s, err := h.Load()
	if err != nil {
		return err
	}
	if err := s.UseEngine(); err != nil {
		return err
	}
	if present, err := os.ReadDir(dir); err == nil && len(present) > 0 {
		return usage.Errorf("%s has something in it already: name a new folder for the logs", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return errors.Join(
		os.CopyFS(dir, os.DirFS(filepath.Dir(h.Log("daemon")))),
		stack.New(h, s, slog.New(slog.DiscardHandler)).CollectLogs(ctx, dir),
	)
}
