package builder

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/components"
)

// tree writes files with their permissions below a new folder, with times that
// differ from call to call.
func tree(t *testing.T, age time.Duration) string {
	t.Helper()
	dir := t.TempDir()
	for path, mode := range map[string]fs.FileMode{"z/first": 0o600, "b/prog": 0o700, "a": 0o664, "b/" + strings.Repeat("long/", 40) + "x": 0o644} {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(path), mode); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(full, when, when); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWriteArchiveIsReproducible(t *testing.T) {
	var archives [2]bytes.Buffer
	for i := range archives {
		if _, err := writeArchive(&archives[i], tree(t, time.Duration(i)*time.Hour), "z/first", func(int64, int64) {}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0].Bytes(), archives[1].Bytes()) {
		t.Error("the same files make two archives")
	}
}

// What is packed is staged as it was.
func TestArchiveIsStaged(t *testing.T) {
	dir := tree(t, 0)
	var archive bytes.Buffer
	files, err := writeArchive(&archive, dir, "z/first", func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 4 || files[0].Path != "z/first" || !slices.IsSortedFunc(files[1:], func(a, b components.File) int { return cmp.Compare(a.Path, b.Path) }) {
		t.Errorf("the order is %v", files)
	}
	c := components.Component{Name: "tool", SHA256: fmt.Sprintf("%x", sha256.Sum256(archive.Bytes())), Files: files}
	manifest, err := json.Marshal(components.Manifest{Components: []components.Component{c}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := components.Open(fstest.MapFS{components.ManifestFile: {Data: manifest}, c.Archive(): {Data: archive.Bytes()}})
	if err != nil {
		t.Fatal(err)
	}
	staged := t.TempDir()
	if err := p.Stage(t.Context(), staged); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(p.Path(staged, "tool"), f.Path)
		data, err := os.ReadFile(path)
		if err != nil || string(data) != f.Path {
			t.Errorf("%s is %q, error %v", f.Path, data, err)
		}
		want := fs.FileMode(0o644)
		if f.Path == "b/prog" {
			want = 0o755
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, error %v", f.Path, info.Mode(), err)
		}
	}
}

func TestWriteArchiveRefuses(t *testing.T) {
	dir := tree(t, 0)
	if _, err := writeArchive(io.Discard, dir, "not-there", func(int64, int64) {}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without its first file: error %v", err)
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := writeArchive(io.Discard, dir, "a", func(int64, int64) {}); err == nil {
		t.Error("a link was packed")
	}
}
