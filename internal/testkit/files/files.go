// Package files writes and reads the folders of tests.
package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Fill writes files below a folder, each with its content.
func Fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Contents are all files below a folder, but not data that is being replaced.
func Contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == "aside" {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		if e.Type().IsRegular() {
			b, err := os.ReadFile(path)
			rel, relErr := filepath.Rel(dir, path)
			files[rel] = string(b)
			return errors.Join(err, relErr)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
