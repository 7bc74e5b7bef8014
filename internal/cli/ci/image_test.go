package ci

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/ci/gosources"
)

// serveRegistry serves an image registry that takes one token only, and returns
// its host.
func serveRegistry(t *testing.T, token string) string {
	t.Helper()
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if _, password, _ := q.BasicAuth(); password != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		images.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// pulled returns an image's configuration and its files by path.
func (r *runner) pulled(image string) (v1.Config, map[string]string) {
	r.Helper()
	ref, err := name.ParseReference(image)
	if err != nil {
		r.Fatal(err)
	}
	got, err := remote.Image(ref, remote.WithAuth(&authn.Basic{Username: "kalypso", Password: r.env["GITHUB_TOKEN"]}))
	if err != nil {
		r.Fatal(err)
	}
	config, err := got.ConfigFile()
	if err != nil {
		r.Fatal(err)
	}
	content := mutate.Extract(got)
	defer content.Close()
	files := map[string]string{}
	for archive := tar.NewReader(content); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return config.Config, files
		}
		if err != nil {
			r.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			r.Fatal(err)
		}
		files[h.Name] = string(data)
		if h.Mode&0o111 != 0 {
			files[h.Name] += " (executable)"
		}
	}
}

// TestBuildImage makes an application's image of its folder, and another one on
// top of that one.
func TestBuildImage(t *testing.T) {
	r := newRunner(t, "Kalypso/shop")
	host := serveRegistry(t, "secret")
	r.env["GITHUB_SERVER_URL"] = "http://" + host
	folder := t.TempDir()
	for file, content := range map[string]string{
		"Dockerfile":    "# ours\nFROM scratch\nWORKDIR /srv\nCOPY server ./\nCOPY page.html site/ /www/\nENV PORT=8080 \\\n  NAME=\"the shop\"\nEXPOSE 8080\nUSER 65532:65532\nENTRYPOINT [\"/srv/server\"]\n",
		"page.html":     "<h1>Shop</h1>",
		"site/a/b.css":  "b",
		"site/.hidden":  "h",
		"unwanted.text": "u",
		"next/Dock":     "FROM shop:1\nCOPY . /srv/next\nCMD [\"--fast\"]\n",
		"next/x":        "x",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	programs := t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "server"), []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	build := []string{"build-image", "--context", folder, "--name", "Web"}
	if d := r.step(build...); d.code != cmdutil.ExitFailure || !strings.Contains(d.talk, "Dockerfile:4: COPY server: server is not in ") || !strings.Contains(d.talk, "--go-program server") {
		t.Errorf("no program: exit code %d\n%s", d.code, d.talk)
	}
	r.env["KALYPSO_CI_PROGRAMS"] = programs
	d := r.must(build...)
	image := host + "/kalypso/shop/web:0.0.1-7"
	if d.out != image+"\n" || d.outputs["image"] != image || d.outputs["tag"] != "0.0.1-7" || d.outputs["name"] != host+"/kalypso/shop/web" {
		t.Errorf("printed %q, outputs %v", d.out, d.outputs)
	}
	config, files := r.pulled(image)
	if diff := cmp.Diff(map[string]string{
		"srv/server": "program (executable)", "www/page.html": "<h1>Shop</h1>", "www/a/b.css": "b", "www/.hidden": "h",
	}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	want := v1.Config{
		Env: []string{"PORT=8080", "NAME=the shop"}, ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		User: "65532:65532", WorkingDir: "/srv", Entrypoint: []string{"/srv/server"},
	}
	if diff := cmp.Diff(want, config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if again := r.must(build...); again.outputs["digest"] != d.outputs["digest"] {
		t.Errorf("digest %s, then %s", d.outputs["digest"], again.outputs["digest"])
	}

	d = r.must("build-image", "--context", filepath.Join(folder, "next"), "--dockerfile", "Dock", "--name", host+"/kalypso/shop/next", "--tag", "2",
		"--base", "alpine=elsewhere", "--base", "shop:1="+image)
	config, files = r.pulled(d.outputs["image"])
	if files["srv/next/x"] != "x" || files["srv/server"] != "program (executable)" {
		t.Errorf("files %v", files)
	}
	want.Cmd = []string{"--fast"}
	if diff := cmp.Diff(want, config); diff != "" {
		t.Errorf("configuration on top (-want +got):\n%s", diff)
	}

	r.env["GITHUB_TOKEN"] = "wrong"
	if d := r.step(build...); d.code != cmdutil.ExitAuthentication || !strings.Contains(d.talk, "KALYPSO_CI_TOKEN") {
		t.Errorf("another token: exit code %d\n%s", d.code, d.talk)
	}
}

// TestBuildImageFromGo builds the workshop's application of its sources.
func TestBuildImageFromGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the Go toolchain")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no Go toolchain")
	}
	r := newRunner(t, "kalypso/kalypso-app-src")
	host := serveRegistry(t, "secret")
	r.env["GITHUB_SERVER_URL"] = "http://" + host
	folder := r.checkout("hello-world", "kalypso-app-src", "main")
	d := r.must("build-image", "--context", folder, "--name", "hello-world", "--go-program", "hello-world")
	config, files := r.pulled(d.outputs["image"])
	program := files["app"]
	if !strings.HasPrefix(program, "\x7fELF") || !strings.HasSuffix(program, "(executable)") || len(files) != 2 || !strings.Contains(files["page.html"], "{{.Cluster}}") {
		t.Errorf("%d files, the program has %d bytes, the page is\n%s", len(files), len(program), files["page.html"])
	}
	if diff := cmp.Diff([]string{"/app"}, config.Entrypoint); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(filepath.Join(folder, "page.go"), []byte("package main\n\nthis is no Go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d := r.step("build-image", "--context", folder, "--go-program", "hello-world"); d.code != cmdutil.ExitFailure || !strings.Contains(d.talk, "page.go:3") {
		t.Errorf("exit code %d\n%s", d.code, d.talk)
	}
}

