//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/sandbox"
)

// provided is a way to get clusters, as a test sees it.
type provided struct {
	name     string
	clusters []string
	// outside lists what there is of the clusters outside the sandbox's folder
	// that must be gone when the sandbox is; nil for nothing.
	outside func() []string
}

// TestEmbeddedProvider holds the default to what every provider promises.
func TestEmbeddedProvider(t *testing.T) {
	m := newMachine(t)
	m.tutorial = "basic-inference"
	m.upFlags = []string{"--provider", sandbox.ProviderEmbedded}
	m.up()
	keepsPromises(t, m, provided{name: sandbox.ProviderEmbedded, clusters: []string{"arc-cluster"}})
}

// keepsPromises is what all providers have in common: a sandbox that is up does
// not lose anything whatever happens to the parts, and leaves nothing when it
// goes.
func keepsPromises(t *testing.T, m *machine, p provided) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, *machine, provided)
	}{
		{"Up", isUp},
		{"StopAndStart", stopsAndStarts},
		{"KilledDaemon", survivesTheDaemon},
		{"DownAndUp", survivesDown},
		{"Logs", collectsLogs},
		{"Delete", leavesNothing},
	} {
		if !t.Run(part.name, func(t *testing.T) {
			m.t = t
			part.run(t, m, p)
		}) {
			break // what comes after would only fail for the same reason
		}
		m.t = t
	}
}

func isUp(t *testing.T, m *machine, p provided) {
	if s := m.status(); !s.Ready || s.Provider != p.name || !cmp.Equal(s.Clusters, p.clusters) {
		t.Errorf("status %+v", s)
	}
	for _, name := range p.clusters {
		if nodes := m.run("kubectl", "--context", name, "get", "nodes", "-o", "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}").stdout; nodes != "True" {
			t.Errorf("%s: nodes ready: %q", name, nodes)
		}
	}
	if out := m.up(); !strings.Contains(out.stderr, "nothing changed") {
		t.Errorf("up on a sandbox that is up says %q", out.stderr)
	}
	other := sandbox.ProviderKind
	if p.name == other {
		other = sandbox.ProviderEmbedded
	}
	if out, err := m.try("up", "--provider", other); err == nil || out.code != 2 || !strings.Contains(out.stderr, "holds "+p.name+" clusters") {
		t.Errorf("another provider: exit code %d, says %q", out.code, out.stderr)
	}
}

// uids distinguish one cluster from the next of the same name.
func (m *machine) uids(p provided) map[string]string {
	all := map[string]string{}
	for _, name := range p.clusters {
		all[name] = m.namespaceUID(name)
	}
	return all
}

func stopsAndStarts(t *testing.T, m *machine, p provided) {
	before, name := m.uids(p), p.clusters[0]
	m.run("stop", name)
	if out, err := m.try("kubectl", "--context", name, "get", "ns", "--request-timeout=5s"); err == nil {
		t.Errorf("a stopped cluster answers %q", out.stdout)
	}
	out, err := m.tryFor(upLimit, "start", name)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	t.Logf("start: %.2f s", out.took.Seconds())
	if diff := cmp.Diff(before, m.uids(p)); diff != "" {
		t.Errorf("not the same clusters:\n%s", diff)
	}
}

func survivesTheDaemon(t *testing.T, m *machine, p provided) {
	before := m.uids(p)
	pid := m.pids()["daemon"]
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "end of the daemon's children", endLimit, m.noProcesses)
	out := m.up()
	t.Logf("up after a kill: %.2f s", out.took.Seconds())
	if diff := cmp.Diff(before, m.uids(p)); diff != "" {
		t.Errorf("not the same clusters:\n%s", diff)
	}
}

func survivesDown(t *testing.T, m *machine, p provided) {
	before := m.uids(p)
	m.mark("provided")
	out := m.run("down")
	t.Logf("down: %.2f s", out.took.Seconds())
	if err := m.noProcesses(); err != nil {
		t.Error(err)
	}
	out = m.up()
	t.Logf("up after down: %.2f s", out.took.Seconds())
	if diff := cmp.Diff(before, m.uids(p)); diff != "" {
		t.Errorf("not the same clusters:\n%s", diff)
	}
	if marks := m.marks(); marks != "provided provided provided" {
		t.Errorf("marks %q", marks)
	}
}

func collectsLogs(t *testing.T, m *machine, p provided) {
	dir := filepath.Join(m.dir, "logs")
	m.run("logs", "--collect", dir)
	for _, name := range p.clusters {
		found := 0
		err := filepath.WalkDir(filepath.Join(dir, name), func(_ string, d os.DirEntry, err error) error {
			if err == nil && strings.Contains(d.Name(), "kubelet") {
				found++
			}
			return err
		})
		if err != nil || found == 0 {
			t.Errorf("%s: %d logs of the kubelet, %v", name, found, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "gitea.log")); err != nil {
		t.Error(err)
	}
}

func leavesNothing(t *testing.T, m *machine, p provided) {
	if p.outside != nil && len(p.outside()) == 0 {
		t.Error("nothing was there, so nothing is proved")
	}
	deleteAll(t, m)
	if p.outside != nil {
		if left := p.outside(); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}
