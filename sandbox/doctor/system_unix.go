//go:build unix

package doctor

import "syscall"

func openFiles() (uint64, error) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	// the programs are Go's, which raise the soft limit to the hard one
	return uint64(limit.Max), err
}
