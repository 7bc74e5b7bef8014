package doctor

import "golang.org/x/sys/unix"

func writable(path string) error { return unix.Access(path, unix.W_OK|unix.X_OK) }

func space(path string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return Space{}, err
	}
	kind := ""
	if s.Flags&unix.MNT_LOCAL == 0 {
		kind = unix.ByteSliceToString(s.Fstypename[:])
	}
	return Space{
		Free: s.Bavail * uint64(s.Bsize), FreeFiles: s.Ffree, CountsFiles: s.Files > 0,
		NoExec: s.Flags&unix.MNT_NOEXEC != 0, Remote: kind,
	}, nil
}
