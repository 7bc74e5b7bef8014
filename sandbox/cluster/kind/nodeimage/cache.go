package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	kindversion "sigs.k8s.io/kind/pkg/cmd/kind/version"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/components"
)

const (
	// keep is how many archives and how many roots stay in the cache.
	keep = 2
	// buildLimit is how long another build of the image may take.
	buildLimit = 30 * time.Minute
)

// A cache is the folder of what was made before. A file there is whole: it
// gets its name when it is.
type cache string

// openCache is ${KALYPSO_CACHE:-${XDG_CACHE_HOME:-~/.cache}/kalypso}/kind.
func openCache() (cache, error) {
	dir := os.Getenv("KALYPSO_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache folder (or set KALYPSO_CACHE): %w", err)
		}
		dir = filepath.Join(base, "kalypso")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "kind"))
	if err != nil {
		return "", err
	}
	return cache(dir), os.MkdirAll(dir, 0o755)
}

// archive returns the image's archive, made by build if it is not there. build
// gets a folder to work in and the file to write.
func (c cache) archive(ctx context.Context, report reporter, in inputs, build func(work, to string) error) (string, error) {
	path := filepath.Join(string(c), "node-"+in.Kubernetes+"-"+in.key()+".tar")
	if c.has(path) {
		report("the image is there (%s)", in.key())
		return path, nil
	}
	unlock, err := c.lock(ctx, report)
	if err != nil {
		return "", err
	}
	defer unlock()
	if c.has(path) {
		return path, nil
	}
	report("the image is not in the cache (%s), building", in.key())
	// not in /tmp, which may be memory; what a build that was killed has left goes
	work := filepath.Join(string(c), "work")
	if err := os.RemoveAll(work); err != nil {
		return "", err
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	fresh := filepath.Join(work, "archive.tar")
	if err := build(work, fresh); err != nil {
		return "", err
	}
	if err := os.Rename(fresh, path); err != nil {
		return "", err
	}
	return path, errors.Join(c.trim("node-*.tar"), c.trim("debian-*.tar"))
}

// root is where the Debian root lies, or will.
func (c cache) root(in inputs) string {
	return filepath.Join(string(c), "debian-"+in.Suite+"-"+in.rootKey()+".tar")
}

// has reports whether a file is there, and updates its time of use.
func (c cache) has(path string) bool {
	now := time.Now()
	return os.Chtimes(path, now, now) == nil
}

// lock waits for another build of the image.
func (c cache) lock(ctx context.Context, report reporter) (func(), error) {
	l := flock.New(filepath.Join(string(c), "node.lock"))
	waits := sync.OnceFunc(func() { report("waiting for another build of the image") })
	err := retry.Until(ctx, "the end of another build of the image", buildLimit, func(context.Context) error {
		got, err := l.TryLock()
		if got || err != nil {
			return retry.Permanent(err)
		}
		waits()
		return errors.New("it has the lock " + l.Path())
	})
	return func() { _ = l.Close() }, err
}

// trim removes all but the files used last.
func (c cache) trim(pattern string) error {
	files, err := filepath.Glob(filepath.Join(string(c), pattern))
	if err != nil {
		return err
	}
	used := map[string]time.Time{}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return err
		}
		used[f] = info.ModTime()
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Or(used[b].Compare(used[a]), cmp.Compare(a, b)) })
	for _, f := range files[min(keep, len(files)):] {
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	return nil
}

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
