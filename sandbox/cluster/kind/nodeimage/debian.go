package main

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/node/filetree"
)

// packages are what a node needs of Debian beside the smallest system: a first
// process, and the tools that kind's files, kubelet, kube-proxy and the network
// plugins call. containerd and runc are kalypso's own.
var packages = []string{
	"systemd", "systemd-sysv", "dbus",
	"conntrack", "iptables", "nftables", "ebtables", "iproute2", "ethtool", "socat",
	"util-linux", "mount", "kmod", "e2fsprogs", "procps",
	"bash", "ca-certificates", "curl", "jq", "pigz", "libseccomp2",
}

// leftOut are patterns of what no node reads: kept, it would be most of the
// installed system. A folder whose content is left out stays. Copyright files
// stay, too.
var leftOut = []string{
	"dev/*", "proc/*", "run/*", "sys/*", "tmp/*",
	"etc/apt/sources.list", // names this machine's mirror
	"etc/hostname", "etc/resolv.conf",
	"usr/share/bug/*", "usr/share/info/*", "usr/share/lintian/*", "usr/share/locale/*", "usr/share/man/*",
	"usr/share/doc/*/[!c]*", "usr/share/doc/*/changelog*",
	"var/cache/*", "var/lib/apt/lists/*", "var/log/*.log", "var/log/apt/*",
}

// debianRoot makes the Debian root, unless it is in the cache.
func (b builder) debianRoot(ctx context.Context) (string, error) {
	archive := b.cache.root(b.in)
	if b.cache.has(archive) {
		b.report("Debian root: in the cache")
		return archive, nil
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		return "", errors.New("debootstrap is not installed: apt-get install --no-install-recommends debootstrap")
	}
	if os.Getuid() != 0 {
		return "", errors.New("debootstrap installs packages below another root folder: run this as root")
	}
	m, err := findMirror(ctx, b.in.Suite)
	if err != nil {
		return "", err
	}
	b.report("Debian root: installing %s with %d packages", b.in.Suite, len(packages))
	dir := filepath.Join(b.work, "debian")
	// in a mount namespace of its own: what it mounts goes with it, however it ends
	_, err = tool{args: []string{"unshare", "--mount", "--propagation", "private",
		"debootstrap", "--variant=minbase", "--components=" + strings.Join(m.components, ","),
		"--include=" + strings.Join(packages, ","), b.in.Suite, dir, m.uri}}.run(ctx)
	if err != nil {
		return "", fmt.Errorf("install Debian: %w", err)
	}
	fresh := archive + ".tmp"
	defer os.Remove(fresh)
	args := []string{"tar", "--create", "--file=" + fresh, "--directory=" + dir, "--sort=name", "--numeric-owner", "--no-xattrs", "--anchored"}
	for _, pattern := range leftOut {
		args = append(args, "--exclude=./"+pattern)
	}
	if _, err := (tool{args: append(args, ".")}).run(ctx); err != nil {
		return "", fmt.Errorf("pack Debian: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	b.report("Debian root: installed")
	return archive, os.Rename(fresh, archive)
}

// A mirror is where packages of a release come from.
type mirror struct {
	uri        string
	components []string
}

// findMirror finds the machine's source of packages with apt.
func findMirror(ctx context.Context, suite string) (mirror, error) {
	out, err := tool{args: []string{"apt-get", "indextargets", "--format", "$(RELEASE) $(COMPONENT) $(REPO_URI)", "Identifier: Packages"}}.run(ctx)
	if err != nil {
		return mirror{}, fmt.Errorf("find the machine's source of packages: %w", err)
	}
	m := parseMirror(out, suite)
	if m.uri == "" {
		return mirror{}, fmt.Errorf("apt has no source for %s, the release that /etc/os-release names: add one to /etc/apt/sources.list", suite)
	}
	return m, nil
}

// parseMirror finds the first source of the release itself, not of its updates.
func parseMirror(targets []byte, suite string) mirror {
	var m mirror
	for line := range bytes.Lines(targets) {
		f := strings.Fields(string(line))
		if len(f) != 3 || f[0] != suite || (m.uri != "" && m.uri != f[2]) {
			continue
		}
		m.uri = f[2]
		if !slices.Contains(m.components, f[1]) {
			m.components = append(m.components, f[1])
		}
	}
	return m
}

// maxLinks is how many links may lie on the way to a file.
const maxLinks = 20

// A root is the file system of a Debian machine, read where it lies: in a tar
// archive.
type root struct {
	tree
	file *os.File
}

// openRoot lists the archive. Its entries read from it until it is closed.
func openRoot(name string) (*root, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r := &root{tree{}, f}
	for in := tar.NewReader(f); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := r.add(h); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
}

func (r *root) add(h *tar.Header) error {
	name := clean(h.Name)
	if name == "" {
		return nil
	}
	e := filetree.Entry{Header: *h}
	switch h.Typeflag {
	case tar.TypeReg:
		// the tar reader reads ahead no further than the header
		at, err := r.file.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		e.Open = func() (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(r.file, at, h.Size)), nil
		}
	case tar.TypeLink:
		e.Linkname = clean(h.Linkname)
	}
	r.tree[name] = e
	return nil
}

func (r *root) close() error { return r.file.Close() }

// follow returns the path of the file that name leads to, and the links on the
// way to it.
func (r *root) follow(name string) (file string, links []string, err error) {
	at, rest := "", clean(name)
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		next := path.Join(at, part)
		e, ok := r.tree[next]
		if !ok {
			return "", nil, &fs.PathError{Op: "follow", Path: name, Err: fs.ErrNotExist}
		}
		switch e.Typeflag {
		case tar.TypeSymlink:
			if links = append(links, next); len(links) > maxLinks {
				return "", nil, fmt.Errorf("%s: more than %d links", name, maxLinks)
			}
			to := e.Linkname
			if !path.IsAbs(to) {
				to = path.Join("/", at, to)
			}
			at, rest = "", clean(path.Join(to, rest))
		case tar.TypeLink:
			links = append(links, next)
			at, rest = "", path.Join(e.Linkname, rest)
		default:
			at = next
		}
	}
	return at, links, nil
}

