package components

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
)

// tool is the content of a small component.
var tool = map[string]string{
	"licenses.json":  `[{"component":"tool","module":"example.com/m","version":"v1.0.0","files":[{"name":"LICENSE","text":"do as you like"}]}]`,
	"tool":           "#!/bin/sh\nexit 0\n",
	"share/a/b.txt":  "b",
	"share/c.txt":    strings.Repeat("c", 100_000),
	"share/empty":    "",
	"share/z/y/x.md": "x",
}

// fakePayload packs components of those files; a file named like its component
// is a program.
func fakePayload(t *testing.T, all map[string]map[string]string) fstest.MapFS {
	t.Helper()
	fsys := fstest.MapFS{}
	var m Manifest
	for name, files := range all {
		c := Component{Name: name, Versions: map[string]string{"Tool": "v1"}}
		var archive bytes.Buffer
		zw, err := zstd.NewWriter(&archive)
		must(t, err)
		tw := tar.NewWriter(zw)
		for _, path := range slices.Sorted(maps.Keys(files)) {
			f := File{Path: path, Mode: 0o644, Size: int64(len(files[path])), SHA256: digestOf([]byte(files[path]))}
			if path == name {
				f.Mode = 0o755
			}
			must(t, tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: int64(f.Mode), Size: f.Size}))
			_, err := io.WriteString(tw, files[path])
			must(t, err)
			c.Files = append(c.Files, f)
		}
		must(t, errors.Join(tw.Close(), zw.Close()))
		c.SHA256, c.Size = digestOf(archive.Bytes()), int64(archive.Len())
		m.Components = append(m.Components, c)
		fsys[c.Archive()] = &fstest.MapFile{Data: archive.Bytes()}
	}
	setManifest(t, fsys, m)
	return fsys
}

func digestOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

func setManifest(t *testing.T, fsys fstest.MapFS, m Manifest) {
	t.Helper()
	data, err := json.Marshal(m)
	must(t, err)
	fsys[ManifestFile] = &fstest.MapFile{Data: data}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, fsys fs.FS) *Payload {
	t.Helper()
	p, err := Open(fsys)
	must(t, err)
	return p
}

// toolFiles returns a payload of tool alone. It is packed once: packing is the
// slow part of these tests.
func toolFiles(t *testing.T) fstest.MapFS {
	t.Helper()
	toolOnce.Do(func() { toolPacked = fakePayload(t, map[string]map[string]string{"tool": tool}) })
	fsys := fstest.MapFS{}
	for name, f := range toolPacked {
		fsys[name] = &fstest.MapFile{Data: bytes.Clone(f.Data)}
	}
	return fsys
}

var (
	toolOnce   sync.Once
	toolPacked fstest.MapFS
)

func toolPayload(t *testing.T) *Payload { return open(t, toolFiles(t)) }

// wantStaged checks the staged folder against the files it was made of, and
// that nothing lies beside it.
func wantStaged(t *testing.T, p *Payload, dir string) {
	t.Helper()
	for path, content := range tool {
		got, err := os.ReadFile(filepath.Join(p.Path(dir, "tool"), filepath.FromSlash(path)))
		must(t, err)
		if string(got) != content {
			t.Errorf("%s: %d bytes differ from what was packed", path, len(got))
		}
	}
	info, err := os.Stat(filepath.Join(p.Path(dir, "tool"), "tool"))
	must(t, err)
	if info.Mode().Perm() != 0o755 {
		t.Errorf("tool has mode %v", info.Mode())
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestStage(t *testing.T) {
	p, dir := toolPayload(t), filepath.Join(t.TempDir(), "not", "there")
	for range 2 {
		must(t, p.Stage(context.Background(), dir))
		wantStaged(t, p, dir)
	}
}

func TestStageKeepsGoodFiles(t *testing.T) {
	p, dir := toolPayload(t), t.TempDir()
	must(t, p.Stage(context.Background(), dir))
	before, err := os.Stat(filepath.Join(p.Path(dir, "tool"), "tool"))
	must(t, err)
	must(t, os.Remove(filepath.Join(p.Path(dir, "tool"), "share", "c.txt")))
	must(t, p.Stage(context.Background(), dir))
	after, err := os.Stat(filepath.Join(p.Path(dir, "tool"), "tool"))
	must(t, err)
	if !os.SameFile(before, after) {
		t.Error("a repair of another file replaced the program")
	}
	wantStaged(t, p, dir)
}

func TestStageRepairs(t *testing.T) {
	tests := map[string]func(t *testing.T, folder string){
		"file missing":        func(t *testing.T, f string) { must(t, os.Remove(filepath.Join(f, "share/c.txt"))) },
		"folder missing":      func(t *testing.T, f string) { must(t, os.RemoveAll(filepath.Join(f, "share"))) },
		"all missing":         func(t *testing.T, f string) { must(t, os.RemoveAll(f)); must(t, os.Mkdir(f, 0o755)) },
		"file cut":            func(t *testing.T, f string) { must(t, os.Truncate(filepath.Join(f, "share/c.txt"), 5)) },
		"program not allowed": func(t *testing.T, f string) { must(t, os.Chmod(filepath.Join(f, "tool"), 0o644)) },
		"program changed": func(t *testing.T, f string) {
			must(t, os.WriteFile(filepath.Join(f, "tool"), []byte(strings.Repeat("x", len(tool["tool"]))), 0o755))
		},
		"folder in place of file": func(t *testing.T, f string) {
			must(t, os.Remove(filepath.Join(f, "share/c.txt")))
			must(t, os.MkdirAll(filepath.Join(f, "share/c.txt/deep"), 0o755))
		},
		"file in place of folder": func(t *testing.T, f string) {
			must(t, os.RemoveAll(filepath.Join(f, "share/z")))
			must(t, os.WriteFile(filepath.Join(f, "share/z"), nil, 0o644))
		},
		"link in place of file": func(t *testing.T, f string) {
			must(t, os.Remove(filepath.Join(f, "tool")))
			must(t, os.Symlink("/bin/sh", filepath.Join(f, "tool")))
		},
		"file in place of all": func(t *testing.T, f string) {
			must(t, os.RemoveAll(f))
			must(t, os.WriteFile(f, []byte("?"), 0o644))
		},
	}
	p := toolPayload(t)
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, p.Stage(context.Background(), dir))
			damage(t, p.Path(dir, "tool"))
			must(t, p.Stage(context.Background(), dir))
			wantStaged(t, p, dir)
		})
	}
}

