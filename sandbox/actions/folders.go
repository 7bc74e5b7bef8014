package actions

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// folders are the places of one job.
type folders struct {
	Root  string
	Work  string // the workspace
	Home  string
	Temp  string
	Tools string
	Bin   string // first in PATH
	Files string // scripts and command files
	Event string // the event's payload
}

func newFolders(root string) folders {
	in := func(name string) string { return filepath.Join(root, name) }
	return folders{
		Root: root, Work: in("work"), Home: in("home"), Temp: in("tmp"), Tools: in("tools"), Bin: in("bin"), Files: in("files"),
		Event: filepath.Join(in("files"), "event.json"),
	}
}

func (f folders) create(program string, event any) error {
	// what a runner that was killed has left
	if err := f.remove(); err != nil {
		return err
	}
	for _, dir := range []string{f.Work, f.Home, f.Temp, f.Tools, f.Bin, f.Files} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if program != "" {
		if err := os.Symlink(program, filepath.Join(f.Bin, "kalypso")); err != nil {
			return err
		}
	}
	return os.WriteFile(f.Event, eventJSON(event), 0o600)
}

// remove removes all, also below folders that a step has made read-only.
func (f folders) remove() error {
	if err := os.RemoveAll(f.Root); err == nil {
		return nil
	}
	_ = filepath.WalkDir(f.Root, func(path string, entry os.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(f.Root)
}

func (f folders) commandFiles(step int) (map[string]string, error) {
	files := map[string]string{}
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY", "GITHUB_STATE"} {
		files[name] = filepath.Join(f.Files, fmt.Sprintf("%d.%s", step, strings.ToLower(strings.TrimPrefix(name, "GITHUB_"))))
		if err := os.WriteFile(files[name], nil, 0o600); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func eventJSON(event any) []byte {
	b, err := json.Marshal(event)
	if err != nil || event == nil {
		return []byte("{}")
	}
	return b
}
