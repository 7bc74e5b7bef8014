//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/sandbox/snapshot"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// TestStoppedCluster takes parts of a sandbox away, and brings them back: one cluster,
// or the time since a snapshot, or all since the beginning.
func TestStoppedCluster(t *testing.T) {
	m := newMachine(t)
	out := m.up()
	t.Logf("first up: %.2f s", out.took.Seconds())
	m.settle()
	for _, part := range []struct {
		name string
		run  func(*testing.T, *machine)
	}{
		{"StopAndStart", stopAndStart},
		{"Snapshots", snapshots},
		{"SaveWhilePushing", saveWhilePushing},
		{"KilledWhileSaving", killedWhileSaving},
		{"KilledWhileLoading", killedWhileLoading},
		{"Reset", resetAll},
		{"KilledWhileResetting", killedWhileResetting},
		{"Down", stoppedWhileDown},
	} {
		if !t.Run(part.name, func(t *testing.T) {
			m.t = t
			part.run(t, m)
		}) {
			m.t = t
			t.Fatalf("no sandbox to go on with after %s", part.name)
		}
		m.t = t
	}
}

// lastCluster is the one that the tests take away.
func (m *machine) lastCluster() string {
	m.t.Helper()
	all := m.status().Clusters
	if len(all) == 0 {
		m.t.Fatal("no clusters")
	}
	return all[len(all)-1]
}

// group are the states of a cluster's components.
func (m *machine) group(cluster string) map[string]supervisor.State {
	m.t.Helper()
	states := map[string]supervisor.State{}
	for _, c := range m.status().Components {
		if c.Group == cluster {
			states[c.Name] = c.State
		}
	}
	return states
}

func (m *machine) allAre(cluster string, want supervisor.State) {
	m.t.Helper()
	states := m.group(cluster)
	for name, state := range states {
		if state != want {
			m.t.Errorf("%s is %s, want %s", name, state, want)
		}
	}
	if len(states) < 3 {
		m.t.Errorf("%s has only %s", cluster, slices.Sorted(maps.Keys(states)))
	}
}

