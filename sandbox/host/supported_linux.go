package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/node"
	"golang.org/x/sys/unix"
)

// Supported returns nil when a host with its folder at dir can run on this machine, and
// a *node.UnsupportedError with the first reason otherwise.
func Supported(dir string) error {
	if os.Geteuid() != 0 {
		return &node.UnsupportedError{Problem: "a host needs root", Remedy: "run kalypso as root"}
	}
	for _, program := range []string{"ansible-pull", "git", "dpkg"} {
		if !installed(program) {
			return &node.UnsupportedError{
				Problem: program + " is not installed, and hosts have the programs of this machine's /usr",
				Remedy:  "on Debian and its kin `apt-get install --no-install-recommends ansible-core git`",
			}
		}
	}
	if strings.ContainsAny(dir, ":,\\") {
		return &node.UnsupportedError{Problem: fmt.Sprintf("the path %s has a character that overlays do not take", dir), Remedy: "set KALYPSO_HOME to a path without : , and \\"}
	}
	// the closest folder that is there
	on := dir
	var s unix.Statfs_t
	for {
		err := unix.Statfs(on, &s)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.ENOENT) || on == filepath.Dir(on) {
			return fmt.Errorf("%s: %w", on, err)
		}
		on = filepath.Dir(on)
	}
	switch s.Type {
	case unix.OVERLAYFS_SUPER_MAGIC, unix.NFS_SUPER_MAGIC:
		return &node.UnsupportedError{Problem: fmt.Sprintf("the file system of %s cannot be the upper layer of an overlay", on), Remedy: "set KALYPSO_HOME to a folder on a disk of this machine"}
	}
	return node.Namespaces()
}

// installed is whether hosts have a program: not by this process's own path, which may lead
// to folders that no host sees.
func installed(program string) bool {
	return slices.ContainsFunc(filepath.SplitList(searchPath), func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, program))
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	})
}
