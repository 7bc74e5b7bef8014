//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKilledWhileComingUp kills the daemon at some moments of its first start.
// Whatever it was doing, the next up makes the whole sandbox. KALYPSO_KILLS is
// the number of moments, for a long search.
func TestKilledWhileComingUp(t *testing.T) {
	const first, last = 100 * time.Millisecond, 14 * time.Second
	moments := 4
	if kills := os.Getenv("KALYPSO_KILLS"); kills != "" {
		var err error
		if moments, err = strconv.Atoi(kills); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(20250301, 7))
	var all []time.Duration
	for i := range moments {
		// one in each part of the time, so that none stays without
		part := (last - first) / time.Duration(moments)
		all = append(all, first+time.Duration(i)*part+time.Duration(random.Int64N(int64(part))))
	}
	for _, moment := range all {
		t.Run(moment.Round(time.Millisecond).String(), func(t *testing.T) { killedAt(t, moment) })
	}
}

// TestCutOff makes by hand what a kill leaves behind only when it hits the
// right millisecond.
func TestCutOff(t *testing.T) {
	m := newMachine(t)
	m.up()
	repositories := m.repositories()
	rowOnly, folderOnly := repositories[0].Name, repositories[1].Name
	for _, name := range []string{rowOnly, folderOnly} {
		m.forge(http.MethodDelete, "repos/kalypso/"+name, "")
	}
	m.forge(http.MethodPost, "orgs/kalypso/repos", fmt.Sprintf(`{"name": %q}`, rowOnly))
	m.run("down")

	folders := filepath.Join(m.home, "gitea", "data", "gitea-repositories", "kalypso")
	heads := filepath.Join(folders, folderOnly+".git", "refs", "heads")
	etcd := filepath.Join(m.home, "clusters", "etcd")
	logs, err := filepath.Glob(filepath.Join(etcd, "member", "wal", "*.wal"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no log of etcd: %v", err)
	}
	for _, err := range []error{
		// a repository that the forge knows and git does not, and the reverse
		os.Remove(filepath.Join(folders, rowOnly+".git", "HEAD")),
		os.MkdirAll(heads, 0o700),
		os.Remove(filepath.Join(m.home, "gitea", "filled", rowOnly)),
		os.Remove(filepath.Join(m.home, "gitea", "filled", folderOnly)),
		// an etcd that has never come so far as to answer
		os.Remove(etcd + ".answered"),
		os.Truncate(logs[0], 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	m.up()
	if s := m.status(); !s.Ready {
		t.Errorf("not ready: %+v", s.Components)
	}
	m.checkFixtures()
}

func killedAt(t *testing.T, moment time.Duration) {
	m := newMachine(t)
	ctx, cancel := context.WithTimeout(t.Context(), upLimit)
	defer cancel()
	cmd := m.command(ctx, "up")
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	time.Sleep(moment)
	var pid int
	waitFor(t, "the daemon", 10*time.Second, func() (err error) {
		pid, err = m.daemon()
		return err
	})
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "end of the daemon", endLimit, func() error { return gone(pid) })
	t.Logf("killed after %.2f s", time.Since(began).Seconds())
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("up does not notice that the daemon is gone")
	}
	waitFor(t, "end of the daemon's children", endLimit, m.noProcesses)
	out := m.up()
	t.Logf("up: %.2f s", out.took.Seconds())
	if s := m.status(); !s.Ready {
		t.Errorf("not ready: %+v", s.Components)
	}
	m.checkFixtures()
}

// daemon finds the daemon, which notes its ID as soon as it runs.
func (m *machine) daemon() (int, error) {
	b, err := os.ReadFile(filepath.Join(m.home, "daemon.pid"))
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, err
	}
	for _, p := range m.processes() {
		if p.pid == pid && strings.Contains(p.command, "daemon") {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("no process %d", pid)
}
