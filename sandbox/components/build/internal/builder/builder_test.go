package builder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/recipe"
)

// clone makes a repository with one component, a program without dependencies,
// and returns a builder of it and what the builder says.
func clone(t *testing.T) (Builder, *bytes.Buffer) {
	t.Helper()
	root, said := t.TempDir(), &bytes.Buffer{}
	write(t, root, "sandbox/components/manifest.go", "package components\n")
	write(t, root, "sandbox/components/payload/.keep", "")
	write(t, root, "sandbox/components/tool/go.mod", "module example.com/tool\n\ngo 1.24\n")
	write(t, root, "sandbox/components/tool/main.go", "package main\n\nfunc main() { println(\"tool\") }\n")
	extra := func(_ context.Context, b recipe.Bench) ([]components.License, error) {
		return []components.License{{Module: "npm:x", Version: "1"}}, os.WriteFile(filepath.Join(b.Out, "extra.txt"), []byte("extra"), 0o600)
	}
	return Builder{
		Root:     root,
		Cache:    filepath.Join(t.TempDir(), "cache"),
		Recipes:  []recipe.Recipe{{Name: "tool", Finish: extra}},
		Progress: log.New(said, "components: ", 0),
	}, said
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// mustBuild runs the builder and returns how many components it built.
func mustBuild(t *testing.T, b Builder, said *bytes.Buffer) int {
	t.Helper()
	said.Reset()
	if err := b.Run(context.Background()); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return strings.Count(said.String(), "built in")
}

func payloadOf(t *testing.T, b Builder) *components.Payload {
	t.Helper()
	p, err := components.Open(os.DirFS(b.payload()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBuildOnce(t *testing.T) {
	b, said := clone(t)
	write(t, b.payload(), "left.tar.zst", "of an earlier build")
	if n := mustBuild(t, b, said); n != 1 {
		t.Errorf("the first build built %d components", n)
	}
	first := payloadOf(t, b)
	if n := mustBuild(t, b, said); n != 0 {
		t.Errorf("the second build built %d components", n)
	}
	if _, err := os.Stat(filepath.Join(b.payload(), "left.tar.zst")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("an archive of an earlier build is left in the payload")
	}

	dir := t.TempDir()
	if err := payloadOf(t, b).Stage(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	out, err := command.Command{Args: []string{filepath.Join(first.Path(dir, "tool"), "tool")}}.Output(context.Background())
	if err != nil || len(out) != 0 {
		t.Errorf("the program says %q, error %v", out, err)
	}
	licenses, err := first.Licenses("tool")
	if err != nil {
		t.Fatal(err)
	}
	if len(licenses) != 2 || licenses[0].Module != "std" || len(licenses[0].Files) == 0 || licenses[1].Component != "tool" {
		t.Errorf("licences are %v", licenses)
	}
}

// Two clones, or one that is built anew, must come to the same bytes.
func TestBuildIsReproducible(t *testing.T) {
	b, said := clone(t)
	mustBuild(t, b, said)
	first := payloadOf(t, b).Manifest().Components[0].SHA256
	other, said := clone(t)
	mustBuild(t, other, said)
	if second := payloadOf(t, other).Manifest().Components[0].SHA256; first != second {
		t.Errorf("digests are %s and %s", first, second)
	}
}

func TestBuildAgain(t *testing.T) {
	tests := map[string]func(t *testing.T, b *Builder){
		"source changed":   func(t *testing.T, b *Builder) { write(t, b.Root, "sandbox/components/tool/x.go", "package main\n") },
		"recipe changed":   func(_ *testing.T, b *Builder) { b.Recipes[0].Revision++ },
		"record missing":   func(t *testing.T, b *Builder) { remove(t, b.Cache, "tool-*.json") },
		"archive missing":  func(t *testing.T, b *Builder) { remove(t, b.Cache, "tool-*.tar.zst") },
		"archive damaged":  func(t *testing.T, b *Builder) { damage(t, b.Cache, "tool-*.tar.zst") },
		"record no record": func(t *testing.T, b *Builder) { damage(t, b.Cache, "tool-*.json") },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			b, said := clone(t)
			mustBuild(t, b, said)
			change(t, &b)
			if n := mustBuild(t, b, said); n != 1 {
				t.Errorf("built %d components\n%s", n, said)
			}
			if err := payloadOf(t, b).Stage(context.Background(), t.TempDir()); err != nil {
				t.Error(err)
			}
		})
	}
}

func remove(t *testing.T, dir, pattern string) {
	t.Helper()
	for _, f := range find(t, dir, pattern) {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
}

func damage(t *testing.T, dir, pattern string) {
	t.Helper()
	for _, f := range find(t, dir, pattern) {
		if err := os.Truncate(f, 20); err != nil {
			t.Fatal(err)
		}
	}
}

func find(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s in %s, error %v", pattern, dir, err)
	}
	return found
}

func TestBuildAtOnce(t *testing.T) {
	b, said := clone(t)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := b.Run(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(said.String(), "built in"); n != 1 {
		t.Errorf("built %d times\n%s", n, said)
	}
}

func TestBuildFails(t *testing.T) {
	b, said := clone(t)
	write(t, b.Root, "sandbox/components/tool/main.go", "package main\n\nfunc main() { nonsense }\n")
	err := b.Run(context.Background())
	var failed *command.Error
	if !errors.As(err, &failed) || !strings.Contains(failed.Tail, "undefined: nonsense") {
		t.Fatalf("error is %v\n%s", err, said)
	}
	if !strings.HasPrefix(err.Error(), "build tool: go build") || strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error is %q", err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.Cache, "tool-*")); len(left) != 0 {
		t.Errorf("left in the cache: %v", left)
	}
}

func TestTestsOfComponents(t *testing.T) {
	b, said := clone(t)
	const test = "package main\n\nimport \"testing\"\n\nfunc TestIt(t *testing.T) { %s }\n"
	write(t, b.Root, "sandbox/components/tool/main_test.go", fmt.Sprintf(test, `t.Log("fine")`))
	if err := b.Test(t.Context()); err != nil || !strings.Contains(said.String(), "tested in") {
		t.Errorf("%v\n%s", err, said)
	}
	write(t, b.Root, "sandbox/components/tool/main_test.go", fmt.Sprintf(test, `t.Error("it is broken")`))
	err := b.Test(t.Context())
	var failed *command.Error
	if !errors.As(err, &failed) || !strings.Contains(failed.Tail, "it is broken") || !strings.HasPrefix(err.Error(), "test tool: go test") {
		t.Errorf("error is %v", err)
	}
}

func TestCacheKeepsTheNewest(t *testing.T) {
	b, said := clone(t)
	var digests []string
	for i := range keep + 2 {
		b.Recipes[0].Revision = i
		write(t, b.Root, "sandbox/components/tool/n.go", "package main\n\nfunc init() { println("+strings.Repeat("1", i+1)+") }\n")
		mustBuild(t, b, said)
		digests = append(digests, payloadOf(t, b).Manifest().Components[0].SHA256)
	}
	var kept string
	for _, f := range find(t, b.Cache, "tool-*.json") {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		kept += string(data)
	}
	for i, d := range digests {
		if want := i >= len(digests)-keep; strings.Contains(kept, d) != want {
			t.Errorf("entry %d is kept: %v, want %v", i, !want, want)
		}
	}
	if n := len(find(t, b.Cache, "tool-*")); n != 2*keep {
		t.Errorf("%d files are in the cache", n)
	}
}

func TestCacheFolder(t *testing.T) {
	tests := map[string]struct {
		env  map[string]string
		want string
	}{
		"own":     {map[string]string{"KALYPSO_CACHE": "/k", "XDG_CACHE_HOME": "/x"}, "/k/components"},
		"desktop": {map[string]string{"XDG_CACHE_HOME": "/x"}, "/x/kalypso/components"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := cacheFolder(func(k string) string { return tt.env[k] })
			if err != nil || got != tt.want {
				t.Errorf("folder is %s, error %v, want %s", got, err, tt.want)
			}
		})
	}
}
