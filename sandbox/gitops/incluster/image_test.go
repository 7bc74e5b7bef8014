package incluster

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// loaded is an image as a node finds it in an archive.
type loaded struct {
	name   string
	config struct {
		Architecture, OS string
		Config           struct {
			Entrypoint, Env []string
			User            string
		}
	}
	files map[string]*tar.Header
	texts map[string]string
}

func load(t *testing.T, i Image) loaded {
	t.Helper()
	var archive bytes.Buffer
	if err := i.Write(&archive); err != nil {
		t.Fatal(err)
	}
	_, outer := untar(t, archive.Bytes())
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal([]byte(outer["manifest.json"]), &manifest); err != nil || len(manifest) != 1 {
		t.Fatalf("manifest %s: %v", outer["manifest.json"], err)
	}
	l := loaded{name: manifest[0].RepoTags[0], files: map[string]*tar.Header{}, texts: map[string]string{}}
	if err := json.Unmarshal([]byte(outer[manifest[0].Config]), &l.config); err != nil {
		t.Fatal(err)
	}
	for _, name := range manifest[0].Layers {
		headers, texts := untar(t, []byte(outer[name]))
		maps.Copy(l.files, headers)
		maps.Copy(l.texts, texts)
	}
	return l
}

func untar(t *testing.T, archive []byte) (map[string]*tar.Header, map[string]string) {
	t.Helper()
	headers, texts := map[string]*tar.Header{}, map[string]string{}
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return headers, texts
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		headers[h.Name], texts[h.Name] = h, string(b)
	}
}

func TestImagesOfFlux(t *testing.T) {
	f := testFlux(t)
	images, err := f.Images(t.Context())
	if err != nil || len(images) != 2 {
		t.Fatalf("%d images: %v", len(images), err)
	}
	if ok, _ := regexp.MatchString(`^kalypso\.dev/flux:v1\.2\.3-[0-9a-f]{12}$`, images[0].Name); !ok {
		t.Errorf("the image of Flux is called %s", images[0].Name)
	}
	flux := load(t, images[0])
	if flux.name != images[0].Name {
		t.Errorf("the archive calls it %s", flux.name)
	}
	if flux.config.OS != "linux" || flux.config.Architecture != runtime.GOARCH {
		t.Errorf("it is for %s/%s", flux.config.OS, flux.config.Architecture)
	}
	// not root, as a number, or a pod with runAsNonRoot does not start
	if flux.config.Config.User != "65534:65534" {
		t.Errorf("it runs as %q", flux.config.Config.User)
	}
	if h := flux.files["usr/local/bin/flux"]; h == nil || h.Mode != 0o755 || !strings.HasSuffix(flux.texts["usr/local/bin/flux"], "program") {
		t.Errorf("the program is %+v", h)
	}
	relay := load(t, images[1])
	if ok, _ := regexp.MatchString(`^kalypso\.dev/relay:[0-9a-f]{12}$`, relay.name); !ok {
		t.Errorf("the image of the relay is called %s", relay.name)
	}
	if !slices.Equal(relay.config.Config.Entrypoint, []string{"/relay"}) || len(relay.files) != 1 {
		t.Errorf("the relay's image has %v and starts %q", slices.Collect(maps.Keys(relay.files)), relay.config.Config.Entrypoint)
	}
}

func TestAnImageIsTheSameWheneverItIsMade(t *testing.T) {
	write := func(f Flux) ([]byte, string) {
		images, err := f.Images(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := images[0].Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes(), images[0].Name
	}
	// other folders, other times, the same content
	one, first := write(testFlux(t))
	two, second := write(testFlux(t))
	if !bytes.Equal(one, two) || first != second {
		t.Errorf("%s and %s are not the same", first, second)
	}
	changed := testFlux(t)
	if err := os.WriteFile(filepath.Join(changed.Staged("flux"), "flux"), append(header(t), "another"...), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, third := write(changed); third == first {
		t.Error("another program has the same name")
	}
}

func TestAnImageOfAFileThatChangesIsAnError(t *testing.T) {
	f := testFlux(t)
	images, err := f.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(f.Staged("flux"), "flux")
	for name, change := range map[string]func() error{
		"other content": func() error { return os.WriteFile(program, append(header(t), "PROGRAM"...), 0o755) },
		"gone":          func() error { return os.Remove(program) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if err := images[0].Write(io.Discard); err == nil {
			t.Errorf("%s: the image was written under the name of the first", name)
		}
	}
}

func TestAProgramForAnotherSystemIsRefused(t *testing.T) {
	f := testFlux(t)
	program := filepath.Join(f.Staged("flux"), "flux")
	if err := os.WriteFile(program, []byte("\xcf\xfa\xed\xfe program of another system"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Images(t.Context()); err == nil || !strings.Contains(err.Error(), "built for Linux") {
		t.Errorf("error is %v", err)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Images(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}

func TestImageOfArgoCD(t *testing.T) {
	a := testArgoCD(t)
	images, err := a.Images(t.Context())
	if err != nil || len(images) != 2 {
		t.Fatalf("%d images: %v", len(images), err)
	}
	i := load(t, images[0])
	if !strings.HasPrefix(i.name, "kalypso.dev/argocd:v9.8.7-") {
		t.Errorf("it is called %s", i.name)
	}
	// upstream's manifests name what they start in the arguments
	if len(i.config.Config.Entrypoint) > 0 || i.config.Config.User != "999" {
		t.Errorf("it starts %q as %q", i.config.Config.Entrypoint, i.config.Config.User)
	}
	for _, part := range argoCDParts {
		if h := i.files["usr/local/bin/"+part]; h == nil || h.Linkname != "argocd" {
			t.Errorf("%s is %+v", part, h)
		}
	}
	if !strings.Contains(i.texts["shared/app/index.html"], "pages") {
		t.Error("the pages are missing")
	}
	if h := i.files["home/argocd/"]; h == nil || h.Uid != 999 {
		t.Errorf("the home is %+v", h)
	}
	if !strings.Contains(i.texts["etc/passwd"], "argocd:x:999:999::/home/argocd:") {
		t.Errorf("users are %q", i.texts["etc/passwd"])
	}
}

func TestParseLibraries(t *testing.T) {
	const list = `	linux-vdso.so.1 (0x00007ffc8a5f2000)
	libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f3a5c1e2000)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f3a5c000000)
	/lib64/ld-linux-x86-64.so.2 (0x00007f3a5c5f1000)
`
	got, err := parseLibraries(list)
	if err != nil || !slices.Equal(got, []string{"/lib/x86_64-linux-gnu/libz.so.1", "/lib/x86_64-linux-gnu/libc.so.6"}) {
		t.Errorf("%q, error %v", got, err)
	}
	if _, err := parseLibraries("\tlibz.so.1 => not found\n"); err == nil || !strings.Contains(err.Error(), "libz.so.1: not found") {
		t.Errorf("error is %v", err)
	}
}

func TestGitThatCannotBeTaken(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("git for the image is on Linux machines only")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := findGit(t.Context()); err == nil || !strings.Contains(err.Error(), "install git") {
		t.Errorf("none: %v", err)
	}
	script := "#!/bin/sh\necho " + dir + "\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := findGit(t.Context()); err == nil || !strings.Contains(err.Error(), "is a script") {
		t.Errorf("a script: %v", err)
	}
}
