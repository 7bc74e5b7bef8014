package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// removeAll removes a file or folder with all that is in it. Argo CD takes from
// its folder of repositories the right to be listed, which stops everybody but
// root; what is ours to remove is ours to open first.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && err == nil {
			return os.Chmod(name, 0o700) // before it is read
		}
		return nil
	})
	return os.RemoveAll(path)
}
