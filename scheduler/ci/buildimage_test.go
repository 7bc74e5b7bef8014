package ci_test

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/ci/gosources"
)

// desk is an application's folder, packed programs, a registry, and a Go
// toolchain that writes down how it was called instead of building.
type desk struct {
	*testing.T
	app, packed string
	build       ci.Build
	log         strings.Builder
}

func newDesk(t *testing.T) *desk {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	d := &desk{T: t, app: t.TempDir(), packed: filepath.Join(t.TempDir(), "server")}
	d.write(filepath.Join(d.app, "Dockerfile"), "FROM scratch\nCOPY server /app\nCOPY page.html /\n")
	d.write(filepath.Join(d.app, "go.mod"), "module server\n")
	d.write(filepath.Join(d.app, "main.go"), "package main\n\nfunc main() {}\n")
	d.write(filepath.Join(d.app, "page.html"), "page 1")
	d.write(d.packed, "packed")
	fingerprint, err := gosources.OfFolder(d.app)
	if err != nil {
		t.Fatal(err)
	}
	d.write(d.packed+gosources.Suffix, fingerprint+"\n")
	d.build = ci.Build{
		Context: d.app, Name: host + "/kalypso/app/server", Tag: "1", GoProgram: "server",
		Programs: map[string]string{"server": d.packed}, Registry: host, Server: server.URL,
		Report: func(text string) { d.log.WriteString(text + "\n") },
	}
	return d
}

func (d *desk) write(file, content string) {
	d.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		d.Fatal(err)
	}
}

// toolchain makes a script the only program in PATH.
func (d *desk) toolchain(script string) {
	d.Helper()
	dir := d.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			d.Fatal(err)
		}
	}
	d.Setenv("PATH", dir)
}

// calls is a toolchain whose programs hold how it was called.
const calls = `program=
for a; do [ "$last" = -o ] && program=$a; last=$a; done
[ -n "$program" ] || exit 9
echo "built in $PWD with $GOCACHE, $CGO_ENABLED $GOOS/$GOARCH $GOWORK" > "$program"
`

// image returns what is in an image: its program, and the page beside it.
func (d *desk) image(built ci.Built) (program, page string) {
	d.Helper()
	ref, err := name.ParseReference(built.Image)
	if err != nil {
		d.Fatal(err)
	}
	image, err := remote.Image(ref)
	if err != nil {
		d.Fatal(err)
	}
	content := mutate.Extract(image)
	defer content.Close()
	files := filesOf(d.T, content)
	return files["app"], files["page.html"]
}

func TestGoProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the toolchain is a script")
	}
	change := func(d *desk) { d.write(filepath.Join(d.app, "main.go"), "package main\n\nfunc main() { println() }\n") }
	forget := func(d *desk) {
		if err := os.Remove(d.packed + gosources.Suffix); err != nil {
			d.Fatal(err)
		}
	}
	for _, test := range []struct {
		name    string
		change  func(*desk)
		script  string // the toolchain, "" for none
		program string // part of what ends up in the image
		says    string // the log, or else the error
		hint    string // of the error
	}{
		{"the packed program is of the same Go files", func(*desk) {}, calls, "packed", "it was built of the same Go files", ""},
		{"and needs no toolchain", func(*desk) {}, "", "packed", "it was built of the same Go files", ""},
		{"a page is no Go file", func(d *desk) { d.write(filepath.Join(d.app, "page.html"), "page 2") }, "", "packed", "same Go files", ""},
		{"changed files are built", change, calls, "built in ", "building server of the Go files in ", ""},
		{"and the log says why", change, calls, "built in ", "the Go files were changed", ""},
		{"changed files without a toolchain", change, "", "", "the Go files were changed, so the packed program is not theirs, and there is no Go toolchain", "all other files can change without it"},
		{"nobody knows what the program is of", forget, calls, "built in ", "nothing says which Go files", ""},
		{"nobody knows, and no toolchain", forget, "", "", "nothing says which Go files", "leave --go-program out"},
		{"no packed program, as on GitHub", func(d *desk) { d.build.Programs = nil }, calls, "built in ", "there is no packed program", ""},
		{"nothing at all", func(d *desk) { d.build.Programs = nil }, "", "", "there is no Go toolchain", "--program server=FILE"},
		{"an old program in the folder does not count", func(d *desk) { d.write(filepath.Join(d.app, "server"), "old") }, calls, "packed", "same Go files", ""},
		{"the toolchain fails", change, "echo main.go:3: no; exit 1", "", "main.go:3: no", ""},
		{"no program is to be built", func(d *desk) { forget(d); d.build.GoProgram = "" }, "", "packed", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDesk(t)
			test.change(d)
			d.toolchain(test.script)
			t.Setenv("GOCACHE", "/the/cache")
			built, err := ci.BuildImage(t.Context(), d.build)
			if test.program == "" {
				if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(ci.Hint(err), test.hint) {
					t.Errorf("error %v\nhint %s", err, ci.Hint(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(d.log.String(), test.says) {
				t.Errorf("the log says\n%s", d.log.String())
			}
			program, page := d.image(built)
			if !strings.HasPrefix(program, test.program) || !strings.HasPrefix(page, "page ") {
				t.Errorf("program %q, page %q", program, page)
			}
			if want := d.app + " with /the/cache, 0 linux/" + runtime.GOARCH + " off\n"; test.program != "packed" && program != "built in "+want {
				t.Errorf("program %q, want built in %q", program, want)
			}
		})
	}
}

// TestKeep: an image that is there stays, or gives way.
func TestKeep(t *testing.T) {
	d := newDesk(t)
	first, err := ci.BuildImage(t.Context(), d.build)
	if err != nil {
		t.Fatal(err)
	}
	d.write(filepath.Join(d.app, "page.html"), "page 2")
	for _, test := range []struct {
		keep bool
		tag  string
		want string
	}{{true, "1", "page 1"}, {true, "2", "page 2"}, {false, "1", "page 2"}} {
		d.build.Keep, d.build.Tag = test.keep, test.tag
		built, err := ci.BuildImage(t.Context(), d.build)
		if err != nil {
			t.Fatal(err)
		}
		if _, page := d.image(built); page != test.want || (built.Digest == first.Digest) != (test.want == "page 1") {
			t.Errorf("%+v: %s, digest %s after %s", test, page, built.Digest, first.Digest)
		}
	}
}

// filesOf reads an archive.
func filesOf(t *testing.T, content io.Reader) map[string]string {
	t.Helper()
	files := map[string]string{}
	for archive := tar.NewReader(content); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(data)
	}
}
