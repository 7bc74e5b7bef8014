//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
)

// nobody is a user that owns nothing on any machine.
const nobody = 65534

// TestSimulatedNode brings the sandbox up without root. Pods only seem to run
// there, and whoever looks is told.
func TestSimulatedNode(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else; the other tests are this one then")
	}
	m := newMachine(t)
	m.tutorial = "basic-inference"
	m.become(nobody)
	out := m.up()
	t.Logf("first up: %.2f s", out.took.Seconds())
	if out := m.run("doctor"); !strings.Contains(out.stdout, "simulated") {
		t.Errorf("doctor does not say what is lost without root:\n%s", out.stdout)
	}
	title := ""
	for _, c := range m.status().Components {
		if c.Name == "node-arc-cluster" {
			title = c.Title
		}
	}
	if !strings.Contains(title, "simulated node") {
		t.Errorf("status calls the node %q", title)
	}
	if out := m.run("kubectl", "get", "nodes", "-l", "kalypso.dev/simulated=true"); !strings.Contains(out.stdout, "simulated") {
		t.Errorf("the node is\n%s", out.stdout)
	}
	m.run("kubectl", "create", "deployment", "guest", "--image=example/guest:1", "--replicas=2")
	m.run("kubectl", "wait", "deployment/guest", "--for=condition=Available", "--timeout=30s")
	for _, args := range [][]string{
		{"logs", "deployment/guest"},
		{"exec", "deployment/guest", "--", "true"},
		{"port-forward", "deployment/guest", ":80"},
	} {
		out, err := m.try(append([]string{"kubectl"}, args...)...)
		if err == nil || !strings.Contains(out.all(), "simulated: pods do not really run") {
			t.Errorf("%v: %v: %s", args, err, out.all())
		}
	}
	m.run("down", "--delete")
	if err := m.noProcesses(); err != nil {
		t.Error(err)
	}
}
