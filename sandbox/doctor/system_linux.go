package doctor

import (
	"context"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func writable(path string) error {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
}

func usable(path string) error {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, unix.AT_EACCESS)
}

// userNamespace runs a program of the base system in one, with this user as its root.
func userNamespace(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	return cmd.Run()
}

// remote are the kinds of file systems on which locks, sockets or a database's
// files are not to be relied on (statfs(2)).
var remote = map[int64]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x01021997: "9p",
	0x786f4256: "vboxsf",
	0x65735546: "FUSE",
}

func space(path string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return Space{}, err
	}
	return Space{
		Free: s.Bavail * uint64(s.Bsize), FreeFiles: s.Ffree, CountsFiles: s.Files > 0,
		NoExec: s.Flags&unix.ST_NOEXEC != 0, Remote: remote[int64(s.Type)],
	}, nil
}
