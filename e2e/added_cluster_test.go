//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	addLimit    = 2 * time.Minute
	appliedFile = "edge/added.yaml"
	appliedOne  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: added, namespace: default}\n"
)

// TestAddedCluster adds a cluster to a sandbox that runs, and removes it, with the
// daemon killed in between and on the way.
func TestAddedCluster(t *testing.T) {
	m := newMachine(t)
	m.tutorial = filepath.Join(m.dir, "kata")
	m.run("workshop", "new", m.tutorial)
	m.up()
	m.commitTo("gitops", "dev", appliedFile, appliedOne)
	before := m.contexts()

	if out, err := m.try("cluster", "add", "edge-2", "--type", "edgy", "-e", "dev"); out.code != 2 || !strings.Contains(out.stderr, "did you mean edge?") {
		t.Errorf("%v\n%s", err, out.all())
	}
	if out, err := m.tryFor(addLimit, "cluster", "add", "edge-2", "--type", "edge", "-e", "dev"); err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	uid := m.applied("edge-2")
	m.allAre("edge-2", supervisor.Ready)
	if s := m.status(); !s.Ready || !slices.Contains(s.Clusters, "edge-2") {
		t.Errorf("%v %v %v", s.Ready, s.Clusters, s.Problems)
	}
	if azure := m.run("az", "connectedk8s", "list", "--output", "json").stdout; !strings.Contains(azure, `"edge-2"`) {
		t.Errorf("Azure has only\n%s", azure)
	}
	m.run("logs", "edge-2")

	m.killDaemon()
	m.up()
	if got := m.applied("edge-2"); got != uid {
		t.Errorf("the object is another one: %s, %s", uid, got)
	}
	m.run("snapshot", "save", "two")

	m.removeCut("edge-2")
	m.up()
	m.nothingOf("edge-2", before)

	if out, err := m.tryFor(addLimit, "snapshot", "load", "two", "--yes"); err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	if got := m.applied("edge-2"); got != uid {
		t.Errorf("the object is another one: %s, %s", uid, got)
	}
	m.run("cluster", "remove", "edge-2", "--yes")
	m.nothingOf("edge-2", before)

	if out, err := m.tryFor(addLimit, "cluster", "add", "edge-3", "--type", "edge", "-e", "dev", "--node", "none"); err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	if out, err := m.tryFor(addLimit, "reset", "--yes"); err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	m.nothingOf("edge-3", before)
}

// applied waits for the object that all clusters of the type get, and returns its ID.
func (m *machine) applied(cluster string) (uid string) {
	m.t.Helper()
	waitFor(m.t, "what git has on "+cluster, time.Minute, func() error {
		out, err := m.try("kubectl", "--context", cluster, "get", "configmap", "added", "--namespace", "default", "--output", "jsonpath={.metadata.uid}")
		if uid = out.stdout; err != nil {
			return fmt.Errorf("%w: %s", err, out.stderr)
		}
		return nil
	})
	return uid
}

func (m *machine) killDaemon() {
	m.t.Helper()
	pid, err := m.daemon()
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	waitFor(m.t, "the daemon's end", endLimit, func() error { return gone(pid) })
}

// removeCut removes a cluster and kills the daemon as soon as that has begun.
func (m *machine) removeCut(cluster string) {
	m.t.Helper()
	cmd := m.command(m.t.Context(), "cluster", "remove", cluster, "--yes")
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	waitFor(m.t, "the beginning of the removal", endLimit, func() error {
		b, err := os.ReadFile(filepath.Join(m.home, "clusters", "changes.json"))
		if err == nil && strings.Contains(string(b), cluster) {
			err = errors.New("not noted")
		}
		return err
	})
	m.killDaemon()
	if cmd.Wait() == nil {
		m.t.Log("the removal was faster than the kill")
	}
}

// contexts are the kubeconfig, and the clusters of the status.
func (m *machine) contexts() string {
	m.t.Helper()
	b, err := os.ReadFile(filepath.Join(m.home, "kubeconfig"))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(b) + fmt.Sprint(m.status().Clusters)
}

// nothingOf holds that a cluster has left nothing.
func (m *machine) nothingOf(cluster, before string) {
	m.t.Helper()
	if now := m.contexts(); now != before {
		m.t.Errorf("was\n%s\nand is\n%s", before, now)
	}
	if states := m.group(cluster); len(states) > 0 {
		m.t.Errorf("%v", states)
	}
	waitFor(m.t, "the removal", endLimit, func() error { // a reset does it when etcd is up
		var left []string
		for _, pattern := range []string{"clusters/" + cluster, "flux/" + cluster, "arc/" + cluster + ".json", "runner/clusters/" + cluster + ".kubeconfig", "logs/*" + cluster + ".log*"} {
			found, err := filepath.Glob(filepath.Join(m.home, pattern))
			if err != nil {
				m.t.Fatal(err)
			}
			left = append(left, found...)
		}
		for _, p := range m.processes() {
			if strings.Contains(p.command, cluster) {
				left = append(left, p.command)
			}
		}
		if len(left) > 0 {
			return errors.New(strings.Join(left, ", "))
		}
		return nil
	})
	kube, err := filepath.Glob(filepath.Join(m.home, "components", "kube*", "kube"))
	if err != nil || len(kube) != 1 {
		m.t.Fatalf("%q, %v", kube, err)
	}
	out, err := exec.Command(kube[0], "etcd", "--socket="+filepath.Join(m.home, "etcd.sock"), "--delete-prefix=/"+cluster+"/").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "deleted 0 keys") {
		m.t.Errorf("%v: %s", err, out)
	}
	if azure := m.run("az", "connectedk8s", "list", "--output", "json").stdout; strings.Contains(azure, `"`+cluster+`"`) {
		m.t.Errorf("Azure still has it:\n%s", azure)
	}
}
