//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"net/http"
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

// TestDelivery is what workflows do in the hello-world workshop: they promote
// commits of the platform, and build, deploy and promote the application.
func TestDelivery(t *testing.T) {
	m := newMachine(t)
	m.up()
	m.settle()
	m.run("scenario", "run", "onboard-app", "schedule-dev")
	for _, part := range []struct {
		name string
		run  func(*testing.T, *machine)
	}{
		{"Promotion", promotion},
		{"Deployment", deployment},
		{"Change", changeOfThePage},
		{"FailedPromotion", failedPromotion},
		{"KilledGate", killedGate},
		{"LateCluster", lateCluster},
	} {
		ok := t.Run(part.name, func(t *testing.T) {
			m.t = t
			part.run(t, m)
		})
		m.t = t
		if !ok {
			t.Fatalf("the rest builds on %s", part.name)
		}
	}
}

// promotion: the registration that has been merged to dev reaches stage.
func promotion(t *testing.T, m *machine) {
	commit := m.head(controlPlane, "main")
	m.waitForStatus(commit, "stage environment", "pending", "Promoted")
	if got := m.history(commit, "dev environment"); !slices.Equal(got, []string{"pending Promoted", "pending Deploying", "pending Deployed"}) {
		t.Errorf("statuses of dev: %q", got)
	}
	if pinned := m.pinned("stage"); pinned != commit {
		t.Errorf("stage takes %s, want %s", pinned, commit)
	}
	m.push(controlPlane, "stage", map[string]string{"scheduling/kaizen/uat-test-policy.yaml": `apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata:
  name: uat-test-policy
spec:
  deploymentTargetSelector:
    workspace: kaizen-app-team
    labelSelector:
      matchLabels:
        purpose: uat-test
  clusterTypeSelector:
    labelSelector: {}
`})
	pr := m.waitForPull(m.platform(), "stage", func(p pull) error {
		files := m.changed(m.platform(), p.Number)
		if !slices.Contains(files, "large/hello-world-app-uat-test/reconciler.yaml") {
			return fmt.Errorf("it changes %v", files)
		}
		return nil
	})
	if labels := m.labels(m.platform(), pr.Number); !slices.Contains(labels, "promoted") {
		t.Errorf("labels of the pull request: %v", labels)
	}
	merged := time.Now()
	m.merge(m.platform(), pr.Number)
	m.waitForStatus(commit, "stage environment", "success", "Deployed")
	t.Logf("merge -> deployed on stage: %.2f s", time.Since(merged).Seconds())
}

// deployment: a run of the workflow that a person starts.
func deployment(t *testing.T, m *machine) {
	began := time.Now()
	m.forge(http.MethodPost, "repos/kalypso/"+source+"/actions/workflows/cicd.yaml/dispatches", `{"ref": "main"}`)
	run := m.waitForRun(source, "cicd.yaml", func(r workflowRun) error {
		if r.Status == "queued" || r.Status == "waiting" {
			return fmt.Errorf("it is %s", r.Status)
		}
		return nil
	})
	t.Logf("run started after %.2f s", time.Since(began).Seconds())
	m.waitForSuccess(source, run.ID)
	t.Logf("run done after %.2f s", time.Since(began).Seconds())
	all := m.pulls(manifests)
	if len(all) != 2 || all[1].Base.Ref != "dev" || !all[1].Merged || all[0].Base.Ref != "stage" || all[0].State != "open" {
		t.Fatalf("pull requests: %+v", all)
	}
	version := "0.0.1-" + fmt.Sprint(run.Number)
	m.waitForPage("drone", "dev", "functional-test", "9090", version, "Drone", "East US", "Dev", "mysql://restricted-host:3306/mysqlrty123")
	t.Logf("served on drone after %.2f s", time.Since(began).Seconds())
	m.waitForPage("large", "dev", "performance-test", "8080", version, "Large", "West US", "Dev", "mysql://west:8806/mysql2")
	m.merge(manifests, all[0].Number)
	m.waitForPage("drone", "stage", "uat-test", "8000", version, "Drone", "East US", "Stage", "mysql://restricted-host:3306/mysqlrty123")
	m.waitForPage("large", "stage", "uat-test", "8000", version, "Large", "West US", "Stage", "mysql://west:8806/mysql2")
}

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

// failedPromotion: what dev cannot reconcile does not reach stage, and what
// mends it does.
func failedPromotion(t *testing.T, m *machine) {
	before := m.pinned("stage")
	template := m.file(controlPlane, "main", "templates/namespace.yaml")
	broken := strings.Replace(template, "some-value", "not a value of a label!", 1)
	if broken == template {
		t.Fatalf("the template has changed:\n%s", template)
	}
	bad := m.push(controlPlane, "main", map[string]string{"templates/namespace.yaml": broken})
	m.merge(m.platform(), m.waitForPromotion("dev", bad).Number)
	m.waitForStatus(bad, "dev environment", "failure", "Failed to deploy")
	if now := m.pinned("stage"); now != before {
		t.Errorf("stage has gone on to %s", now)
	}
	if got := m.history(bad, "stage environment"); len(got) > 0 {
		t.Errorf("statuses about stage: %q", got)
	}
	run := m.waitForRun(controlPlane, "check-promote.yaml", func(r workflowRun) error {
		if r.Conclusion != "failure" {
			return fmt.Errorf("it is %s %s", r.Status, r.Conclusion)
		}
		return nil
	})
	if log := m.log(controlPlane, run.ID); !strings.Contains(log, "drone/dev is Non-Compliant and has the commit") {
		t.Errorf("the log does not say why:\n%s", log)
	}

	good := m.push(controlPlane, "main", map[string]string{"templates/namespace.yaml": template})
	m.merge(m.platform(), m.waitForPromotion("dev", good).Number)
	merged := time.Now()
	m.waitForStatus(good, "stage environment", "pending", "Promoted")
	t.Logf("merge on dev -> promoted to stage: %.2f s", time.Since(merged).Seconds())
	if now := m.pinned("stage"); now != good {
		t.Errorf("stage takes %s, want %s", now, good)
	}
}

// killedGate: a job whose runner has died is shown as failed.
func killedGate(t *testing.T, m *machine) {
	m.run("az", "k8s-configuration", "flux", "create", "--name", "late", "--cluster-name", "drone", "--namespace", "flux-system",
		"--resource-group", "kalypso-rg", "--url", m.credentials().OrgURL+"/"+m.platform(), "--scope", "cluster",
		"--cluster-type", "connectedClusters", "--branch", "dev", "--suspend", "--kustomization", "name=late", "path=small", "prune=true")
	check := m.file(controlPlane, "main", ".github/workflows/check-promote.yaml")
	const waits = "kalypso ci wait-for-deployment "
	commit := m.push(controlPlane, "main", map[string]string{
		".github/workflows/check-promote.yaml": strings.Replace(check, waits, waits+"--timeout 10s ", 1),
		"templates/namespace.yaml":             m.file(controlPlane, "main", "templates/namespace.yaml") + "# once more\n",
	})
	m.merge(m.platform(), m.waitForPromotion("dev", commit).Number)
	m.waitForStatus(commit, "dev environment", "pending", "Deploying")
	run := m.waitForRun(controlPlane, "check-promote.yaml", func(r workflowRun) error {
		if r.Status != "in_progress" {
			return fmt.Errorf("it is %s %s", r.Status, r.Conclusion)
		}
		return nil
	})
	m.kill("runner")
	waitFor(t, "the killed run's end", chainLimit, func() error {
		r := m.workflowRun(controlPlane, run.ID)
		if r.Conclusion != "failure" {
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
