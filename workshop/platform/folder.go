package platform

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kalypso-dev/kalypso/internal/usage"
)

// newFolder makes a folder, which must not be there yet or be empty, by what write
// puts in it: it is there as a whole afterwards, or not at all. The error is a
// *usage.Error for one that cannot be taken; flag is the option that names it.
func newFolder(name, flag string, write func(part string) error) error {
	dir, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 {
		return usage.Errorf("%s is there already: name a new folder with %s", name, flag)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usage.Errorf("%s cannot be written: %v", name, err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	if err := write(part); err != nil {
		return err
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(part, dir)
}
