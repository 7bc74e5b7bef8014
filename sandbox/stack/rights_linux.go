package stack

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// canDropRights tries what the runner does for each job, since a container may
// not allow it. A folder cannot be executed, which is found out only when the
// rights have been dropped: what can depends on folders that this user may not enter.
func canDropRights() error {
	cmd := &exec.Cmd{Path: "/", SysProcAttr: &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS,
		Credential:   &syscall.Credential{Uid: firstWorkflowUser, Gid: firstWorkflowUser},
	}}
	if err := cmd.Run(); !errors.Is(err, syscall.EACCES) {
		return fmt.Errorf("this machine allows no mount namespaces or no other users (%w)", err)
	}
	return nil
}
