package sandbox

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// writer is a component that makes what is not there, as a forge does.
func writer(h Home, name, content string) supervisor.Unit {
	p := &part{init: func(int) error {
		if _, err := os.Stat(h.Path(name)); err == nil {
			return nil
		}
		return writeFile(h.Path(name), []byte(content), 0o600)
	}}
	return p.unit("writer")
}

func TestResetMakesTheWorldAnew(t *testing.T) {
	h := Home(t.TempDir())
	units, _ := twoClusters(t, h)
	d := serve(t, h, append(units, writer(h, "gitea/db", "fresh"))...)
	d.settle(t)
	fill(t, string(h), map[string]string{
		"gitea/db": "used", "clusters/etcd/wal": "used", "clusters/large/node/images": "used", "clusters/large/pki/key": "kept",
		"logs/x.log": "kept", "snapshots/s/data/gitea/db": "kept",
	})
	if _, err := StopCluster(t.Context(), h, "large", nil); err != nil {
		t.Fatal(err)
	}
	seen := map[supervisor.State]bool{}
	ran, err := Reset(t.Context(), h, func(all []supervisor.Status) { seen[all[0].State] = true })
	if err != nil || !ran {
		t.Fatalf("ran %v, %v", ran, err)
	}
	if !seen[supervisor.Stopped] || !seen[supervisor.Ready] {
		t.Errorf("progress told of %v", seen)
	}
	got := contents(t, string(h))
	for name, want := range map[string]string{
		"gitea/db": "fresh", "clusters/etcd/wal": "", "clusters/large/node/images": "", "clusters/large/pki/key": "kept",
		"logs/x.log": "kept", "snapshots/s/data/gitea/db": "kept", awayFile: "",
	} {
		if got[name] != want {
			t.Errorf("%s has %q, want %q", name, got[name], want)
		}
	}
	st, err := openDoor(h).status(t.Context())
	if err != nil || !st.Ready || st.Components[2].Held {
		t.Errorf("a stopped cluster has not come back: %+v, %v", st, err)
	}
	gone := func() bool {
		left, err := os.ReadDir(h.Path(asideFolder))
		return err == nil && len(left) == 0
	}
	for range 500 {
		if gone() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the old data is still there")
}

func TestResetOfASandboxThatIsDown(t *testing.T) {
	h := Home(t.TempDir())
	if _, err := Reset(t.Context(), h, nil); !errors.Is(err, ErrNoSandbox) {
		t.Error(err)
	}
	twoClusters(t, h)
	before := contents(t, string(h))["sandbox.json"]
	fill(t, string(h), map[string]string{"gitea/db": "used"})
	if ran, err := Reset(t.Context(), h, nil); ran || err != nil {
		t.Errorf("ran %v, %v", ran, err)
	}
	if got := contents(t, string(h)); got["gitea/db"] != "" || got["sandbox.json"] != before {
		t.Errorf("%v", got)
	}
	held, err := h.lock()
	if err != nil {
		t.Fatal("the lock is not given back:", err)
	}
	defer held.Close()
	if _, err := Reset(t.Context(), h, nil); err == nil || !strings.Contains(err.Error(), "just starting or ending") {
		t.Error(err)
	}
}

func TestOnlyOneThingAtATime(t *testing.T) {
	h := Home(t.TempDir())
	units, _ := twoClusters(t, h)
	d := serve(t, h, units...)
	d.settle(t)
	release, err := d.runs.reserve("a snapshot is being saved")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Reset(t.Context(), h, nil); err == nil || err.Error() != "not while something else is done (a snapshot is being saved): try again in a moment" {
		t.Error(err)
	}
	release()
	if _, err := Reset(t.Context(), h, nil); err != nil {
		t.Error(err)
	}
}

func TestResetThatFailsLeavesAllAsItWas(t *testing.T) {
	h := Home(t.TempDir())
	units, _ := twoClusters(t, h)
	d := serve(t, h, append(units, writer(h, "gitea/db", "old"))...)
	d.settle(t)
	fill(t, string(h), map[string]string{asideFolder: "a file where a folder must be"})
	if _, err := Reset(t.Context(), h, nil); err == nil || !strings.Contains(err.Error(), "reset: ") {
		t.Error(err)
	}
	if err := openDoor(h).settle(t.Context(), h, nil); err != nil {
		t.Error(err)
	}
	if got := contents(t, string(h))["gitea/db"]; got != "old" {
		t.Errorf("%q", got)
	}
}

func TestWhatComesAfterTheEndIsAnswered(t *testing.T) {
	h := Home(t.TempDir())
	d := serve(t, h, steady("etcd"))
	d.end()
	if err := d.runs.whileStill(func() error { return nil }); !errors.Is(err, errEnding) {
		t.Error(err)
	}
}
