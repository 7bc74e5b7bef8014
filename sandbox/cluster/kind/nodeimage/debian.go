package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
		b.say("Debian root: in the cache")
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
	b.say("Debian root: installing %s with %d packages", b.in.Suite, len(packages))
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
	b.say("Debian root: installed")
	return archive, os.Rename(fresh, archive)
}

// A mirror is where packages of a release come from.
type mirror struct {
	uri        string
	components []string
}

// findMirror asks apt where this machine has its packages from.
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
