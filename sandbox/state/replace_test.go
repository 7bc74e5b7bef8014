package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/files"
)

// cutOff is what a change looks like when it is cut off after some renames,
// the notes counting as one.
func cutOff(t *testing.T, h Home, c replacement, steps int) {
	t.Helper()
	do := func(step func() error) {
		if steps--; steps >= 0 {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	do(func() error { return h.note(&c) })
	for _, p := range c.Paths {
		do(func() error { return h.move(p, filepath.Join(c.Old, p)) })
	}
	c.Stage = movingIn
	do(func() error { return h.note(&c) })
	for _, p := range c.Paths {
		if c.New != "" {
			do(func() error { return h.move(filepath.Join(c.New, p), p) })
		}
	}
}

func TestChangeCutOffAnywhereIsFinished(t *testing.T) {
	paths := []string{"gitea", "clusters/etcd", "flux", "scheduler"}
	for what, incoming := range map[string]bool{"load": true, "reset": false} {
		t.Run(what, func(t *testing.T) {
			for steps := range 2*len(paths) + 3 {
				h := Home(t.TempDir())
				// flux is only in the old, scheduler only in the new data
				files.Fill(t, string(h), map[string]string{"gitea/db": "old", "clusters/etcd/wal": "old", "flux/x": "old", "clusters/a/pki/key": "kept"})
				c := replacement{What: what, Stage: movingOut, Paths: paths}
				var err error
				if c.Old, err = h.Stage("old-"); err != nil {
					t.Fatal(err)
				}
				if incoming {
					if c.New, err = h.Stage("new-"); err != nil {
						t.Fatal(err)
					}
					files.Fill(t, h.Path(c.New), map[string]string{"gitea/db": "new", "clusters/etcd/wal": "new", "scheduler/y": "new"})
				}
				cutOff(t, h, c, steps)
				done, err := h.FinishReplacement()
				if err != nil {
					t.Fatalf("after %d steps: %v", steps, err)
				}
				got := files.Contents(t, string(h))
				switch {
				case steps == 0: // nothing has been noted, so nothing has begun
					if done != "" || got["gitea/db"] != "old" || got["flux/x"] != "old" {
						t.Errorf("before it began: %q, %v", done, got)
					}
				case incoming:
					if done != what || len(got) != 4 || got["gitea/db"] != "new" || got["clusters/etcd/wal"] != "new" || got["scheduler/y"] != "new" {
						t.Errorf("after %d steps: %q, %v", steps, done, got)
					}
				default:
					if done != what || len(got) != 1 {
						t.Errorf("after %d steps: %q, %v", steps, done, got)
					}
				}
				if got["clusters/a/pki/key"] != "kept" {
					t.Errorf("after %d steps: %v", steps, got)
				}
				if done, err := h.FinishReplacement(); done != "" || err != nil {
					t.Errorf("done twice: %q, %v", done, err)
				}
				if err := h.Sweep()(); err != nil {
					t.Error(err)
				}
				if left, _ := os.ReadDir(h.Path(stagingFolder)); len(left) > 0 {
					t.Errorf("after %d steps: left aside %v", steps, left)
				}
			}
		})
	}
}

func TestSweepLeavesWhatAChangeNeeds(t *testing.T) {
	h := Home(t.TempDir())
	files.Fill(t, string(h), map[string]string{"gitea/db": "old", "aside/new-1/gitea/db": "new", "aside/old-1/x": ""})
	if err := h.note(&replacement{What: "load", Stage: movingOut, Paths: []string{"gitea"}, Old: "aside/old-1", New: "aside/new-1"}); err != nil {
		t.Fatal(err)
	}
	if err := h.Sweep()(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.FinishReplacement(); err != nil {
		t.Fatal(err)
	}
	if got := files.Contents(t, string(h)); got["gitea/db"] != "new" {
		t.Errorf("%v", got)
	}
}

func TestChangeThatCannotBeDone(t *testing.T) {
	h := Home(t.TempDir())
	files.Fill(t, string(h), map[string]string{"aside": "a file where a folder must be"})
	var incomplete *IncompleteError
	if err := h.Replace("reset", Data, ""); err == nil || errors.As(err, &incomplete) {
		t.Errorf("before it has begun: %v", err)
	}

	h = Home(t.TempDir())
	files.Fill(t, string(h), map[string]string{"clusters": "a file where a folder must be", "gitea/db": "old"})
	old, err := h.Stage("new-")
	if err != nil {
		t.Fatal(err)
	}
	files.Fill(t, h.Path(old), map[string]string{"clusters/etcd/wal": "new"})
	if err := h.Replace("load", Data, old); !errors.As(err, &incomplete) || !strings.Contains(err.Error(), "load: ") || !strings.Contains(err.Error(), "`kalypso up` goes on with it") {
		t.Error(err)
	}
	// once mended, it is finished
	if err := os.Remove(h.Path("clusters")); err != nil {
		t.Fatal(err)
	}
	if what, err := h.FinishReplacement(); what != "load" || err != nil {
		t.Errorf("%q, %v", what, err)
	}
	if got := files.Contents(t, string(h)); len(got) != 1 || got["clusters/etcd/wal"] != "new" {
		t.Errorf("%v", got)
	}

	files.Fill(t, string(h), map[string]string{replacementFile: "{"})
	if _, err := h.FinishReplacement(); err == nil || !strings.Contains(err.Error(), "down --delete") {
		t.Error(err)
	}
}

// TestWorkshopOfAnInterruptedReplacement is the new one from the beginning: nothing
// else can be read while it moves.
func TestWorkshopOfAnInterruptedReplacement(t *testing.T) {
	h, dir := Home(t.TempDir()), t.TempDir()
	kata := func(name string) {
		files.Fill(t, dir, map[string]string{
			"workshop.yaml":                       "apiVersion: kalypso.dev/v1alpha1\nkind: Workshop\nname: " + name + "\ncontrolPlane: {repository: control, environments: [main]}\nrepositories: [{name: control}]\n",
			"repositories/control/main/README.md": "# main\n",
		})
	}
	kata("one")
	c := Choice{Workshop: dir}
	if err := c.Open(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Ensure(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	kata("two")
	if err := errors.Join(c.Open(t.Context(), t.TempDir()), h.CopyWorkshop(t.Context(), c)); err != nil {
		t.Fatal(err)
	}
	staged, err := h.StageWorkshop()
	if err != nil {
		t.Fatal(err)
	}
	old, err := h.Stage("old-")
	if err != nil {
		t.Fatal(err)
	}
	r := &replacement{What: "reset", Stage: movingOut, Paths: []string{WorkshopFolder}, Old: old, New: staged}
	if err := errors.Join(h.note(r), h.move(WorkshopFolder, filepath.Join(old, WorkshopFolder))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if s, err := h.Load(); err != nil || s.Workshop != "two" {
			t.Fatalf("%+v, %v", s, err)
		}
		if _, err := h.FinishReplacement(); err != nil {
			t.Fatal(err)
		}
	}
}
