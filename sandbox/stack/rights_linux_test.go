package stack

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCanDropRights holds that it does not matter where programs lie.
func TestCanDropRights(t *testing.T) {
	if os.Geteuid() != 0 {
		if canDropRights() == nil {
			t.Error("who is not root can become another user")
		}
		return
	}
	before := canDropRights()
	closed := t.TempDir()
	if err := os.Symlink("/bin/true", filepath.Join(closed, "true")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", closed)
	if err := canDropRights(); (err == nil) != (before == nil) {
		t.Errorf("with a PATH that only root can enter: %v, without: %v", err, before)
	}
	if before != nil {
		t.Skip("this machine does not allow it: ", before)
	}
}
