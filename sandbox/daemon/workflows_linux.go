package daemon

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// canDropRights tries what the runner does for each job, since a container may
// not allow it.
func canDropRights() error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS,
		Credential:   &syscall.Credential{Uid: firstWorkflowUser, Gid: firstWorkflowUser},
	}
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return fmt.Errorf("this machine allows no mount namespaces or no other users (%w)", err)
	}
	return nil
}