func stopAndStart(t *testing.T, m *machine) {
	name := m.lastCluster()
	own := m.group(name)
	before := m.pids()
	uid := m.namespaceUID(name)
	out := m.run("stop", name)
	t.Logf("stop: %.2f s", out.took.Seconds())
	m.allAre(name, supervisor.Stopped)
	m.stoppedIsUnknown(name)
	m.hubKnowsStopped(name)
	after := m.pids()
	for component := range own {
		if pid := before[component]; pid != 0 {
			if err := gone(pid); err != nil {
				t.Errorf("%s: %v", component, err)
			}
		}
		delete(before, component)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("others have been disturbed:\n%s", diff)
	}
	out = m.run("status")
	back := "`kalypso start " + name + "` brings it back"
	if !strings.Contains(out.stdout, back) || !m.status().Ready {
		t.Errorf("status says %q", out.stdout)
	}
	if out := m.run("stop", name); !strings.Contains(out.stderr, "already") {
		t.Errorf("stopped twice, says %q", out.stderr)
	}
	if out, err := m.try("restart", name); err == nil || !strings.Contains(out.stderr, back) {
		t.Errorf("restart says %q", out.stderr)
	}

	// it stays away, whatever happens to the daemon
	if err := syscall.Kill(after["daemon"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	out = m.up()
	t.Logf("up without %s, after a kill: %.2f s", name, out.took.Seconds())
	if !strings.Contains(out.stderr, back) {
		t.Errorf("up says %q", out.stderr)
	}
	m.allAre(name, supervisor.Stopped)

	out = m.run("start", name)
	t.Logf("start: %.2f s", out.took.Seconds())
	m.allAre(name, supervisor.Ready)
	if now := m.namespaceUID(name); now != uid {
		t.Errorf("another cluster has come back: %s instead of %s", now, uid)
	}
	if out := m.run("start", name); !strings.Contains(out.stderr, "nothing changed") {
		t.Errorf("started twice, says %q", out.stderr)
	}
	if out, err := m.try("stop", name+"x"); err == nil || out.code != 2 || !strings.Contains(out.stderr, "did you mean "+name+"?") {
		t.Errorf("exit code %d, says %q", out.code, out.stderr)
	}
}

func (m *machine) namespaceUID(cluster string) string {
	m.t.Helper()
	return m.run("kubectl", "--context", cluster, "get", "namespace", "default", "-o", "jsonpath={.metadata.uid}").stdout
}

// markBranch starts no workflow: one that is under way when a snapshot is saved
// goes on when it is loaded, and moves branches.
const markBranch = "mark"

// mark leaves a mark on the forge, on a branch that starts nothing, and on a
// cluster.
func (m *machine) mark(text string) {
	m.t.Helper()
	m.push("kalypso-control-plane", markBranch, map[string]string{"mark.txt": text})
	m.forge(http.MethodPost, "repos/kalypso/kalypso-control-plane/issues", fmt.Sprintf(`{"title": %q}`, text))
	name := m.lastCluster()
	m.run("kubectl", "--context", name, "delete", "configmap", "mark", "--ignore-not-found")
	m.run("kubectl", "--context", name, "create", "configmap", "mark", "--from-literal=text="+text)
}

// marks are the last marks, on the forge's git, its issues, and a cluster.
func (m *machine) marks() string {
	m.t.Helper()
	file := m.forge(http.MethodGet, "repos/kalypso/kalypso-control-plane/raw/mark.txt?ref="+markBranch, "")
	var issues []struct{ Title string }
	m.decode(m.forge(http.MethodGet, "repos/kalypso/kalypso-control-plane/issues?type=issues", ""), &issues)
	if len(issues) == 0 {
		m.t.Fatal("no issues")
	}
	object := m.run("kubectl", "--context", m.lastCluster(), "get", "configmap", "mark", "-o", "jsonpath={.data.text}").stdout
	return file + " " + issues[0].Title + " " + object
}

func snapshots(t *testing.T, m *machine) {
	m.mark("first")
	m.settle()
	heads, pids := m.heads(), m.pids()
	out := m.run("snapshot", "save", "first")
	t.Logf("save: %.2f s: %s", out.took.Seconds(), strings.TrimSpace(out.stderr))
	if diff := cmp.Diff(pids, m.pids()); diff != "" {
		t.Errorf("processes have changed:\n%s", diff)
	}
	all := m.snapshots()
	if len(all) != 1 || all[0].Name != "first" || all[0].Bytes == 0 {
		t.Fatalf("%+v", all)
	}
	if all[0].Still <= 0 || all[0].Still > time.Second {
		t.Errorf("stood still for %s", all[0].Still)
	}
	m.mark("second")
	m.run("snapshot", "save", "second")
	if out, err := m.try("snapshot", "load", "first"); err == nil || out.code != 2 || !strings.Contains(out.stderr, "--yes") {
		t.Errorf("not asked: exit code %d, says %q", out.code, out.stderr)
	}
	for _, name := range []string{"second", "first"} {
		out = m.load(name)
		t.Logf("load: %.2f s", out.took.Seconds())
		if got, want := m.marks(), name+" "+name+" "+name; got != want {
			t.Errorf("marks %q, want %q", got, want)
		}
	}
	m.settle()
	if diff := cmp.Diff(heads, m.heads()); diff != "" {
		t.Errorf("commits have changed:\n%s", diff)
	}
	for _, args := range [][]string{{"save", "first"}, {"save", "No"}, {"load", "fist"}, {"delete", "none"}} {
		if out, err := m.try(append([]string{"snapshot"}, args...)...); err == nil || out.code != 2 {
			t.Errorf("%v: exit code %d, says %q", args, out.code, out.stderr)
		}
	}
	m.run("snapshot", "delete", "second")
	if all := m.snapshots(); len(all) != 1 {
		t.Errorf("%+v", all)
	}
}

func (m *machine) load(name string) output {
	m.t.Helper()
	out, err := m.tryFor(upLimit, "snapshot", "load", name, "--yes")
	if err != nil {
		m.t.Fatalf("%v\n%s", err, out.all())
	}
	return out
}

func (m *machine) snapshots() []snapshot.Snapshot {
	m.t.Helper()
	var all []snapshot.Snapshot
	m.decode(m.run("snapshot", "list", "-o", "json").stdout, &all)
	return all
}

// saveWhilePushing saves in the middle of pushes and writes to a cluster. What
// comes back is whole, and is of one moment.
func saveWhilePushing(t *testing.T, m *machine) {
	name := m.lastCluster()
	dir := filepath.Join(m.dir, "pushing")
	m.git(m.dir, "clone", "--quiet", m.credentials().OrgURL+"/kalypso-app-src", dir)
	var pushes atomic.Int64
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.WriteFile(filepath.Join(dir, "n.txt"), fmt.Appendf(nil, "%d\n", n), 0o600)
			for _, args := range [][]string{{"add", "."}, {"commit", "--quiet", "-m", "n"}, {"push", "--quiet", "origin", "HEAD:refs/heads/n"}} {
				if _, err := m.tryGit(dir, args...); err != nil {
					t.Error(err)
				}
			}
			if _, err := m.try("kubectl", "--context", name, "annotate", "--overwrite", "namespace", "default", fmt.Sprintf("n=%d", n)); err != nil {
				t.Error(err)
			}
			pushes.Add(1)
		}
	}()
	const saves = 2
	for i := range saves {
		before := pushes.Load()
		waitFor(t, "a push", commandLimit, func() error {
			if pushes.Load() == before {
				return fmt.Errorf("%d so far", before)
			}
			return nil
		})
		out := m.run("snapshot", "save", fmt.Sprintf("busy-%d", i))
		t.Log(strings.TrimSpace(out.stderr))
	}
	close(stop)
	<-ended
	for i := range saves {
		m.load(fmt.Sprintf("busy-%d", i))
		work := filepath.Join(m.dir, fmt.Sprintf("busy-%d", i))
		m.git(m.dir, "clone", "--quiet", "--branch", "n", m.credentials().OrgURL+"/kalypso-app-src", work)
		m.git(work, "fsck", "--full", "--strict")
		var pushed, written int
		b, err := os.ReadFile(filepath.Join(work, "n.txt"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Sscan(string(b), &pushed)
		fmt.Sscan(m.run("kubectl", "--context", name, "get", "namespace", "default", "-o", "jsonpath={.metadata.annotations.n}").stdout, &written)
		// one after the other was written
		if written != pushed && written != pushed-1 {
			t.Errorf("busy-%d: push %d and write %d are not of one moment", i, pushed, written)
		}
		m.run("snapshot", "delete", fmt.Sprintf("busy-%d", i))
	}
	m.load("first")
}

// cut kills the daemon some time after a command has begun, waits until all is
// gone, and brings the sandbox up again.
func (m *machine) cut(after time.Duration, args ...string) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), upLimit)
	defer cancel()
	daemon := m.status().PID
	cmd := m.command(ctx, args...)
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	time.Sleep(after)
	if err := syscall.Kill(daemon, syscall.SIGKILL); err != nil {
		m.t.Fatal(err)
	}
	_ = cmd.Wait() // it may have been faster
	waitFor(m.t, "end of the daemon's children", endLimit, m.noProcesses)
	m.up()
}

