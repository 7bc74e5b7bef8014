package daemon

import (
	"errors"
	"syscall"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/state"
)

func TestUmaskOfTheShellDoesNotReachTheSandbox(t *testing.T) {
	for _, inherited := range []int{0o002, 0o022, 0o027, 0o077} {
		before := syscall.Umask(inherited)
		err := Run(state.Home(t.TempDir()), "")
		if got := syscall.Umask(before); got != 0o022 {
			t.Errorf("umask %03o: the daemon's is %03o, want 022", inherited, got)
		}
		if !errors.Is(err, state.ErrNoSandbox) {
			t.Errorf("umask %03o: %v", inherited, err)
		}
	}
}
