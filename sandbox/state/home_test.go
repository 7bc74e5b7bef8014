package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/usage"
)

func TestHomeIsOfItsOwnerOnly(t *testing.T) {
	h := Home(filepath.Join(t.TempDir(), "home"))
	for _, mode := range []os.FileMode{0o755, 0o777, 0o700, 0o500} {
		if err := errors.Join(os.MkdirAll(string(h), 0o700), os.Chmod(string(h), mode)); err != nil {
			t.Fatal(err)
		}
		if err := h.Create(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(string(h))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := info.Mode().Perm(), mode&0o700; got != want {
			t.Errorf("mode %v has become %v, want %v", mode, got, want)
		}
	}
}

func TestHomeOfAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	h := Home(t.TempDir())
	if err := os.Chown(string(h), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	var mistake *usage.Error
	if err := h.Create(); !errors.As(err, &mistake) {
		t.Errorf("not refused: %v", err)
	}
}

func TestOneDaemonAtATime(t *testing.T) {
	h := Home(t.TempDir())
	f, err := h.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	if !h.Locked() {
		t.Error("not locked")
	}
	if _, err := h.TryLock(); !errors.Is(err, ErrLocked) {
		t.Errorf("second lock: %v", err)
	}
	f.Close()
	if h.Locked() {
		t.Error("still locked")
	}
}

func TestLongHomeIsRefusedAtOnce(t *testing.T) {
	t.Setenv("KALYPSO_HOME", "/"+strings.Repeat("x", MaxSocketPath))
	if _, err := FindHome(); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Error(err)
	}
}
