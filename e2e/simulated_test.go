//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scenarios"
)

// nobody is a user that owns nothing on any machine.
const nobody = 65534

// simulatedTutorial runs the whole tutorial: what needs a real pod says that it
// was not checked, and all else passes.
func simulatedTutorial(t *testing.T, m *machine) {
	out, err := m.try("scenario", "run", "--all", "-o", "json")
	if err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	var results []scenarios.Result
	m.decode(out.stdout, &results)
	states := map[string]scenarios.State{}
	for _, r := range results {
		states[r.Name] = r.State
		for _, s := range r.Steps {
			if strings.HasPrefix(s.Title, "See the functional test on drone") && s.State != scenarios.Simulated {
				t.Errorf("%s: %q %s, where no pod runs", r.Name, s.Title, s.State)
			}
		}
	}
	want := map[string]scenarios.State{
		"onboard-app": scenarios.Passed, "schedule-dev": scenarios.Passed, "promote-to-stage": scenarios.Passed,
		"failed-promotion": scenarios.Passed, "deploy-app": scenarios.Simulated, "platform-config": scenarios.Simulated,
		"add-cluster-type": scenarios.Passed, "drift": scenarios.Passed,
	}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("scenarios (-want +got):\n%s", diff)
	}
}

// TestSimulatedNode brings the sandbox up without root. Pods only seem to run
// there, and an error says so.
func TestSimulatedNode(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else; the other tests are this one then")
	}
	m := newMachine(t)
	m.become(nobody)
	out := m.up()
	t.Logf("first up: %.2f s", out.took.Seconds())
	if out := m.run("doctor"); !strings.Contains(out.stdout, "simulated") {
		t.Errorf("doctor does not say what is lost without root:\n%s", out.stdout)
	}
	title := ""
	for _, c := range m.status().Components {
		if c.Name == "node-drone" {
			title = c.Title
		}
	}
	if !strings.Contains(title, "simulated node") {
		t.Errorf("status calls the node %q", title)
	}
	if out := m.run("kubectl", "--context", "drone", "get", "nodes", "-l", "kalypso.dev/simulated=true"); !strings.Contains(out.stdout, "simulated") {
		t.Errorf("the node is\n%s", out.stdout)
	}
	m.run("kubectl", "--context", "drone", "create", "deployment", "guest", "--image=example/guest:1", "--replicas=2")
	m.run("kubectl", "--context", "drone", "wait", "deployment/guest", "--for=condition=Available", "--timeout=30s")
	for _, args := range [][]string{
		{"logs", "deployment/guest"},
		{"exec", "deployment/guest", "--", "true"},
		{"port-forward", "deployment/guest", ":80"},
	} {
		out, err := m.try(append([]string{"kubectl", "--context", "drone"}, args...)...)
		if err == nil || !strings.Contains(out.all(), "simulated: pods do not really run") {
			t.Errorf("%v: %v: %s", args, err, out.all())
		}
	}
	simulatedTutorial(t, m)
	m.run("down", "--delete")
	if err := m.noProcesses(); err != nil {
		t.Error(err)
	}
}
