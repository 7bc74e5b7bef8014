package recipe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestStamp(t *testing.T) {
	got, err := stamp([]string{"a.v={version}", "a.m={major}.{minor}"}, "v1.35.4")
	if err != nil || got != " -X a.v=v1.35.4 -X a.m=1.35" {
		t.Errorf("flags are %q, error %v", got, err)
	}
	if _, err := stamp([]string{"a={version}"}, "v1"); err == nil {
		t.Error("v1 was accepted")
	}
}

// Whatever changes what comes out must change the inputs.
func TestInputsTellRecipesApart(t *testing.T) {
	plain := Recipe{Name: "x"}
	for name, other := range map[string]Recipe{
		"revision": {Name: "x", Revision: 1},
		"list":     {Name: "x", Lists: []string{"a=b"}},
		"stamp":    {Name: "x", Stamp: []string{"a=b"}},
		"system":   {Name: "x", GOOS: "linux"},
		"tags":     {Name: "x", Tags: "a"},
	} {
		if slices.Equal(plain.Inputs(), other.Inputs()) {
			t.Errorf("%s does not show", name)
		}
	}
}

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