// read returns the content of a file.
func (r *root) read(name string) ([]byte, error) {
	at, _, err := r.follow(name)
	if err != nil {
		return nil, err
	}
	return contentOf(r.tree, at)
}

// closure returns what of the root the named programs need to run: themselves,
// the libraries they are linked with, the loader, and the links that lead to
// all of these. A name that ends with a slash means all that is in a folder.
func (r *root) closure(names ...string) (tree, error) {
	out := tree{}
	libraries := r.libraries()
	var want []string
	for _, n := range names {
		if !strings.HasSuffix(n, "/") {
			want = append(want, n)
			continue
		}
		dir, _, err := r.follow(n)
		if err != nil {
			return nil, err
		}
		for file, e := range r.tree {
			if path.Dir(file) == dir && e.Typeflag != tar.TypeDir {
				want = append(want, file)
			}
		}
	}
	for len(want) > 0 {
		name := want[0]
		want = want[1:]
		file, links, err := r.follow(name)
		if err != nil {
			return nil, err
		}
		for _, l := range append(links, file) {
			out[l] = r.tree[l]
		}
		needs, err := r.needs(file)
		if err != nil {
			return nil, err
		}
		for _, n := range needs {
			if !path.IsAbs(n) {
				i := slices.IndexFunc(libraries, func(dir string) bool {
					_, ok := r.tree[path.Join(dir, n)]
					return ok
				})
				if i < 0 {
					return nil, fmt.Errorf("%s needs %s, which is not in the Debian root", file, n)
				}
				n = path.Join(libraries[i], n)
			}
			if _, ok := out[clean(n)]; !ok {
				want = append(want, n)
			}
		}
	}
	return out, nil
}

// libraries are the folders that the loader searches: /usr/lib and those below
// it that are named after a machine, such as x86_64-linux-gnu.
func (r *root) libraries() []string {
	dirs := []string{"usr/lib"}
	for name := range r.tree {
		if ok, _ := path.Match("usr/lib/*-linux-gnu*", name); ok {
			dirs = append(dirs, name)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// needs returns the names of the libraries that a program or library is linked
// with, and the path of its loader.
func (r *root) needs(file string) ([]string, error) {
	content, err := r.read(file)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(content, []byte(elf.ELFMAG)) {
		return nil, nil
	}
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	needs, err := f.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		loader := make([]byte, p.Filesz)
		if _, err := p.ReadAt(loader, 0); err != nil {
			return nil, fmt.Errorf("%s: loader: %w", file, err)
		}
		needs = append(needs, string(bytes.TrimRight(loader, "\x00")))
	}
	return needs, nil
}
