package sandbox

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

func TestHomeIsOfItsOwnerOnly(t *testing.T) {
	h := Home(filepath.Join(t.TempDir(), "home"))
	for _, mode := range []os.FileMode{0o755, 0o777, 0o700, 0o500} {
		if err := errors.Join(os.MkdirAll(string(h), 0o700), os.Chmod(string(h), mode)); err != nil {
			t.Fatal(err)
		}
		if err := h.checkUsable(); err != nil {
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
	var usage *UsageError
	if err := h.checkUsable(); !errors.As(err, &usage) {
		t.Errorf("not refused: %v", err)
	}
}

// What an older kalypso listened on is free for others, and is not looked after.
func TestPortsOfAnOlderKalypsoAreGivenUp(t *testing.T) {
	h := Home(t.TempDir())
	s, err := h.ensureState("hello-world", Choice{})
	if err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(s.Ports)
	s.Ports["etcd"], s.Ports["etcd-peer"] = 20001, 20002
	if err := h.saveState(s); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ensureState("hello-world", Choice{}); err != nil {
		t.Fatal(err)
	}
	s, err = h.LoadState()
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(s.Ports, want) {
		t.Errorf("got %v, want %v", s.Ports, want)
	}
}
