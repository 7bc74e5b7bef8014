package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fill writes files below a folder, each with its content.
func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// contents are all files below a folder, but not what is on its way.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == asideFolder {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		if e.Type().IsRegular() {
			b, err := os.ReadFile(path)
			rel, relErr := filepath.Rel(dir, path)
			files[rel] = string(b)
			return errors.Join(err, relErr)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// cutOff is what a change looks like when it is cut off after some renames,
// the notes counting as one.
func cutOff(t *testing.T, h Home, c change, steps int) {
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
	c.Stage = comingIn
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
				fill(t, string(h), map[string]string{"gitea/db": "old", "clusters/etcd/wal": "old", "flux/x": "old", "clusters/a/pki/key": "kept"})
				c := change{What: what, Stage: goingOut, Paths: paths}
				var err error
				if c.Old, err = h.aside("old-"); err != nil {
					t.Fatal(err)
				}
				if incoming {
					if c.New, err = h.aside("new-"); err != nil {
						t.Fatal(err)
					}
					fill(t, h.Path(c.New), map[string]string{"gitea/db": "new", "clusters/etcd/wal": "new", "scheduler/y": "new"})
				}
				cutOff(t, h, c, steps)
				done, err := h.finishChange()
				if err != nil {
					t.Fatalf("after %d steps: %v", steps, err)
				}
				got := contents(t, string(h))
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
				if done, err := h.finishChange(); done != "" || err != nil {
					t.Errorf("done twice: %q, %v", done, err)
				}
				if err := h.sweep()(); err != nil {
					t.Error(err)
				}
				if left, _ := os.ReadDir(h.Path(asideFolder)); len(left) > 0 {
					t.Errorf("after %d steps: left aside %v", steps, left)
				}
			}
		})
	}
}

func TestSweepLeavesWhatAChangeNeeds(t *testing.T) {
	h := Home(t.TempDir())
	fill(t, string(h), map[string]string{"gitea/db": "old", "aside/new-1/gitea/db": "new", "aside/old-1/x": ""})
	if err := h.note(&change{What: "load", Stage: goingOut, Paths: []string{"gitea"}, Old: "aside/old-1", New: "aside/new-1"}); err != nil {
		t.Fatal(err)
	}
	if err := h.sweep()(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.finishChange(); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, string(h)); got["gitea/db"] != "new" {
		t.Errorf("%v", got)
	}
}

func TestChangeThatCannotBeDone(t *testing.T) {
	h := Home(t.TempDir())
	fill(t, string(h), map[string]string{"aside": "a file where a folder must be"})
	var halfway *halfwayError
	if err := h.apply("reset", worldData, ""); err == nil || errors.As(err, &halfway) {
		t.Errorf("before it has begun: %v", err)
	}

	h = Home(t.TempDir())
	fill(t, string(h), map[string]string{"clusters": "a file where a folder must be", "gitea/db": "old"})
	old, err := h.aside("new-")
	if err != nil {
		t.Fatal(err)
	}
	fill(t, h.Path(old), map[string]string{"clusters/etcd/wal": "new"})
	if err := h.apply("load", worldData, old); !errors.As(err, &halfway) || !strings.Contains(err.Error(), "load: ") || !strings.Contains(err.Error(), "`kalypso up` goes on with it") {
		t.Error(err)
	}
	// once mended, it is finished
	if err := os.Remove(h.Path("clusters")); err != nil {
		t.Fatal(err)
	}
	if what, err := h.finishChange(); what != "load" || err != nil {
		t.Errorf("%q, %v", what, err)
	}
	if got := contents(t, string(h)); len(got) != 1 || got["clusters/etcd/wal"] != "new" {
		t.Errorf("%v", got)
	}

	fill(t, string(h), map[string]string{changeFile: "{"})
	if _, err := h.finishChange(); err == nil || !strings.Contains(err.Error(), "down --delete") {
		t.Error(err)
	}
}
