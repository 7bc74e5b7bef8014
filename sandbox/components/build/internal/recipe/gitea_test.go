package recipe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestCheckFrontend(t *testing.T) {
	dir := t.TempDir()
	files := []string{"js/index.abc.js", "js/iife.abc.js", "css/index.abc.css", "css/theme-gitea-auto.abc.css", ".vite/manifest.json"}
	for _, f := range files {
		path := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkFrontend(dir); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Rename(filepath.Join(dir, f), filepath.Join(dir, "away")); err != nil {
			t.Fatal(err)
		}
		if err := checkFrontend(dir); err == nil {
			t.Errorf("a front end without %s was accepted", f)
		}
		if err := os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, f)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMoveStatic(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "options"), filepath.Join(t.TempDir(), "static", "options")
	for _, f := range []string{"locale/locale_en-US.json", "locale/locale_de-DE.json", "locale/TRANSLATORS", "license/MIT", "x.js.map"} {
		path := filepath.Join(from, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := moveStatic(from, to); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, pattern := range []string{"*.*", "*/*"} {
		found, _ := filepath.Glob(filepath.Join(to, pattern))
		for _, f := range found {
			rel, _ := filepath.Rel(to, f)
			got = append(got, rel)
		}
	}
	if want := []string{"license/MIT", "locale/locale_en-US.json"}; !slices.Equal(got, want) {
		t.Errorf("static has %v, want %v", got, want)
	}
}
