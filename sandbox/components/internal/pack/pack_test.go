package pack

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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

func TestWriteIsReproducible(t *testing.T) {
	var archives [2]bytes.Buffer
	for i := range archives {
		if _, err := Write(&archives[i], tree(t, time.Duration(i)*time.Hour), "z/first"); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0].Bytes(), archives[1].Bytes()) {
		t.Error("the same files make two archives")
	}
}

func TestRead(t *testing.T) {
	var archive bytes.Buffer
	written, err := Write(&archive, tree(t, 0), "z/first")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range written {
		want := fs.FileMode(0o644)
		if f.Path == "b/prog" {
			want = 0o755
		}
		if f.Mode != want {
			t.Errorf("%s has mode %v", f.Path, f.Mode)
		}
	}
	var names []string
	in := bytes.NewReader(archive.Bytes())
	err = Read(in, func(name string, size int64, content io.Reader) error {
		data, err := io.ReadAll(content)
		if string(data) != name || int(size) != len(name) {
			t.Errorf("%s is %q", name, data)
		}
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if in.Len() != 0 {
		t.Errorf("%d bytes were not read", in.Len())
	}
	if len(names) != 4 || names[0] != "z/first" || !slices.IsSorted(names[1:]) {
		t.Errorf("the order is %v", names)
	}
}

func TestReadStops(t *testing.T) {
	var archive bytes.Buffer
	if _, err := Write(&archive, tree(t, 0), "a"); err != nil {
		t.Fatal(err)
	}
	calls, other := 0, errors.New("other")
	for _, stop := range []error{ErrStop, other} {
		err := Read(bytes.NewReader(archive.Bytes()), func(string, int64, io.Reader) error {
			calls++
			return stop
		})
		if errors.Is(stop, ErrStop) != (err == nil) {
			t.Errorf("after %v: error %v", stop, err)
		}
	}
	if calls != 2 {
		t.Errorf("called %d times", calls)
	}
}

func TestWriteRefuses(t *testing.T) {
	dir := tree(t, 0)
	if _, err := Write(io.Discard, dir, "not-there"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without its first file: error %v", err)
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(io.Discard, dir, "a"); err == nil {
		t.Error("a link was packed")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("x"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = Read(bytes.NewReader(data), func(string, int64, io.Reader) error { return nil })
	})
}
