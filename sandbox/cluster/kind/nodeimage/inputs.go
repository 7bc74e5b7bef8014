package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	kindversion "sigs.k8s.io/kind/pkg/cmd/kind/version"

	"github.com/kalypso-dev/kalypso/sandbox/components"
)

// source is this program's own source: what it does decides what comes out.
//
//go:embed *.go files
var source embed.FS

// keyLen is how much of a key names and labels show.
const keyLen = 12

// inputs are all that decides what is in the image.
type inputs struct {
	Kubernetes string // version
	Kube, Node string // digests of the components
	Kind       string // version
	Suite      string // of Debian
	Packages   []string
	Crictl     string // digest of the folder that pins it
	Source     string // digest of this program's
	Platform   string // with the Go toolchain
}

func inputsOf(m components.Manifest) (inputs, error) {
	in := inputs{Kind: "v" + kindversion.Version(), Packages: packages, Platform: runtime.GOARCH + " " + runtime.Version()}
	for name, digest := range map[string]*string{"kube": &in.Kube, "node": &in.Node} {
		c, ok := m.Component(name)
		if !ok {
			return inputs{}, fmt.Errorf("the payload for %s has no component %s, which a node needs: build on Linux", m.Platform, name)
		}
		*digest = c.SHA256
		if name == "kube" {
			in.Kubernetes = c.Versions["Kubernetes"]
		}
	}
	var err error
	if in.Suite, err = suite("/etc/os-release"); err != nil {
		return inputs{}, err
	}
	if in.Crictl, err = digestOf(os.DirFS(filepath.FromSlash(crictl))); err != nil {
		return inputs{}, err
	}
	in.Source, err = digestOf(source)
	return in, err
}

// key is a digest of the inputs.
func (in inputs) key() string { return digestLines(fmt.Sprintf("%#v", in)) }

// rootKey is a digest of what decides what is in the Debian root. A newer
// version of a package alone makes no new root.
func (in inputs) rootKey() string {
	return digestLines(append([]string{in.Suite, runtime.GOARCH, fmt.Sprint(leftOut)}, in.Packages...)...)
}

// tag is the image's name.
func (in inputs) tag() string { return "kalypso/kind-node:" + in.Kubernetes }

func digestLines(lines ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])[:keyLen]
}

// digestOf digests the names and contents of all files but tests.
func digestOf(fsys fs.FS) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := fs.ReadFile(fsys, path)
		fmt.Fprintf(h, "%q %d\n", path, len(data))
		h.Write(data)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// suite returns the name of the Debian release that this machine runs, which
// is the one whose packages its sources have.
func suite(release string) (string, error) {
	data, err := os.ReadFile(release)
	if err != nil {
		return "", fmt.Errorf("find out the release of Debian: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "VERSION_CODENAME="); ok {
			return strings.Trim(name, `"`), nil
		}
	}
	return "", fmt.Errorf("%s names no release (VERSION_CODENAME): the image is made of Debian's packages, on Debian", release)
}
