package state

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/usage"
)

// asUser calls do on a thread that belongs to another user, and ends the thread.
func asUser(id uintptr, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked
		if _, _, failed := syscall.RawSyscall(syscall.SYS_SETRESUID, id, id, id); failed != 0 {
			return
		}
		do()
	}()
	<-done
}

func TestHomeThatIsClosed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir, err := os.MkdirTemp("/tmp", "kalypso-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	theirs, own, open := filepath.Join(dir, "theirs"), filepath.Join(dir, "own"), filepath.Join(dir, "open")
	err = os.Chmod(dir, 0o755)
	for path, mode := range map[string]os.FileMode{theirs: 0o700, own: 0o000, open: 0o755} {
		err = errors.Join(err, os.Mkdir(path, mode))
	}
	if err = errors.Join(err, os.Chown(own, 4242, 4242), os.WriteFile(filepath.Join(theirs, "sandbox.json"), []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for home, says := range map[string]string{
		theirs:                            theirs + " belongs to root",
		filepath.Join(theirs, ".kalypso"): theirs + " belongs to root",
		own:                               "chmod u+rwx " + own,
		filepath.Join(open, "new"):        "",
	} {
		t.Setenv("KALYPSO_HOME", home)
		err := errors.New("no other user")
		asUser(4242, func() { _, err = FindHome() })
		var mistake *usage.Error
		if says == "" && err != nil || says != "" && (!errors.As(err, &mistake) || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v", home, err)
		}
	}
}
