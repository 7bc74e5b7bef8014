package builder

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/recipe"
)

// The folder that is embedded has exactly the pages of the entry, whatever lay there.
func TestLayPages(t *testing.T) {
	b, _ := clone(t)
	made := t.TempDir()
	licenses, err := json.Marshal([]components.License{{Component: components.Self, Module: "npm:x", Version: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, made, components.LicensesFile, string(licenses))
	write(t, made, "dist/index.html", "new")
	write(t, made, "dist/assets/main.js", "script")
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		t.Fatal(err)
	}
	e, err := cache{dir: b.Cache, name: recipe.HubWeb}.add(made, "0123456789abcdef", "", components.Component{Name: recipe.HubWeb}, func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(b.Root, filepath.FromSlash(recipe.HubWebOutput))
	write(t, out, ".keep", "")
	write(t, out, "index.html", "old")
	write(t, out, "assets/old.js", "of an earlier build")
	for range 2 {
		got, err := b.layPages(t.Context(), e)
		if err != nil || len(got) != 1 || got[0].Module != "npm:x" {
			t.Fatalf("licences are %v, error %v", got, err)
		}
		files := map[string]string{}
		err = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			rel, _ := filepath.Rel(out, path)
			files[filepath.ToSlash(rel)] = string(data)
			return err
		})
		if err != nil || len(files) != 3 || files["index.html"] != "new" || files["assets/main.js"] != "script" {
			t.Errorf("the folder has %v, error %v", files, err)
		}
		if _, ok := files[".keep"]; !ok {
			t.Error(".keep is gone")
		}
	}
}

func TestPagesKey(t *testing.T) {
	b, said := clone(t)
	if _, err := b.pagesKey(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without pages: error %v", err)
	}
	if _, ok, err := b.pages(t.Context()); ok || err != nil || said.Len() == 0 {
		t.Errorf("without pages: %v, error %v, said %q", ok, err, said)
	}
	for _, source := range recipe.HubWebSources() {
		if source == "hub/web/src" {
			source += "/main.tsx"
		}
		write(t, b.Root, source, "text")
	}
	key := func() string {
		t.Helper()
		k, err := b.pagesKey()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first := key()
	write(t, b.Root, recipe.HubWebTypes, "made in the build")
	write(t, b.Root, recipe.HubWebOutput+"/index.html", "made by the build")
	write(t, b.Root, "hub/web/node_modules/x/index.js", "fetched")
	if key() != first {
		t.Error("what is made of the sources changes the key")
	}
	for _, name := range []string{"hub/web/src/main.tsx", "hub/web/src/new.ts", "hub/web/package-lock.json", "hub/api/openapi.json"} {
		before := key()
		write(t, b.Root, name, "another text")
		if key() == before {
			t.Errorf("%s changes and the key does not", name)
		}
	}
}