// moments are some times up to a last one, each in its own part.
func moments(n int, last time.Duration) []time.Duration {
	random := rand.New(rand.NewPCG(20250301, 8))
	var all []time.Duration
	for i := range n {
		part := last / time.Duration(n)
		all = append(all, time.Duration(i)*part+time.Duration(random.Int64N(int64(part))))
	}
	return all
}

func killedWhileSaving(t *testing.T, m *machine) {
	want := m.marks()
	for i, moment := range moments(3, 150*time.Millisecond) {
		name := fmt.Sprintf("cut-%d", i)
		m.cut(moment, "snapshot", "save", name)
		if got := m.marks(); got != want {
			t.Errorf("killed after %s: marks %q, want %q", moment, got, want)
		}
		listed := slices.ContainsFunc(m.snapshots(), func(s snapshot.Snapshot) bool { return s.Name == name })
		t.Logf("killed after %s: saved %v", moment, listed)
		if listed {
			m.load(name)
			if got := m.marks(); got != want {
				t.Errorf("of %s: marks %q, want %q", name, got, want)
			}
			m.run("snapshot", "delete", name)
		}
	}
	m.nothingAside()
}

// nothingAside waits until no data is left half moved.
func (m *machine) nothingAside() {
	m.t.Helper()
	waitFor(m.t, "removal of old data", 20*time.Second, func() error {
		left, err := os.ReadDir(filepath.Join(m.home, "aside"))
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("left: %v", left)
		}
		return err
	})
}

