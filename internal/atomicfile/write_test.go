package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPermissionsAreKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check := func(content string, perm os.FileMode) {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil || string(b) != content {
			t.Errorf("content is %q, error %v, want %q", b, err, content)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != perm {
			t.Errorf("permissions are %v, error %v, want %v", info.Mode(), err, perm)
		}
	}
	if err := Write(file, []byte("one"), 0o640); err != nil {
		t.Fatal(err)
	}
	check("one", 0o640)
	if err := os.Chmod(file, 0o604); err != nil {
		t.Fatal(err)
	}
	if err := Write(file, []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	check("two", 0o604)
	if err := Rewrite(file, []byte("three")); err != nil {
		t.Fatal(err)
	}
	check("three", 0o604)
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("%v is left, error %v", left, err)
	}
}
