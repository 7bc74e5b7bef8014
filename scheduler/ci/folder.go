package ci

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// readFolder reads all regular files at or below a folder, by slash-separated
// path from it. It follows no links: one could lead to the runner's secrets.
func readFolder(folder string) (map[string][]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := map[string][]byte{}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		files[name], err = root.ReadFile(name)
		return err
	})
	return files, err
}

// writeFile writes a file below a folder and makes the folders on the way.
func writeFile(folder, name string, content []byte) error {
	file := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

// replacement works out how a branch changes when generated files take their
// place in it: a folder of theirs is replaced as a whole, so that what is
// generated no more goes away; files at the root come beside what is there.
// Sorted by path.
func replacement(branch, generated map[string][]byte) []forge.Change {
	ours := map[string]bool{}
	for name := range generated {
		if folder, _, ok := strings.Cut(name, "/"); ok {
			ours[folder] = true
		}
	}
	var changes []forge.Change
	for _, name := range slices.Sorted(maps.Keys(generated)) {
		if old, there := branch[name]; !there || !bytes.Equal(old, generated[name]) {
			changes = append(changes, forge.Change{Path: name, Content: append([]byte{}, generated[name]...)})
		}
	}
	for name := range branch {
		folder, _, ok := strings.Cut(name, "/")
		if _, stays := generated[name]; ok && ours[folder] && !stays {
			changes = append(changes, forge.Change{Path: name})
		}
	}
	slices.SortFunc(changes, func(a, b forge.Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}

// applied tells whether a tree is what another one becomes by the changes.
func applied(tree, before map[string][]byte, changes []forge.Change) bool {
	after := maps.Clone(before)
	for _, c := range changes {
		if c.Content == nil {
			delete(after, c.Path)
			continue
		}
		after[c.Path] = c.Content
	}
	return maps.EqualFunc(tree, after, bytes.Equal)
}

// summary lists changes for people, one a line.
func summary(before map[string][]byte, changes []forge.Change) string {
	var b strings.Builder
	for _, c := range changes {
		mark := "~"
		if _, there := before[c.Path]; !there {
			mark = "+"
		} else if c.Content == nil {
			mark = "-"
		}
		fmt.Fprintf(&b, "%s %s\n", mark, c.Path)
	}
	return b.String()
}
