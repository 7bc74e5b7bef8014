package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestReserve(t *testing.T) {
	dir := t.TempDir()
	if _, err := reserve(filepath.Join(dir, "nowhere", "x.xml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	file := filepath.Join(dir, "x.xml")
	unused, err := reserve(file)
	if err != nil {
		t.Fatal(err)
	}
	unused()
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty file is left: %v", err)
	}
	for _, content := range []string{"results of the run before", ""} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if unused, err = reserve(file); err != nil {
			t.Fatal(err)
		}
		unused()
		if b, err := os.ReadFile(file); string(b) != content || err != nil {
			t.Errorf("%q became %q, %v", content, b, err)
		}
	}
}
