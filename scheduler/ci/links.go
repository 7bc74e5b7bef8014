package ci

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// checkLink returns an error when a file of a folder is elsewhere, by a symbolic
// link in the folder: what it leads to is the runner's, not the repository's.
func checkLink(folder, name string) error {
	top, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	file := filepath.Join(folder, name)
	target, err := filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // which the reader reports
	}
	if err != nil {
		return err
	}
	if below, err := filepath.Rel(top, target); err != nil || !filepath.IsLocal(below) {
		return withHint(fmt.Errorf("%s leads by a symbolic link to %s, outside of %s", file, target, folder), "put the file itself into the folder")
	}
	return nil
}

// checkLinks is checkLink of everything in a folder.
func checkLinks(folder string) error {
	top, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	return filepath.WalkDir(top, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink == 0 {
			return err
		}
		name, err := filepath.Rel(top, file)
		if err != nil {
			return err
		}
		return checkLink(folder, name)
	})
}
