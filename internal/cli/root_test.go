package cli

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
)

// A terminal that is closed ends a command in order, unless it was started to
// ignore that, and never the daemon, which has none.
func TestHangup(t *testing.T) {
	if !signal.Ignored(syscall.SIGHUP) { // the tests may run under nohup
		if !slices.Contains(interrupts([]string{"scenario", "run", "--all"}), os.Signal(syscall.SIGHUP)) {
			t.Error("a hangup does not end a scenario")
		}
		if slices.Contains(interrupts([]string{"daemon"}), os.Signal(syscall.SIGHUP)) {
			t.Error("a hangup ends the daemon")
		}
		signal.Ignore(syscall.SIGHUP)
		defer signal.Reset(syscall.SIGHUP)
	}
	if slices.Contains(interrupts(nil), os.Signal(syscall.SIGHUP)) {
		t.Error("an ignored hangup is received")
	}
}

func TestVersionFlag(t *testing.T) {
	if code, out, talk := call(t, "--version"); code != cmdutil.ExitOK || out != "kalypso "+testVersion+"\n" || talk != "" {
		t.Errorf("exit code %d, %q, says %q", code, out, talk)
	}
}