// A process that is killed leaves a half-written temporary folder, perhaps
// with the folder in place missing.
func TestStageAfterInterruption(t *testing.T) {
	p, dir := toolPayload(t), t.TempDir()
	left := filepath.Join(dir, ".tool.tmp")
	must(t, os.MkdirAll(filepath.Join(left, "share"), 0o755))
	must(t, os.WriteFile(filepath.Join(left, "tool"), []byte("#!/bin"), 0o755))
	must(t, p.Stage(context.Background(), dir))
	wantStaged(t, p, dir)
}

func TestStageCancelled(t *testing.T) {
	p, dir := toolPayload(t), t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Stage(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
	if _, err := os.Stat(p.Path(dir, "tool")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was accepted: %v", err)
	}
	must(t, p.Stage(context.Background(), dir))
	wantStaged(t, p, dir)
}

func TestStageConcurrently(t *testing.T) {
	fsys, dir := fakePayload(t, map[string]map[string]string{"tool": tool, "other": {"licenses.json": "[]", "other": "x"}}), t.TempDir()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			p, err := Open(fsys)
			if err == nil {
				err = p.Stage(context.Background(), dir)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantStaged(t, open(t, fsys), dir)
}

func TestStageRefuses(t *testing.T) {
	change := func(edit func(c *Component)) func(*testing.T, fstest.MapFS) {
		return func(t *testing.T, fsys fstest.MapFS) {
			m := open(t, fsys).Manifest()
			edit(&m.Components[0])
			setManifest(t, fsys, m)
		}
	}
	zeros := strings.Repeat("0", 64)
	tests := map[string]struct {
		damage func(*testing.T, fstest.MapFS)
		want   string
	}{
		"archive digest": {change(func(c *Component) { c.SHA256 = zeros }), "digest is"},
		"file digest":    {change(func(c *Component) { c.Files[2].SHA256 = zeros }), "with digest"},
		"file size":      {change(func(c *Component) { c.Files[1].Size++ }), "bytes with digest"},
		"file unknown":   {change(func(c *Component) { c.Files = c.Files[:2] }), "not in the manifest"},
		"file missing": {change(func(c *Component) {
			c.Files = append(c.Files, File{Path: "more", Mode: 0o644, SHA256: zeros})
		}), "more is missing"},
		"archive cut": {func(_ *testing.T, fsys fstest.MapFS) {
			f := fsys["tool.tar.zst"]
			f.Data = f.Data[:len(f.Data)/2]
		}, "unpack tool.tar.zst"},
		"archive changed": {func(_ *testing.T, fsys fstest.MapFS) {
			f := fsys["tool.tar.zst"]
			f.Data[len(f.Data)/2] ^= 0x40
		}, "unpack tool.tar.zst"},
		"archive missing": {func(_ *testing.T, fsys fstest.MapFS) { delete(fsys, "tool.tar.zst") }, "not exist"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fsys, dir := toolFiles(t), t.TempDir()
			tt.damage(t, fsys)
			p := open(t, fsys)
			err := p.Stage(context.Background(), dir)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
			entries, err := os.ReadDir(dir)
			must(t, err)
			if len(entries) != 1 || entries[0].Name() != ".tool.lock" {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

func TestStageUnknown(t *testing.T) {
	err := toolPayload(t).Stage(context.Background(), t.TempDir(), "nothing")
	if err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("error is %v", err)
	}
}

func TestReadArchive(t *testing.T) {
	archive := toolFiles(t)["tool.tar.zst"].Data
	in := bytes.NewReader(archive)
	files := 0
	err := readArchive(in, func(name string, content io.Reader) error {
		files++
		data, err := io.ReadAll(content)
		if string(data) != tool[name] {
			t.Errorf("%s has %d bytes, want %d", name, len(data), len(tool[name]))
		}
		return err
	})
	if err != nil || files != len(tool) || in.Len() != 0 {
		t.Errorf("%d files were read, %d bytes were not, error %v", files, in.Len(), err)
	}
	other := errors.New("other")
	for stop, want := range map[error]error{errStop: nil, other: other} {
		calls := 0
		err := readArchive(bytes.NewReader(archive), func(string, io.Reader) error { calls++; return stop })
		if calls != 1 || !errors.Is(err, want) {
			t.Errorf("after %v: %d calls, error %v", stop, calls, err)
		}
	}
}

func FuzzReadArchive(f *testing.F) {
	f.Add([]byte("x"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = readArchive(bytes.NewReader(data), func(string, io.Reader) error { return nil })
	})
}
