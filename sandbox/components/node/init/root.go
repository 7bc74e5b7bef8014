package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kalypso-dev/kalypso/sandbox/components/node/spec"
	"golang.org/x/sys/unix"
)

// system folders of the machine are seen by the node, to be read only: mount,
// iptables and the libraries they need.
var systemFolders = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "nix"}

// makeRoot gives the node a file tree of its own, in memory but for /var, and
// takes the machine's away.
func makeRoot(s spec.Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	root := filepath.Join(s.Dir, "root")
	if err := mount("tmpfs", root, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	in := func(path ...string) string { return filepath.Join(append([]string{root}, path...)...) }
	for _, name := range systemFolders {
		if err := showFolder("/"+name, in(name)); err != nil {
			return err
		}
	}
	for _, m := range []struct{ source, target, kind string }{
		{"tmpfs", "tmp", "tmpfs"}, {"tmpfs", "run", "tmpfs"},
		// new ones: these two show the namespaces of the process that mounts them
		{"proc", "proc", "proc"}, {"sysfs", "sys", "sysfs"},
	} {
		if err := mount(m.source, in(m.target), m.kind, unix.MS_NOSUID, ""); err != nil {
			return err
		}
	}
	for _, b := range [][2]string{{"/sys/fs/cgroup", in("sys/fs/cgroup")}, {"/dev", in("dev")}, {filepath.Join(s.Dir, "var"), in("var")}} {
		if err := bind(b[0], b[1], false); err != nil {
			return err
		}
	}
	if err := mount("tmpfs", in("dev/shm"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return err
	}
	if err := bind(s.Dir, in(s.Dir), false); err != nil {
		return err
	}
	for _, path := range s.Seen {
		if err := bind(path, in(path), true); err != nil {
			return err
		}
	}
	if err := makeLinks(s, in); err != nil {
		return err
	}
	if err := pivot(root); err != nil {
		return err
	}
	// volumes that the kubelet mounts must show up in containers
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return err
	}
	return feignSysctls(s.Sysctls)
}

// showFolder binds a folder of the machine, or repeats a link.
func showFolder(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	return bind(from, to, true)
}

func mount(source, target, kind string, flags uintptr, data string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", kind, target, err)
	}
	return nil
}

func bind(from, to string, readOnly bool) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s: %w", from, err)
	}
	if !readOnly {
		return nil
	}
	attributes := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	err := unix.MountSetattr(unix.AT_FDCWD, to, unix.AT_RECURSIVE, attributes)
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.12: the top of it, at least
		err = unix.Mount("", to, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	if err != nil {
		return fmt.Errorf("make %s read-only: %w", to, err)
	}
	return nil
}

// makeLinks makes /run as the programs expect it.
func makeLinks(s spec.Spec, in func(...string) string) error {
	if err := os.MkdirAll(in("run/kalypso/bin"), 0o755); err != nil {
		return err
	}
	for name, target := range s.Links {
		if err := os.Symlink(target, in("run/kalypso/bin", name)); err != nil {
			return err
		}
	}
	// where NixOS has its programs
	if target, err := os.Readlink("/run/current-system"); err == nil {
		return os.Symlink(target, in("run/current-system"))
	}
	return nil
}

func pivot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	// the old root ends up on top of the new one, from where it is detached
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach the machine's files: %w", err)
	}
	return os.Chdir("/")
}

// feignSysctls lays a file of the node's over each.
func feignSysctls(values map[string]string) error {
	dir := "/run/kalypso/sysctl"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, value := range values {
		target := filepath.Join("/proc/sys", name)
		if _, err := os.Stat(target); err != nil {
			continue
		}
		source := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(source, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("feign %s: %w", name, err)
		}
	}
	return nil
}
