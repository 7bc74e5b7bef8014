package sandbox

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

func TestSnapshotNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "before-promotion": true, "2": true, strings.Repeat("a", 63): true,
		"": false, "A": false, "a b": false, "..": false, "a/b": false, "-a": false, "a-": false, ".x": false, "ä": false, strings.Repeat("a", 64): false,
	} {
		if err := checkSnapshotName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestSaveAndLoad(t *testing.T) {
	for name, runs := range map[string]bool{"running": true, "down": false} {
		t.Run(name, func(t *testing.T) {
			h := Home(t.TempDir())
			units, _ := twoClusters(t, h)
			if runs {
				serve(t, h, units...).settle(t)
			}
			fill(t, string(h), map[string]string{"gitea/db": "one", "clusters/etcd/wal": "one", "clusters/large/pki/key": "kept"})
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
			fill(t, string(h), map[string]string{"gitea/db": "two", "gitea/new": "two", "flux/x": "two", "clusters/large/pki/key": "newer"})
			for range 2 { // a snapshot is not used up
				ran, err := LoadSnapshot(t.Context(), h, "first", nil)
				if err != nil || ran != runs {
					t.Fatalf("ran %v, %v", ran, err)
				}
				got := contents(t, string(h))
				for name, want := range map[string]string{
					"gitea/db": "one", "clusters/etcd/wal": "one", "gitea/new": "", "flux/x": "", "clusters/large/pki/key": "newer", awayFile: "[\"large\"]\n",
				} {
					if got[name] != want {
						t.Errorf("%s has %q, want %q", name, got[name], want)
					}
				}
			}
			all, err := Snapshots(h)
			if err != nil || len(all) != 1 || all[0] != *s {
				t.Errorf("%+v instead of %+v: %v", all, s, err)
			}
			if err := DeleteSnapshot(h, "first"); err != nil {
				t.Error(err)
			}
			if all, err := Snapshots(h); err != nil || len(all) != 0 {
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
		func() error { _, err := Snapshots(h); return err }(),
		DeleteSnapshot(h, "a"),
	} {
		if !errors.Is(err, ErrNoSandbox) {
			t.Error(err)
		}
	}
	twoClusters(t, h)
	var usage *UsageError
	if _, err := FindSnapshot(h, "first"); !errors.As(err, &usage) || !strings.Contains(err.Error(), "nor any other: `kalypso snapshot save first`") {
		t.Error(err)
	}
	if _, err := SaveSnapshot(t.Context(), h, "first", "v1"); err != nil {
		t.Fatal(err)
	}
	if _, err := SaveSnapshot(t.Context(), h, "first", "v1"); !errors.As(err, &usage) || !strings.Contains(err.Error(), "there is a snapshot first already") {
		t.Error(err)
	}
	for _, err := range []error{
		func() error { _, err := FindSnapshot(h, "fist"); return err }(), DeleteSnapshot(h, "fist"),
	} {
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), "did you mean first?") {
			t.Error(err)
		}
	}
	for name, content := range map[string]string{
		"of another sandbox":            `{"id": "other", "workshop": "hello-world"}`,
		"of the workshop basic":         `{"id": "other", "workshop": "basic"}`,
		"`kalypso snapshot delete odd`": `{`,
	} {
		fill(t, h.snapshot("odd"), map[string]string{snapshotFile: content})
		if _, err := LoadSnapshot(t.Context(), h, "odd", nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	if err := DeleteSnapshot(h, "odd"); err != nil {
		t.Error(err)
	}
}

func TestHalfASnapshotIsNeverListed(t *testing.T) {
	h := Home(t.TempDir())
	units, _ := twoClusters(t, h)
	fill(t, string(h), map[string]string{"gitea/db": "one"})
	state, err := h.LoadState()
	if err != nil {
		t.Fatal(err)
	}
	thawed := 0
	cannot := errors.New("process 7 still runs")
	for what, freeze := range map[string]freezer{
		"freezing": func(context.Context) (func() error, error) { return nil, cannot },
		"thawing": func(context.Context) (func() error, error) {
			return func() error { thawed++; return cannot }, nil
		},
	} {
		if _, err := h.save(t.Context(), state, "a", "v1", freeze); !errors.Is(err, cannot) || !strings.Contains(err.Error(), "save snapshot a: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = h.save(ctx, state, "a", "v1", func(context.Context) (func() error, error) {
		cancel()
		return func() error { thawed++; return nil }, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if thawed < 2 {
		t.Errorf("thawed %d times", thawed)
	}
	if all, err := Snapshots(h); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if left, err := os.ReadDir(h.Path(asideFolder)); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}

	// nor is one saved while the daemon itself is writing
	never := &part{ready: func(int) error { return errors.New("filling") }}
	d := serve(t, h, append(units, never.unit("repositories"))...)
	for range 500 {
		moves := slices.DeleteFunc(d.Status(), func(s supervisor.Status) bool { return s.State == supervisor.Ready })
		if len(moves) == 1 && moves[0].Reason == "filling" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := SaveSnapshot(t.Context(), h, "a", "v1"); err == nil || !strings.Contains(err.Error(), "repositories is starting, and a snapshot needs a sandbox that is at rest") {
		t.Error(err)
	}
}

func TestNodesAreNotFrozen(t *testing.T) {
	got := writers([]supervisor.Status{{Name: "gitea", PID: 3}, {Name: "node-large", PID: 4}, {Name: "repositories"}})
	if len(got) != 1 || got["gitea"] != 3 {
		t.Errorf("%v", got)
	}
}
