package host

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/node"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// layered are the folders whose files are this machine's until the host writes to them.
var layered = []string{"/usr", "/etc", "/var/lib/dpkg"}

// merged are folders that are links into /usr nearly everywhere; where they are folders,
// they are layered, too.
var merged = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"}

const (
	relayProgram = "/run/kalypso/relay"
	searchPath   = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	ociVersion   = "1.0.2"
)

// capabilities are those that installing a package and starting it as another user need.
var capabilities = []string{
	"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_NET_BIND_SERVICE",
	"CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// write makes the host's folder, and keeps what the host has written before.
func (h Host) write() error {
	if err := os.MkdirAll(h.Dir, 0o700); err != nil {
		return err
	}
	// the host may have put links into its folders, which must not lead out of them
	own, err := os.OpenRoot(h.Dir)
	if err != nil {
		return err
	}
	defer own.Close()
	for _, dir := range []string{"bundle", "runc", "root/root", "root/srv", "root/opt", "var/lib/kalypso", "var/log", "var/cache", "var/tmp", "layers"} {
		if err := own.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := own.Chmod("var/tmp", 0o777|fs.ModeSticky); err != nil {
		return err
	}
	if err := link("/run", h.file("var", "run")); err != nil {
		return err
	}
	folders := layered
	for _, name := range merged {
		info, err := os.Lstat("/" + name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case info.IsDir():
			folders = append(folders, "/"+name)
			continue
		}
		target, err := os.Readlink("/" + name)
		if err == nil {
			err = link(target, h.file("root", name))
		}
		if err != nil {
			return err
		}
	}
	for _, folder := range folders {
		for _, dir := range []string{h.upper(folder), h.work(folder)} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
	}
	b, err := json.MarshalIndent(h.spec(folders), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(h.file("bundle", "config.json"), b, 0o600)
}

func link(target, name string) error {
	if err := os.Symlink(target, name); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// layer is the folder of what the host has changed below one of the machine's.
func (h Host) layer(folder string) string {
	return h.file("layers", strings.ReplaceAll(strings.Trim(folder, "/"), "/", "-"))
}

func (h Host) upper(folder string) string { return filepath.Join(h.layer(folder), "upper") }
func (h Host) work(folder string) string  { return filepath.Join(h.layer(folder), "work") }

// spec is the host as runc wants it.
func (h Host) spec(folders []string) *specs.Spec {
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc"},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=64k"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", "size=64m"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
		{Destination: "/tmp", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "mode=1777"}},
		{Destination: "/run", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "mode=755"}},
		{Destination: "/var", Type: "bind", Source: h.file("var"), Options: []string{"bind"}},
		{Destination: relayProgram, Type: "bind", Source: filepath.Join(h.Staged("relay"), "relay"), Options: []string{"bind", "ro"}},
	}
	for _, folder := range folders {
		mounts = append(mounts, specs.Mount{
			Destination: folder, Type: "overlay", Source: "overlay",
			Options: []string{"lowerdir=" + folder, "upperdir=" + h.upper(folder), "workdir=" + h.work(folder)},
		})
	}
	all := &specs.LinuxCapabilities{Bounding: capabilities, Effective: capabilities, Permitted: capabilities}
	memory, processes := int64(Memory), int64(Processes)
	return &specs.Spec{
		Version: ociVersion, Hostname: h.Name, Root: &specs.Root{Path: h.file("root")}, Mounts: mounts,
		Process: &specs.Process{
			// a shell takes the ends of processes that have lost their parent, which is
			// the first process's work. What follows keeps it from becoming the relay
			Args: []string{"/bin/sh", "-c", relayProgram + ` serve "$@"; exit $?`, "sh", "--listen=" + loopbackAt(h.Port("gitea"))},
			Env:  []string{"PATH=" + searchPath, "HOME=/root", "LANG=C.UTF-8"}, Cwd: "/", Capabilities: all,
		},
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.MountNamespace}, {Type: specs.NetworkNamespace},
				{Type: specs.UTSNamespace}, {Type: specs.IPCNamespace},
			},
			CgroupsPath: "/" + node.Cgroup(h.Dir),
			Resources: &specs.LinuxResources{
				Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}},
				Memory:  &specs.LinuxMemory{Limit: &memory},
				Pids:    &specs.LinuxPids{Limit: &processes},
			},
			MaskedPaths:   []string{"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"},
			ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}
}
