package snapshot

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/testkit/files"
)

func TestSecondPassBringsTheCopyToTheInstant(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	files.Fill(t, from, map[string]string{
		"gitea/same": "1", "gitea/changed": "1", "gitea/gone": "1", "gitea/dir/file": "1", "gitea/shorter": "123456",
		"gitea/gitea.db-shm": "1", "flux/gone/x": "1", "other/x": "not asked for",
	})
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"same", "changed", "shorter"} {
		if err := os.Chtimes(filepath.Join(from, "gitea", name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("same", filepath.Join(from, "gitea", "link")), os.Chmod(filepath.Join(from, "gitea", "same"), 0o400)); err != nil {
		t.Fatal(err)
	}
	paths := []string{"gitea", "flux", "none"}
	c := newCopier(from, to)
	if err := c.pass(t.Context(), paths); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(to, "gitea", "same")
	if err := errors.Join(os.Remove(mark), os.WriteFile(mark, []byte("1, not copied again"), 0o400), os.Chtimes(mark, old, old)); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"gitea/gone", "gitea/dir", "flux/gone", "gitea/link"} {
		if err := os.RemoveAll(filepath.Join(from, name)); err != nil {
			t.Fatal(err)
		}
	}
	files.Fill(t, from, map[string]string{"gitea/changed": "2", "gitea/new/file": "2", "gitea/dir": "a file now", "gitea/shorter": "12", "gitea/young": "2"})
	if err := os.Symlink("changed", filepath.Join(from, "gitea", "link")); err != nil {
		t.Fatal(err)
	}
	if err := c.pass(t.Context(), paths); err != nil {
		t.Fatal(err)
	}
	want := files.Contents(t, from)
	delete(want, "other/x")
	delete(want, "gitea/gitea.db-shm")
	want["gitea/same"] = "1, not copied again"
	if diff := cmp.Diff(want, files.Contents(t, to)); diff != "" {
		t.Errorf("the copy differs:\n%s", diff)
	}
	if target, err := os.Readlink(filepath.Join(to, "gitea", "link")); target != "changed" {
		t.Errorf("link to %q: %v", target, err)
	}
	for name, mode := range map[string]os.FileMode{"gitea/changed": 0o600, "gitea/shorter": 0o600} {
		a, errA := os.Stat(filepath.Join(from, name))
		b, errB := os.Stat(filepath.Join(to, name))
		if err := errors.Join(errA, errB); err != nil || b.Mode() != mode || !a.ModTime().Equal(b.ModTime()) {
			t.Errorf("%s: mode %v, time %v instead of %v: %v", name, b.Mode(), b.ModTime(), a.ModTime(), err)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "flux", "gone")); err == nil {
		t.Error("a folder that is gone is in the copy")
	}
}

// A file that is written again within the grain of the clock, with the same
// size, looks as before.
func TestYoungFilesAreCopiedAgain(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	files.Fill(t, from, map[string]string{"gitea/x": "1"})
	c := newCopier(from, to)
	if err := c.pass(t.Context(), []string{"gitea"}); err != nil {
		t.Fatal(err)
	}
	stamp, err := os.Stat(filepath.Join(from, "gitea", "x"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(from, "gitea", "x"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("2")
	if err := errors.Join(err, f.Close(), os.Chtimes(f.Name(), stamp.ModTime(), stamp.ModTime())); err != nil {
		t.Fatal(err)
	}
	if err := c.pass(t.Context(), []string{"gitea"}); err != nil {
		t.Fatal(err)
	}
	if got := files.Contents(t, to)["gitea/x"]; got != "2" {
		t.Errorf("the copy has %q", got)
	}
}

func TestHolesStayHoles(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	f, err := os.Create(filepath.Join(from, "wal"))
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	_, err = f.WriteAt([]byte("begin"), 0)
	_, err2 := f.WriteAt([]byte("middle"), size/2)
	if err := errors.Join(err, err2, f.Truncate(size), f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := diskUsage(from)
	if err != nil {
		t.Fatal(err)
	}
	if before > size/2 {
		t.Skip("no holes on this file system")
	}
	if err := newCopier(from, to).pass(t.Context(), []string{"wal"}); err != nil {
		t.Fatal(err)
	}
	a, b := files.Contents(t, from)["wal"], files.Contents(t, to)["wal"]
	if len(b) != size || a != b {
		t.Error("another content")
	}
	if after, err := diskUsage(to); err != nil || after > before+(1<<20) {
		t.Errorf("%d bytes have become %d on disk: %v", before, after, err)
	}
}

func TestWhatCannotBeCopied(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	files.Fill(t, from, map[string]string{"gitea/x": "1"})
	l, err := net.Listen("unix", filepath.Join(from, "gitea", "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := newCopier(from, to).pass(t.Context(), []string{"gitea"}); err != nil {
		t.Errorf("a socket: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newCopier(from, to).pass(ctx, []string{"gitea"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	files.Fill(t, to, map[string]string{"file": ""})
	if err := newCopier(from, filepath.Join(to, "file")).pass(t.Context(), []string{"gitea"}); err == nil || !strings.Contains(err.Error(), "copy gitea: ") {
		t.Error(err)
	}
}
