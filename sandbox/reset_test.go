package sandbox

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/daemontest"
	"github.com/kalypso-dev/kalypso/internal/testkit/files"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// writer is a component that makes what is not there, as a forge does.
func writer(h Home, name, content string) supervisor.Unit {
	p := &daemontest.Part{OnInit: func(int) error {
		if _, err := os.Stat(h.Path(name)); err == nil {
			return nil
		}
		return state.WriteFile(h.Path(name), []byte(content))
	}}
	return p.Unit("writer")
}

func TestResetMakesTheSandboxAnew(t *testing.T) {
	h := Home(t.TempDir())
	units, _ := twoClusters(t, h)
	d := daemontest.Serve(t, h, append(units, writer(h, "gitea/db", "fresh"))...)
	d.Settle(t)
	files.Fill(t, string(h), map[string]string{
		"gitea/db": "used", "clusters/etcd/wal": "used", "clusters/large/node/images": "used", "clusters/large/pki/key": "kept", "clusters/changes.json": "{}",
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
		t.Errorf("progress has %v", seen)
	}
	got := files.Contents(t, string(h))
	for name, want := range map[string]string{
		"gitea/db": "fresh", "clusters/etcd/wal": "", "clusters/large/node/images": "", "clusters/large/pki/key": "kept",
		"logs/x.log": "kept", "snapshots/s/data/gitea/db": "kept", "clusters/away.json": "", "clusters/changes.json": "",
	} {
		if got[name] != want {
			t.Errorf("%s has %q, want %q", name, got[name], want)
		}
	}
	st, err := daemon.NewClient(h).Status(t.Context())
	if err != nil || !st.Ready || st.Components[2].Held {
		t.Errorf("a stopped cluster has not come back: %+v, %v", st, err)
	}
	gone := func() bool {
		left, err := os.ReadDir(h.Path("aside"))
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
	before := files.Contents(t, string(h))["sandbox.json"]
	files.Fill(t, string(h), map[string]string{"gitea/db": "used"})
	if ran, err := Reset(t.Context(), h, nil); ran || err != nil {
		t.Errorf("ran %v, %v", ran, err)
	}
	if got := files.Contents(t, string(h)); got["gitea/db"] != "" || got["sandbox.json"] != before {
		t.Errorf("%v", got)
	}
	held, err := h.TryLock()
	if err != nil {
		t.Fatal("the lock is not given back:", err)
	}
	defer held.Close()
	if _, err := Reset(t.Context(), h, nil); err == nil || !strings.Contains(err.Error(), "just starting or ending") {
		t.Error(err)
	}
}

func TestResetThatFailsLeavesAllAsItWas(t *testing.T) {
	h := Home(t.TempDir())
	units, _ := twoClusters(t, h)
	d := daemontest.Serve(t, h, append(units, writer(h, "gitea/db", "old"))...)
	d.Settle(t)
	files.Fill(t, string(h), map[string]string{"aside": "a file where a folder must be"})
	if _, err := Reset(t.Context(), h, nil); err == nil || !strings.Contains(err.Error(), "reset: ") {
		t.Error(err)
	}
	if err := awaitAll(t, h); err != nil {
		t.Error(err)
	}
	if got := files.Contents(t, string(h))["gitea/db"]; got != "old" {
		t.Errorf("%q", got)
	}
}
