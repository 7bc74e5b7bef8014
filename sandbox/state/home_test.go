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

func TestHomeWithACharacterThatNoSandboxWorksWithIsRefused(t *testing.T) {
	above := t.TempDir()
	for _, name := range []string{"a%b", "a#b", "a$b", `a"b`, "a:b", "a[b", "a?b", "a\\b", "a`b", "a;b", "a\nb", "a\xffb", "a{b"} {
		h := Home(filepath.Join(above, name))
		t.Setenv("KALYPSO_HOME", string(h))
		var mistake *usage.Error
		if _, err := FindHome(); !errors.As(err, &mistake) {
			t.Errorf("%q is not refused: %v", h, err)
		}
		// one that an older kalypso has made can still be taken down
		if err := errors.Join(os.Mkdir(string(h), 0o700), os.WriteFile(h.stateFile(), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if got, err := FindHome(); err != nil || got != h {
			t.Errorf("%q, which has a sandbox: %q, %v", h, got, err)
		}
	}
	for _, name := range []string{"a b", "ü", "it's", "a,b", "a=b", "(a)", "a&b", "a@b", "a!b", "~a", "a+b"} {
		t.Setenv("KALYPSO_HOME", filepath.Join(above, name))
		if _, err := FindHome(); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
}
