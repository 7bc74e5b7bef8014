package recipe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/ci/gosources"
)

// TestSamples builds the applications and compares their fingerprints with
// those of the folders that a user gets from the forge.
func TestSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles programs")
	}
	dir := t.TempDir()
	b := Bench{
		Source: filepath.Join("..", "..", "..", "samples"), Out: filepath.Join(dir, "out"), Work: filepath.Join(dir, "work"),
	}
	for _, d := range []string{b.Out, b.Work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Samples().Make(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(b.Out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"basic-inference", "basic-inference.sources", "hello-world", "hello-world.sources", "samples"}; !slices.Equal(names, want) {
		t.Errorf("made %v, want %v", names, want)
	}
	for _, s := range samples {
		folder := filepath.Join("..", "..", "..", "..", "..", "fixtures", s.workshop, "repositories", s.repository, "main")
		checkout := t.TempDir()
		if err := os.CopyFS(checkout, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(checkout, "go.mod.fixture"), filepath.Join(checkout, "go.mod")); err != nil {
			t.Fatal(err)
		}
		want, err := gosources.OfFolder(checkout)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(b.Out, s.name+gosources.Suffix))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want+"\n" {
			t.Errorf("%s: fingerprint %s, of the folder it is %s", s.name, got, want)
		}
		program, err := os.ReadFile(filepath.Join(b.Out, s.name))
		if err != nil || !strings.HasPrefix(string(program), "\x7fELF") {
			t.Errorf("%s: %d bytes, %v", s.name, len(program), err)
		}
	}
}

// TestSamplesDependOnTheirGoFiles: only what is built decides whether the
// component is.
func TestSamplesDependOnTheirGoFiles(t *testing.T) {
	inputs := strings.Join(Samples().Inputs(), "\n")
	for _, want := range []string{"list=main.go", "list=model.go", "list=page.go", "list=go.mod", "list=module basic-inference"} {
		if !strings.Contains(inputs, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, other := range []string{"page.html\n", "_test.go\n", "README"} {
		if strings.Contains(inputs, "list="+other) {
			t.Errorf("%s counts", other)
		}
	}
}
