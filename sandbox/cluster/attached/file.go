package attached

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// replaceFile writes a file in one step, so that whoever comes after a power
// cut finds the old content or the new one.
func replaceFile(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*") // for its owner only
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.Rename(f.Name(), file)
}
