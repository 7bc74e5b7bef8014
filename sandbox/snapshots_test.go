package sandbox

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/daemontest"
	"github.com/kalypso-dev/kalypso/internal/testkit/files"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/snapshot"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

func TestSaveAndLoad(t *testing.T) {
	for name, runs := range map[string]bool{"running": true, "down": false} {
		t.Run(name, func(t *testing.T) {
			h := Home(t.TempDir())
			units, _ := twoClusters(t, h)
			if runs {
				daemontest.Serve(t, h, units...).Settle(t)
			}
			files.Fill(t, string(h), map[string]string{"gitea/db": "one", "clusters/etcd/wal": "one", "clusters/large/pki/key": "kept", "clusters/changes.json": "{}"})
			if _, err := StopCluster(t.Context(), h, "large", nil); err != nil {
				t.Fatal(err)
			}
			s, err := SaveSnapshot(t.Context(), h, "first", "v1")
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != "first" || s.Bytes == 0 || s.Workshop != "hello-world" || (s.Still > 0) != runs {
				t.Errorf("%+v", s)
			}
			if _, err := StartCluster(t.Context(), h, "large", time.Minute, nil); err != nil {
				t.Fatal(err)
			}
			files.Fill(t, string(h), map[string]string{"gitea/db": "two", "gitea/new": "two", "flux/x": "two", "clusters/large/pki/key": "newer", "clusters/changes.json": `{"removed":["two"]}`})
			for range 2 { // a snapshot is not used up
				ran, err := LoadSnapshot(t.Context(), h, "first", nil)
				if err != nil || ran != runs {
					t.Fatalf("ran %v, %v", ran, err)
				}
				got := files.Contents(t, string(h))
				for name, want := range map[string]string{
					"gitea/db": "one", "clusters/etcd/wal": "one", "gitea/new": "", "flux/x": "", "clusters/large/pki/key": "newer", "clusters/away.json": "[\"large\"]\n", "clusters/changes.json": "{}",
				} {
					if got[name] != want {
						t.Errorf("%s has %q, want %q", name, got[name], want)
					}
				}
			}
			all, err := snapshot.List(h)
			if err != nil || len(all) != 1 || all[0] != *s {
				t.Errorf("%+v instead of %+v: %v", all, s, err)
			}
			if err := snapshot.Delete(h, "first"); err != nil {
				t.Error(err)
			}
			if all, err := snapshot.List(h); err != nil || len(all) != 0 {
				t.Errorf("%+v, %v", all, err)
			}
		})
	}
}

func TestSnapshotsThatDoNotFit(t *testing.T) {
	h := Home(t.TempDir())
	for _, err := range []error{
		func() error { _, err := SaveSnapshot(t.Context(), h, "a", ""); return err }(),
		func() error { _, err := LoadSnapshot(t.Context(), h, "a", nil); return err }(),
		func() error { _, err := snapshot.List(h); return err }(),
		snapshot.Delete(h, "a"),
	} {
		if !errors.Is(err, ErrNoSandbox) {
			t.Error(err)
		}
	}
	twoClusters(t, h)
	var mistake *usage.Error
	if _, err := snapshot.Find(h, "first"); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "nor any other: `kalypso snapshot save first`") {
		t.Error(err)
	}
	if _, err := SaveSnapshot(t.Context(), h, "first", "v1"); err != nil {
		t.Fatal(err)
	}
	if _, err := SaveSnapshot(t.Context(), h, "first", "v1"); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "`kalypso snapshot delete first`") {
		t.Error(err)
	}
	for _, err := range []error{
		func() error { _, err := snapshot.Find(h, "fist"); return err }(), snapshot.Delete(h, "fist"),
	} {
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "did you mean first?") {
			t.Error(err)
		}
	}
	for name, content := range map[string]string{
		"of another sandbox":            `{"id": "other", "workshop": "hello-world"}`,
		"of the workshop basic":         `{"id": "other", "workshop": "basic"}`,
		"`kalypso snapshot delete odd`": `{`,
	} {
		files.Fill(t, h.Path("snapshots", "odd"), map[string]string{"snapshot.json": content})
		if _, err := LoadSnapshot(t.Context(), h, "odd", nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	if err := snapshot.Delete(h, "odd"); err != nil {
		t.Error(err)
	}
}

// The daemon itself may be writing while a component starts.
func TestNoSnapshotOfAStartingSandbox(t *testing.T) {
	h := Home(t.TempDir())
	units, _ := twoClusters(t, h)
	never := &daemontest.Part{OnReady: func(int) error { return errors.New("filling") }}
	d := daemontest.Serve(t, h, append(units, never.Unit("repositories"))...)
	d.Await(t, "only repositories is not ready", func(all []supervisor.Status) bool {
		moving := slices.DeleteFunc(slices.Clone(all), func(s supervisor.Status) bool { return s.State == supervisor.Ready })
		return len(moving) == 1 && moving[0].Reason == "filling"
	})
	if _, err := SaveSnapshot(t.Context(), h, "a", "v1"); err == nil || !strings.Contains(err.Error(), "repositories is starting") {
		t.Error(err)
	}
}
