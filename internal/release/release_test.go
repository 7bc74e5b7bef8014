package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"aead.dev/minisign"
	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

const testVersion = "v0.0.9-rc.1"

// makeRelease makes a release of kalypso-cli for this machine, signed.
func makeRelease(t *testing.T, key string) *Release {
	t.Helper()
	r := &Release{
		Version: testVersion, Root: "../..", Out: filepath.Join(t.TempDir(), testVersion), URL: repository + "/releases", Key: key, Dirty: true,
		Targets: []Target{{Name: cli, OS: runtime.GOOS, Arch: runtime.GOARCH}},
	}
	if err := r.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// file reads a file of a release.
func (r *Release) file(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.Out, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRelease makes a small release twice, and looks at all that is in it.
func TestRelease(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("packages and images are of programs for Linux")
	}
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "release.key")
	if err := os.WriteFile(key, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r := makeRelease(t, key)
	again := makeRelease(t, key)
	if first, second := r.file(t, sumsFile), again.file(t, sumsFile); string(first) != string(second) {
		t.Errorf("a second run makes others:\n%s\n%s", first, second)
	}
	if !minisign.Verify(public, r.file(t, sumsFile), r.file(t, sumsFile+".minisig")) {
		t.Error("the signature is not valid")
	}
	for name, look := range map[string]func(*testing.T, *Release){
		"Digests": lookAtDigests, "Archive": lookAtArchive, "Packages": lookAtPackages, "Images": lookAtImages, "Chart": lookAtChart,
		"BillOfMaterials": lookAtMaterials, "Provenance": lookAtProvenance, "Install": install, "Action": runAction,
	} {
		t.Run(name, func(t *testing.T) { look(t, r) })
	}
}

func lookAtDigests(t *testing.T, r *Release) {
	listed := map[string]bool{sumsFile: true, sumsFile + ".minisig": true}
	for line := range strings.Lines(string(r.file(t, sumsFile))) {
		digest, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sum := sha256.Sum256(r.file(t, name))
		if hex.EncodeToString(sum[:]) != digest {
			t.Errorf("%s has another digest", name)
		}
		listed[name] = true
	}
	files, err := os.ReadDir(r.Out)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !listed[f.Name()] {
			t.Errorf("%s is not in %s", f.Name(), sumsFile)
		}
	}
	if len(files) != len(listed) || len(listed) < 10 {
		t.Errorf("%d files, %d listed", len(files), len(listed))
	}
}

// unpack returns the files of a tar archive, and checks what makes it the same
// wherever it is made.
func unpack(t *testing.T, r *Release, in io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for tr := tar.NewReader(in); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(r.time) || h.Uname != "" || h.Uid != 0 && h.Name != "home/nonroot/" {
			t.Errorf("%s: time %s, owner %d %q", h.Name, h.ModTime, h.Uid, h.Uname)
		}
		if files[h.Name], err = io.ReadAll(tr); err != nil {
			t.Fatal(err)
		}
		if base := path.Base(h.Name); (base == "kalypso" && !strings.Contains(h.Name, "bash")) != (h.Mode&0o111 != 0) && h.Typeflag == tar.TypeReg {
			t.Errorf("%s has mode %o", h.Name, h.Mode)
		}
	}
}

func gunzip(t *testing.T, data []byte) io.Reader {
	t.Helper()
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return zr
}

func lookAtArchive(t *testing.T, r *Release) {
	files := unpack(t, r, gunzip(t, r.file(t, archiveName(r.Targets[0], r.number()))))
	for name, want := range map[string]string{
		"LICENSE": "Apache License", "README.md": "# kalypso", "THIRD-PARTY-LICENSES.txt": "github.com/spf13/cobra", "man/kalypso-plan.1": ".TH", "man/kalypso-up.1": ".TH",
		"completions/bash/kalypso": "__start_kalypso", "completions/zsh/_kalypso": "#compdef kalypso", "completions/fish/kalypso.fish": "complete -c kalypso",
		"completions/powershell/kalypso.ps1": "Register-ArgumentCompleter", "kalypso": "\x7fELF",
	} {
		if !strings.Contains(string(files[name]), want) {
			t.Errorf("%s is %.60q, without %q", name, files[name], want)
		}
	}
	program := filepath.Join(t.TempDir(), "kalypso")
	if err := os.WriteFile(program, files["kalypso"], 0o755); err != nil {
		t.Fatal(err)
	}
	if got := versionOf(t, program); got != testVersion {
		t.Errorf("its version is %s", got)
	}
}

// versionOf is what a program says of itself.
func versionOf(t *testing.T, program string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, "version", "-o", "json")
	c.Env = append(os.Environ(), "KALYPSO_HOME="+t.TempDir())
	out, err := c.Output()
	var v struct{ Kalypso string }
	if err := errors.Join(err, json.Unmarshal(out, &v)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return v.Kalypso
}

