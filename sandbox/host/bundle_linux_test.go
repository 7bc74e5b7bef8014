package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLinksOfAHostLeadNowhere: root on a host can put links into its folders, through which
// this process would write to the machine.
func TestLinksOfAHostLeadNowhere(t *testing.T) {
	h := hostIn(t.TempDir(), 1)
	r := &Reconciler{Host: h}
	if err := h.write(); err != nil {
		t.Fatal(err)
	}
	if err := r.onHost(func(own *os.Root) error { return own.WriteFile("a", nil, 0o600) }); err != nil {
		t.Fatal(err)
	}
	victim := t.TempDir()
	if err := os.Chmod(victim, 0o700); err != nil {
		t.Fatal(err)
	}
	plant := func(name string) {
		t.Helper()
		if err := errors.Join(os.RemoveAll(h.file(name)), os.Symlink(victim, h.file(name))); err != nil {
			t.Fatal(err)
		}
	}
	plant("var/lib/kalypso")
	if err := r.onHost(func(own *os.Root) error { return own.WriteFile("a", nil, 0o600) }); err == nil {
		t.Error("it is written through a link in the host's /var/lib")
	}
	if err := os.Remove(h.file("var/lib/kalypso")); err != nil {
		t.Fatal(err)
	}
	plant("var/tmp")
	if err := h.write(); err == nil {
		t.Error("a link in the host's /var is followed")
	}
	info, err := os.Stat(victim)
	files, _ := filepath.Glob(filepath.Join(victim, "*"))
	if err != nil || info.Mode().Perm() != 0o700 || len(files) > 0 {
		t.Errorf("outside of the host: %v, %q, %v", info.Mode(), files, err)
	}
}
