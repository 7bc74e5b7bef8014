package recipe

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Whatever changes what comes out must change the inputs.
func TestInputsDistinguishRecipes(t *testing.T) {
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

// TestRelay builds the program as it has to be for a node, and for a pod that
// has nothing else: Linux's, and complete in itself.
func TestRelay(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	b := Bench{Source: filepath.Join("..", "..", "..", "relay"), Out: t.TempDir(), Work: t.TempDir()}
	if _, err := Relay().Make(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(b.Out, "relay"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	program, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	if libraries, err := program.ImportedLibraries(); len(libraries) > 0 || err != nil {
		t.Errorf("needs %v, %v", libraries, err)
	}
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("needs a loader")
	}
}
