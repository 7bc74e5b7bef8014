package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
)

// TestMain lets the test binary be the hub that is measured.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-serve" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestRun fills a small store, measures it, and finds it filled.
func TestRun(t *testing.T) {
	o := store.Options{SQLite: filepath.Join(t.TempDir(), "hub.db")}
	size := fleetSize{clusters: 50, types: 5, targets: 8}
	if err := run(t.Context(), o, size, 100, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), o, size, 0, 2*time.Second, 20); err != nil {
		t.Error(err)
	}
	size.targets++
	if err := run(t.Context(), o, size, 0, 0, 0); err == nil {
		t.Error("a store with another fleet was taken")
	}
}