func killedWhileLoading(t *testing.T, m *machine) {
	for i, moment := range moments(3, 3*time.Second) {
		later := fmt.Sprintf("load-%d", i)
		m.mark(later)
		m.cut(moment, "snapshot", "load", "first", "--yes")
		got := m.marks()
		t.Logf("killed after %s: %s", moment, got)
		if got != "first first first" && got != later+" "+later+" "+later {
			t.Errorf("killed after %s: marks %q", moment, got)
		}
	}
	m.nothingAside()
}

func resetAll(t *testing.T, m *machine) {
	before, uid := m.credentials(), m.namespaceUID(m.lastCluster())
	out, err := m.tryFor(upLimit, "reset", "--yes")
	if err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	t.Logf("reset: %.2f s", out.took.Seconds())
	m.beginning(uid)
	after := m.credentials()
	if before.URL != after.URL || before.User != after.User || before.Password != after.Password {
		t.Errorf("%s became %s, or the user or password has changed", before.URL, after.URL)
	}
	if all := m.snapshots(); len(all) != 1 {
		t.Errorf("snapshots: %+v", all)
	}
	m.nothingAside()
}

// beginning looks for what a reset leaves. uid is of the cluster before.
func (m *machine) beginning(uid string) {
	m.t.Helper()
	m.known = nil // the forge's tokens are new
	m.settle()
	m.checkFixtures()
	name := m.lastCluster()
	if m.namespaceUID(name) == uid {
		m.t.Errorf("the cluster %s is the old one", name)
	}
	if out, err := m.try("kubectl", "--context", name, "get", "configmap", "mark"); err == nil {
		m.t.Errorf("an old object is there: %s", out.stdout)
	}
}

func killedWhileResetting(t *testing.T, m *machine) {
	for i, moment := range moments(3, 4*time.Second) {
		later := fmt.Sprintf("reset-%d", i)
		uid := m.namespaceUID(m.lastCluster())
		m.mark(later)
		m.cut(moment, "reset", "--yes")
		m.known = nil
		isOld := m.namespaceUID(m.lastCluster()) == uid
		t.Logf("killed after %s: old %v", moment, isOld)
		if !isOld {
			m.beginning(uid)
		} else if got := m.marks(); got != later+" "+later+" "+later {
			t.Errorf("killed after %s: marks %q", moment, got)
		}
	}
	m.nothingAside()
}

func stoppedWhileDown(t *testing.T, m *machine) {
	name := m.lastCluster()
	m.mark("down")
	m.run("down")
	out := m.run("snapshot", "save", "down")
	t.Logf("save of a sandbox that is down: %.2f s", out.took.Seconds())
	m.run("stop", name)
	m.up()
	m.allAre(name, supervisor.Stopped)
	m.run("down")
	m.run("start", name)
	out = m.run("snapshot", "load", "first", "--yes")
	t.Logf("load into a sandbox that is down: %.2f s", out.took.Seconds())
	m.run("snapshot", "load", "down", "--yes")
	m.up()
	if got := m.marks(); got != "down down down" {
		t.Errorf("marks %q", got)
	}
	uid := m.namespaceUID(name)
	m.run("down")
	out = m.run("reset", "--yes")
	t.Logf("reset of a sandbox that is down: %.2f s", out.took.Seconds())
	m.up()
	m.beginning(uid)

	// a snapshot outlives the data of its sandbox
	m.run("down", "--delete")
	m.known = nil
	m.up()
	m.load("down")
	if got := m.marks(); got != "down down down" {
		t.Errorf("after down --delete: marks %q", got)
	}
}
