package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Supported returns nil when a real node can run on this machine with its
// folder at dir, and an *UnsupportedError with the first reason otherwise.
func Supported(dir string) error {
	if os.Geteuid() != 0 {
		return &UnsupportedError{"a real node needs root", "run kalypso as root"}
	}
	longest := Node{Dir: dir}.containerd()
	if len(longest) > maxSocket {
		return &UnsupportedError{fmt.Sprintf("the path %s is too long for a socket: %d characters, %d are allowed", longest, len(longest), maxSocket), "set KALYPSO_HOME to a shorter path"}
	}
	if proxyMode() == "" {
		return &UnsupportedError{"neither iptables nor nft is installed, which Services need", "install the package iptables or nftables"}
	}
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	if len(cgroupRoots(mounts)) == 0 {
		return &UnsupportedError{"no control groups are mounted below /sys/fs/cgroup", "mount them there"}
	}
	return Namespaces()
}

// Namespaces returns nil when this machine gives a process namespaces of its own, and an
// *UnsupportedError otherwise.
func Namespaces() error {
	// asking for the namespaces shows what the rights of root do not: whether a
	// container that we may be in allows them
	cmd := exec.Command("/proc/self/exe")
	cmd.Path = trueProgram()
	cmd.Args = []string{"true"}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
	}
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return &UnsupportedError{fmt.Sprintf("this machine does not allow namespaces (%v)", err), "run kalypso outside of a container, or in a privileged one"}
	}
	return nil
}

func trueProgram() string {
	if path, err := exec.LookPath("true"); err == nil {
		return path
	}
	return "/bin/true"
}

// proxyMode is how kube-proxy makes Services work, by the tool that is here;
// "" when there is none.
func proxyMode() string {
	for _, t := range []struct{ tool, mode string }{{"iptables", "iptables"}, {"nft", "nftables"}} {
		for _, dir := range filepath.SplitList(searchPath) {
			if info, err := os.Stat(filepath.Join(dir, t.tool)); err == nil && !info.IsDir() {
				return t.mode
			}
		}
	}
	return ""
}

// snapshotter is how containerd stores images. Overlay does not work on top of
// another overlay, which is what a home in a container's own files is.
func snapshotter(dir string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err == nil && s.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "native"
	}
	return "overlayfs"
}

func unmount(path string) error { return unix.Unmount(path, unix.MNT_DETACH) }
