package gosources_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/ci/gosources"
)

var program = map[string][]byte{
	"go.mod":      []byte("module x\n"),
	"main.go":     []byte("package main\n"),
	"in/ner.go":   []byte("package in\n"),
	"page.html":   []byte("a page"),
	"x_test.go":   []byte("package main\n"),
	"in/go.mod.x": []byte("y"),
}

// TestFingerprint: what decides what the program is shows, in names and in
// content, and nothing else does.
func TestFingerprint(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(map[string][]byte)
		differs bool
	}{
		{"nothing", func(map[string][]byte) {}, false},
		{"a page", func(f map[string][]byte) { f["page.html"] = []byte("b") }, false},
		{"a test", func(f map[string][]byte) { delete(f, "x_test.go") }, false},
		{"a Go file", func(f map[string][]byte) { f["main.go"] = []byte("package main\n\n") }, true},
		{"a Go file in a folder", func(f map[string][]byte) { f["in/ner.go"] = nil }, true},
		{"a new Go file", func(f map[string][]byte) { f["more.go"] = nil }, true},
		{"a name", func(f map[string][]byte) { f["a.go"] = f["main.go"]; delete(f, "main.go") }, true},
		{"go.mod", func(f map[string][]byte) { f["go.mod"] = []byte("module y\n") }, true},
		{"a piece that moves", func(f map[string][]byte) { f["main.go"], f["in/ner.go"] = f["in/ner.go"], f["main.go"] }, true},
	} {
		files := maps.Clone(program)
		test.change(files)
		if differs := gosources.Fingerprint(files) != gosources.Fingerprint(program); differs != test.differs {
			t.Errorf("%s: differs %v", test.name, differs)
		}
	}
}

func TestOfFolder(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fingerprint := func() string {
		t.Helper()
		f, err := gosources.OfFolder(folder)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for name, content := range program {
		write(name, string(content))
	}
	write(".git/hooks/hook.go", "no part of the program")
	want := gosources.Fingerprint(program)
	if got := fingerprint(); got != want {
		t.Errorf("of the folder %s, of its files %s", got, want)
	}
	if err := os.Symlink(filepath.Join(t.TempDir(), "elsewhere.go"), filepath.Join(folder, "link.go")); err != nil {
		t.Fatal(err)
	}
	if fingerprint() == want {
		t.Error("a link to a Go file does not show")
	}
	if _, err := gosources.OfFolder(filepath.Join(folder, "nope")); err == nil {
		t.Error("a folder that is not there has a fingerprint")
	}
}