// TestBuildImageWithPackedProgram: on a runner of ours a change of the page
// needs no Go toolchain, and a change of the program is not passed over.
func TestBuildImageWithPackedProgram(t *testing.T) {
	for _, app := range []struct{ workshop, repository, name, page, source string }{
		{"hello-world", "kalypso-app-src", "hello-world", "page.html", "page.go"},
		{"basic-inference", "basic-inference-orchestration", "basic-inference", "model.json", "model.go"},
	} {
		r := newRunner(t, "kalypso/"+app.repository)
		host := serveRegistry(t, "secret")
		r.env["GITHUB_SERVER_URL"] = "http://" + host
		folder, programs := r.checkout(app.workshop, app.repository, "main"), t.TempDir()
		fingerprint, err := gosources.OfFolder(folder)
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{
			filepath.Join(programs, app.name):                      "packed",
			filepath.Join(programs, app.name+gosources.Suffix):     fingerprint,
			filepath.Join(folder, app.page):                        "another page",
			filepath.Join(folder, strings.ToUpper(app.name)+".md"): "no Go",
		} {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", "")
		r.env["KALYPSO_CI_PROGRAMS"] = programs
		build := []string{"build-image", "--context", folder, "--name", app.name, "--go-program", app.name}
		d := r.must(build...)
		if !strings.Contains(d.talk, app.name+" is the packed program") {
			t.Errorf("it does not say what it took:\n%s", d.talk)
		}
		_, files := r.pulled(d.outputs["image"])
		if diff := cmp.Diff(map[string]string{"app": "packed (executable)", app.page: "another page"}, files); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}

		if err := os.WriteFile(filepath.Join(folder, app.source), []byte("package main\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if d := r.step(build...); d.code != cmdutil.ExitFailure || !strings.Contains(d.talk, "the Go files were changed") || !strings.Contains(d.talk, "actions/setup-go") {
			t.Errorf("exit code %d\n%s", d.code, d.talk)
		}
	}
}