// tool runs one of the machine's programs, and skips the test where there is none.
func tool(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(args[0]); err != nil {
		t.Skipf("there is no %s to read the package with", args[0])
	}
	out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

func lookAtPackages(t *testing.T, r *Release) {
	find := func(pattern string) string {
		found, err := filepath.Glob(filepath.Join(r.Out, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		return found[0]
	}
	installs := []string{"/usr/bin/kalypso", "/usr/share/man/man1/kalypso-plan.1", "/usr/share/bash-completion/completions/kalypso", "/usr/share/doc/kalypso-cli/copyright"}
	t.Run("deb", func(t *testing.T) {
		file := find("kalypso-cli_*.deb")
		control, list := tool(t, "dpkg-deb", "-I", file), tool(t, "dpkg-deb", "-c", file)
		for _, want := range []string{"Package: kalypso-cli", "Version: 0.0.9~rc.1-1", "Depends: git", "Conflicts: kalypso"} {
			if !strings.Contains(control, want+"\n") {
				t.Errorf("without %q:\n%s", want, control)
			}
		}
		for _, name := range installs {
			if !strings.Contains(list, "."+name+"\n") {
				t.Errorf("%s is not in\n%s", name, list)
			}
		}
	})
	t.Run("rpm", func(t *testing.T) {
		file := find("kalypso-cli-*.rpm")
		info, list := tool(t, "rpm", "-qp", "--qf", "%{NAME} %{VERSION} %{BUILDHOST}\n", file), tool(t, "rpm", "-qlp", file)
		if !strings.HasPrefix(info, "kalypso-cli 0.0.9~rc.1 localhost\n") {
			t.Errorf("it is %s", info)
		}
		for _, name := range installs {
			if !strings.Contains(list, name+"\n") {
				t.Errorf("%s is not in\n%s", name, list)
			}
		}
	})
}

func lookAtImages(t *testing.T, r *Release) {
	for _, kind := range imageKinds {
		dir := t.TempDir()
		for name, data := range unpack(t, r, bytes.NewReader(r.file(t, kind.name+"-image_"+r.number()+".tar"))) {
			to := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		top, err := layout.ImageIndexFromPath(dir)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := top.IndexManifest()
		if err != nil || len(manifest.Manifests) != 1 {
			t.Fatalf("%+v, %v", manifest, err)
		}
		index, err := top.ImageIndex(manifest.Manifests[0].Digest)
		if err != nil {
			t.Fatal(err)
		}
		inner, err := index.IndexManifest()
		if err != nil || len(inner.Manifests) != 1 || inner.Manifests[0].Platform.Architecture != runtime.GOARCH {
			t.Fatalf("%+v, %v", inner, err)
		}
		image, err := index.Image(inner.Manifests[0].Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c := config.Config; c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/kalypso"}) || !slices.Equal(c.Cmd, kind.command) || len(c.ExposedPorts) != len(kind.ports) {
			t.Errorf("%s runs %+v", kind.name, c)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%d layers, %v", len(layers), err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		files := unpack(t, r, content)
		if !strings.Contains(string(files["etc/ssl/certs/ca-certificates.crt"]), "BEGIN CERTIFICATE") || len(files["kalypso"]) == 0 {
			t.Errorf("%s lacks the program or the authorities", kind.name)
		}
		if len(files) != 8 {
			t.Errorf("%s has more than it is to have: %d files", kind.name, len(files))
		}
	}
}

func lookAtChart(t *testing.T, r *Release) {
	files := unpack(t, r, gunzip(t, r.file(t, "kalypso-chart_"+r.number()+".tgz")))
	head := string(files["kalypso/Chart.yaml"])
	if !strings.Contains(head, "\nversion: "+r.number()+"\n") || !strings.Contains(head, "\nappVersion: "+r.number()+"\n") {
		t.Errorf("its head is\n%s", head)
	}
	for _, name := range []string{"values.yaml", "values.schema.json", "templates/hub.yaml", "templates/scheduler.yaml", "templates/_helpers.tpl"} {
		if len(files["kalypso/"+name]) == 0 {
			t.Errorf("%s is missing", name)
		}
	}
}

// lookAtMaterials wants every module that the program was linked from in its bill.
func lookAtMaterials(t *testing.T, r *Release) {
	target := r.Targets[0]
	var bom cyclonedx.BOM
	data := r.file(t, target.Name+"_"+r.number()+"_"+target.OS+"_"+target.Arch+".cdx.json")
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(data), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	listed, licensed := map[string]bool{}, 0
	for _, c := range *bom.Components {
		listed[c.Name+" "+c.Version] = true
		if c.Licenses != nil {
			licensed++
			for _, l := range *c.Licenses {
				if slices.Contains(addedToSPDX, l.License.ID) {
					t.Errorf("%s has the licence %s, which is no identifier of SPDX", c.Name, l.License.ID)
				}
			}
		}
	}
	info, err := buildinfo.ReadFile(r.programs[target].path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version != "" && m.Version != "(devel)" && !listed[m.Path+" "+m.Version] {
			t.Errorf("%s %s is linked in, and not listed", m.Path, m.Version)
		}
	}
	if len(info.Deps) < 50 || licensed < len(listed)*9/10 {
		t.Errorf("%d modules are linked in; of %d that are listed %d have a licence that is known", len(info.Deps), len(listed), licensed)
	}
	refs := map[string]bool{bom.Metadata.Component.BOMRef: true}
	for _, c := range *bom.Components {
		if refs[c.BOMRef] {
			t.Errorf("%s is there twice", c.BOMRef)
		}
		refs[c.BOMRef] = true
	}
	for _, d := range *bom.Dependencies {
		if !refs[d.Ref] {
			t.Errorf("%s depends, and is no component", d.Ref)
		}
	}
}

func lookAtProvenance(t *testing.T, r *Release) {
	var statement struct {
		Type          string `json:"_type"`
		PredicateType string `json:"predicateType"`
		Subject       []struct {
			Name   string
			Digest struct{ SHA256 string }
		}
		Predicate struct {
			BuildDefinition struct {
				ExternalParameters   struct{ Version string }
				ResolvedDependencies []struct{ Digest struct{ GitCommit string } }
			}
		}
	}
	if err := json.Unmarshal(r.file(t, "kalypso_"+r.number()+".intoto.jsonl"), &statement); err != nil {
		t.Fatal(err)
	}
	definition := statement.Predicate.BuildDefinition
	if statement.Type != "https://in-toto.io/Statement/v1" || statement.PredicateType != "https://slsa.dev/provenance/v1" ||
		definition.ExternalParameters.Version != testVersion || definition.ResolvedDependencies[0].Digest.GitCommit != r.commit {
		t.Errorf("%+v", statement)
	}
	sums := string(r.file(t, sumsFile))
	for _, s := range statement.Subject {
		if !strings.Contains(sums, s.Digest.SHA256+"  "+s.Name+"\n") {
			t.Errorf("%s is not what is published", s.Name)
		}
	}
	// all but the statement itself and the version
	if want := strings.Count(sums, "\n") - 2; len(statement.Subject) != want {
		t.Errorf("it is about %d files, of %d", len(statement.Subject), want)
	}
}

func TestReleaseRefuses(t *testing.T) {
	here := []Target{{Name: cli, OS: runtime.GOOS, Arch: runtime.GOARCH}}
	missing := filepath.Join(t.TempDir(), "none.key")
	for name, r := range map[string]*Release{
		"no version":                  {Root: "../..", Targets: here, Dirty: true},
		"a version without its v":     {Root: "../..", Targets: here, Dirty: true, Version: "0.1.0"},
		"half a version":              {Root: "../..", Targets: here, Dirty: true, Version: "v0.1"},
		"another folder":              {Root: ".", Targets: here, Dirty: true, Version: testVersion},
		"nothing that runs here":      {Root: "../..", Targets: []Target{{Name: cli, OS: "plan9", Arch: "386"}}, Dirty: true, Version: testVersion},
		"a key that is not there":     {Root: "../..", Targets: here, Dirty: true, Version: testVersion, Key: missing},
		"a key that is no secret key": {Root: "../..", Targets: here, Dirty: true, Version: testVersion, Key: "go.mod"},
	} {
		r.Out = filepath.Join(t.TempDir(), "out")
		if err := r.Make(t.Context()); err == nil {
			t.Errorf("%s: made", name)
		}
		if _, err := os.Stat(r.Out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is something: %v", name, err)
		}
	}
	for _, platforms := range [][2]string{{"linux", ""}, {"windows/amd64", ""}, {"", "linux/"}, {"", ""}} {
		if targets, err := targetsOf(platforms[0], platforms[1]); err == nil {
			t.Errorf("%q: %v", platforms, targets)
		}
	}
}

// TestChangesAreRefused makes a release of a clone with a change that is not committed.
func TestChangesAreRefused(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q"}, {"-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "start"},
	} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "cmd", "kalypso"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := &Release{Version: testVersion, Root: dir, Targets: []Target{{Name: cli, OS: runtime.GOOS, Arch: runtime.GOARCH}}}
	if err := r.prepare(t.Context()); err != nil {
		t.Fatalf("a clone without changes: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cmd", "kalypso", "main.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "cmd/") {
		t.Errorf("a clone with a change: %v", err)
	}
}
