package snapshot

import (
	"bytes"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/snapshot"
)

func TestSnapshotTable(t *testing.T) {
	var b bytes.Buffer
	all := []snapshot.Snapshot{{Name: "old", Version: "v0", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Bytes: 1 << 20}}
	if err := printSnapshots(&b, all, time.UTC); err != nil {
		t.Fatal(err)
	}
	want := "NAME  SAVED                SIZE     KALYPSO\nold   2026-01-02 03:04:05  1.0 MiB  v0\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
