package components

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestNoPayload(t *testing.T) {
	if _, err := Open(fstest.MapFS{".keep": {}}); !errors.Is(err, ErrNoPayload) {
		t.Errorf("error is %v", err)
	}
	if !strings.Contains(ErrNoPayload.Error(), "make build") {
		t.Errorf("%q does not say what to do", ErrNoPayload)
	}
}

func TestPath(t *testing.T) {
	p := toolPayload(t)
	c, _ := p.Manifest().Component("tool")
	if got, want := p.Path("/x", "tool"), filepath.Join("/x", "tool-"+c.SHA256[:12]); got != want {
		t.Errorf("path is %s, want %s", got, want)
	}
	if got := p.Path("/x", "nothing"); got != "" {
		t.Errorf("path of an unknown component is %s", got)
	}
}

func TestLicenses(t *testing.T) {
	p := toolPayload(t)
	got, err := p.Licenses("tool")
	must(t, err)
	if len(got) != 1 || got[0].Module != "example.com/m" || got[0].Files[0].Text != "do as you like" {
		t.Errorf("licences are %+v", got)
	}
	for _, name := range []string{"nothing", Self} {
		if _, err := p.Licenses(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestPrune(t *testing.T) {
	p, dir := toolPayload(t), t.TempDir()
	must(t, p.Prune(filepath.Join(dir, "not-there")))
	must(t, p.Stage(context.Background(), dir))
	keep := []string{"tool-data", "tools-0123456789ab", "0123456789ab", filepath.Base(p.Path(dir, "tool"))}
	for _, name := range append(keep, "tool-0123456789ab") {
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	must(t, p.Prune(dir))
	for _, name := range keep {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s was removed", name)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "tool-0123456789ab")); err == nil {
		t.Error("the other version was kept")
	}
	wantStaged(t, p, dir)
}

func TestVersions(t *testing.T) {
	m := Manifest{Components: []Component{
		{Name: "a", Versions: map[string]string{"Z": "v1", "Y": "v2"}},
		{Name: "b", Versions: map[string]string{"X": "v3"}},
	}}
	want := []Version{{"a", "Y", "v2"}, {"a", "Z", "v1"}, {"b", "X", "v3"}}
	got := m.Versions()
	if len(got) != len(want) {
		t.Fatalf("versions are %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("version %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(`{"components":[{"name":"a","sha256":"` + strings.Repeat("a", 64) + `","files":[{"path":"../x","sha256":"` + strings.Repeat("a", 64) + `"}]}]}`))
	f.Add([]byte(`{"components":[{"name":"a-b"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err != nil {
			return
		}
		for _, c := range m.Components {
			for _, p := range append([]File{{Path: c.Folder()}, {Path: c.Archive()}}, c.Files...) {
				if rel, err := filepath.Rel("/d", filepath.Join("/d", p.Path)); err != nil || !filepath.IsLocal(rel) {
					t.Errorf("%q leaves the folder", p.Path)
				}
			}
		}
	})
}

// TestRelease drops pages that are used again at once.
func TestRelease(t *testing.T) {
	const text = "a constant lies in the pages that are dropped"
	for range 3 {
		Release()
		if text[2:10] != "constant" {
			t.Fatal("the program's own data has changed")
		}
	}
}
