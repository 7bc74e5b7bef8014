package supervisor

import "syscall"

// childAttributes puts a child into a process group of its own, so that a
// terminal's interrupt does not reach it and all it starts can be ended
// together, and lets it die with this process.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
