//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	controlPlane = "kalypso-control-plane"
	source       = "kalypso-app-src"
	manifests    = "kalypso-app-gitops"
	// chainLimit is for a few workflows, one after the other.
	chainLimit = 90 * time.Second
	appName    = "hello-world-app"
	workspace  = "kaizen-app-team"
)

// changeOfThePage: a push to the application's repository changes what its
// pods serve.
func changeOfThePage(t *testing.T, m *machine) {
	page := m.file(source, "main", "page.html")
	pushed := time.Now()
	commit := m.push(source, "main", map[string]string{"page.html": strings.Replace(page, "</body>", "<p>Changed by a push</p></body>", 1)})
	run := m.waitForRun(source, "cicd.yaml", func(r workflowRun) error {
		if r.HeadSHA != commit {
			return errors.New("it is of another commit")
		}
		return nil
	})
	t.Logf("push -> run: %.2f s", time.Since(pushed).Seconds())
	m.waitForSuccess(source, run.ID)
	m.waitForPage("drone", "dev", "functional-test", "9090", "0.0.1-"+fmt.Sprint(run.Number), "Changed by a push")
	t.Logf("push -> page: %.2f s", time.Since(pushed).Seconds())
}

// killedGate: a gate whose runner has died is shown as failed, and so is what it
// was to decide on.
func killedGate(t *testing.T, m *machine) {
	m.run("az", "k8s-configuration", "flux", "create", "--name", "late", "--cluster-name", "drone", "--namespace", "flux-system",
		"--resource-group", "kalypso-rg", "--url", m.credentials().OrgURL+"/"+m.platform(), "--scope", "cluster",
		"--cluster-type", "connectedClusters", "--branch", "dev", "--suspend", "--kustomization", "name=late", "path=small", "prune=true")
	check := m.file(controlPlane, "main", ".github/workflows/check-promote.yaml")
	const waits = "kalypso ci wait-for-deployment "
	commit, run := m.waitingGate(map[string]string{
		".github/workflows/check-promote.yaml": strings.Replace(check, waits, waits+"--timeout 10s ", 1),
		"templates/namespace.yaml":             m.file(controlPlane, "main", "templates/namespace.yaml") + "# once more\n",
	})
	m.kill("runner")
	m.waitForConclusion(run, "failure")
	m.waitForStatus(commit, "dev environment", "failure", "Failed to deploy")
}

// cancelledGate: somebody cancels a gate in the browser. That is no success
// either.
func cancelledGate(t *testing.T, m *machine) {
	user := m.browse()
	commit, run := m.waitingGate(map[string]string{
		"templates/namespace.yaml": m.file(controlPlane, "main", "templates/namespace.yaml") + "# not this\n",
	})
	user.post(run.URL+"/cancel", nil)
	m.waitForConclusion(run, "cancelled")
	m.waitForStatus(commit, "dev environment", "failure", "Failed to deploy")
}

// waitingGate pushes a change, merges it on dev, and returns with the gate that
// waits for the clusters.
func (m *machine) waitingGate(change map[string]string) (commit string, run workflowRun) {
	m.t.Helper()
	commit = m.push(controlPlane, "main", change)
	m.merge(m.platform(), m.waitForPromotion("dev", commit).Number)
	m.waitForStatus(commit, "dev environment", "pending", "Deploying")
	return commit, m.waitForRun(controlPlane, "check-promote.yaml", func(r workflowRun) error {
		if r.Status != "in_progress" {
			return fmt.Errorf("it is %s %s", r.Status, r.Conclusion)
		}
		return nil
	})
}

// lateCluster: a configuration that never gets the commit stops the promotion
// when the time is over.
func lateCluster(t *testing.T, m *machine) {
	before := m.pinned("stage")
	commit := m.push(controlPlane, "main", map[string]string{
		"templates/namespace.yaml": m.file(controlPlane, "main", "templates/namespace.yaml") + "# and again\n",
	})
	m.merge(m.platform(), m.waitForPromotion("dev", commit).Number)
	m.waitForStatus(commit, "dev environment", "failure", "Failed to deploy")
	if now := m.pinned("stage"); now != before {
		t.Errorf("stage has gone on to %s", now)
	}
	runs := m.runs(controlPlane)
	i := slices.IndexFunc(runs, func(r workflowRun) bool { return strings.HasPrefix(r.Path, "check-promote.yaml") })
	if log := m.log(controlPlane, runs[i].ID); !strings.Contains(log, "not after 10") || !strings.Contains(log, "drone/late is Suspended") {
		t.Errorf("the log does not say what was waited for:\n%s", log)
	}
}
