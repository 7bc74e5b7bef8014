package recipe

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
)

// program lays a module of three packages into a folder of its own.
func program(t *testing.T) Compilation {
	dir := t.TempDir()
	module := "example.com/" + filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir) // no other has compiled its packages
	for name, text := range map[string]string{
		"go.mod":  "module " + module + "\n\ngo 1.24\n",
		"main.go": "package main\n\nimport \"" + module + "/a\"\n\nfunc main() { a.F() }\n",
		"a/a.go":  "package a\n\nimport \"" + module + "/b\"\n\nfunc F() { b.F(\"" + dir + "\") }\n",
		"b/b.go":  "package b\n\nfunc F(string) {}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Compilation{Dir: dir, Env: GoEnv(), Flags: buildFlags, Package: ".", Out: filepath.Join(dir, "out")}
}

func TestPackagesAreCounted(t *testing.T) {
	// what all programs have in common is compiled with this one
	if err := program(t).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := program(t)
	for _, want := range []int{3, 0} {
		all, stale, err := c.list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		begun, err := c.build(t.Context(), all, len(stale), func() {})
		if err != nil {
			t.Fatal(err)
		}
		if len(stale) != want || begun != want {
			t.Errorf("%d of %d packages were compiled, want %d of %d", begun, len(stale), want, want)
		}
	}
}

func TestNextIsCompiledWhileOneIsLinked(t *testing.T) {
	c := program(t)
	all, _, err := c.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compiled := 0
	begun, err := c.build(t.Context(), all, 0, func() { compiled++ })
	if err != nil {
		t.Fatal(err)
	}
	if compiled != 1 || begun < 3 {
		t.Errorf("%d packages were compiled, and %d times all", begun, compiled)
	}
	for range 2 { // the second has nothing to compile
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !compiling.TryLock() {
			t.Fatal("the compiler is still held")
		}
		compiling.Unlock()
	}
}

func TestErrorsOfTheCompilerAreKept(t *testing.T) {
	c := program(t)
	if err := os.WriteFile(filepath.Join(c.Dir, "a", "wrong.go"), []byte("package a\n\nvar _ int = \"\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := c.Run(t.Context())
	var failed *command.Error
	if !errors.As(err, &failed) {
		t.Fatalf("error is %v", err)
	}
	if !strings.Contains(failed.Tail, "wrong.go:3:13") || strings.Contains(failed.Tail, "/b\n") {
		t.Errorf("tail is %q", failed.Tail)
	}
}

func TestStamp(t *testing.T) {
	got, err := stamp([]string{"a.v={version}", "a.m={major}.{minor}"}, "v1.35.4")
	if err != nil || got != " -X a.v=v1.35.4 -X a.m=1.35" {
		t.Errorf("flags are %q, error %v", got, err)
	}
	if _, err := stamp([]string{"a={version}"}, "v1"); err == nil {
		t.Error("v1 was accepted")
	}
}
