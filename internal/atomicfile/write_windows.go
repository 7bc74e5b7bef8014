package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes a file have this content. It is written beside its place first. A file that
// is there keeps its permissions, of which Windows knows only whether it may be written.
func Write(path string, content []byte, perm fs.FileMode) error {
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close(), os.Chmod(f.Name(), perm))
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Rewrite is [Write] for a file that is there.
func Rewrite(path string, content []byte) error { return Write(path, content, 0o600) }
