//go:build e2e

package e2e

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scenarios"
)

// TestSandbox is one sandbox's life. Each part goes on from the one before.
func TestSandbox(t *testing.T) {
	m := newMachine(t)
	m.tutorial = "basic-inference"
	for _, part := range []struct {
		name string
		run  func(*testing.T, *machine)
	}{
		{"NothingYet", nothingYet},
		{"Up", firstUp},
		{"UpAgain", upAgain},
		{"Fixtures", func(_ *testing.T, m *machine) { m.checkFixtures() }},
		{"Scenario", runScenario},
		{"ScenarioAgain", runScenarioAgain},
		{"Commands", lookAround},
		{"Browser", browse},
		{"Tutorial", tutorial},
		{"BadInput", badInput},
		{"SchedulerOnGitea", schedulerOnGitea},
		{"KilledDaemon", killedDaemon},
		{"DownAndUp", downAndUp},
		{"CleanUp", cleanUp},
		{"Delete", deleteAll},
	} {
		ok := t.Run(part.name, func(t *testing.T) {
			m.t = t
			part.run(t, m)
		})
		m.t = t
		if !ok && slices.Contains([]string{"Up", "KilledDaemon", "DownAndUp"}, part.name) {
			t.Fatalf("no sandbox to go on with after %s", part.name)
		}
	}
}

// Without a sandbox every command says what to do, and makes nothing.
func nothingYet(t *testing.T, m *machine) {
	for _, args := range [][]string{{"status"}, {"scenario", "run", "onboard-app"}} {
		out, err := m.try(args...)
		if err == nil || out.code != 1 || !strings.Contains(out.stderr, "run `kalypso up`") {
			t.Errorf("kalypso %v: exit code %d, says %q", args, out.code, out.all())
		}
	}
	if _, err := os.Stat(m.home); err == nil {
		t.Error("a folder has been made")
	}
}

func firstUp(t *testing.T, m *machine) {
	out := m.up()
	t.Logf("first up: %.2f s", out.took.Seconds())
	if out.stdout != "" {
		t.Errorf("talk on stdout: %q", out.stdout)
	}
	s := m.status()
	if !s.Running || !s.Ready {
		t.Errorf("running %v, ready %v", s.Running, s.Ready)
	}
	for _, c := range s.Components {
		if c.State != supervisor.Ready {
			t.Errorf("%s is %s: %s", c.Name, c.State, c.Reason)
		}
		if c.Restarts > 0 {
			t.Logf("%s has been started %d times", c.Name, 1+c.Restarts)
		}
	}
}

func upAgain(t *testing.T, m *machine) {
	m.settle()
	if pulls := m.pulls(m.platform()); len(pulls) > 0 {
		t.Errorf("pull requests before anybody has done anything: %+v", pulls)
	}
	before, heads := m.pids(), m.heads()
	out := m.up()
	t.Logf("second up: %.2f s", out.took.Seconds())
	if !strings.Contains(out.stderr, "nothing changed") {
		t.Errorf("says %q", out.stderr)
	}
	if diff := cmp.Diff(before, m.pids()); diff != "" {
		t.Errorf("processes have changed:\n%s", diff)
	}
	if diff := cmp.Diff(heads, m.heads()); diff != "" {
		t.Errorf("commits have changed:\n%s", diff)
	}
}

func runScenario(t *testing.T, m *machine) {
	report := filepath.Join(m.dir, "junit.xml")
	out, err := m.try("scenario", "run", "onboard-app", "--verify-checks", "--junit", report)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	t.Logf("\n%s", out.stdout)
	// what it has merged goes on by itself
	m.waitForPromotion("qa", m.head(controlPlane, "main"))
	m.settle()
	b, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	if err := xml.Unmarshal(b, &suites); err != nil {
		t.Fatal(err)
	}
	if suites.Tests == 0 || suites.Failures+suites.Skipped > 0 {
		t.Errorf("JUnit: %+v", suites)
	}
}

func runScenarioAgain(t *testing.T, m *machine) {
	heads := m.heads()
	out, err := m.try("scenario", "run", "onboard-app", "-o", "json")
	if err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	var results []scenarios.Result
	if err := json.Unmarshal([]byte(out.stdout), &results); err != nil {
		t.Fatalf("%v\n%s", err, out.stdout)
	}
	for _, r := range results {
		if r.State != scenarios.Passed {
			t.Errorf("%s %s", r.Name, r.State)
		}
	}
	if len(results) == 0 || results[0].Steps[1].Note == "" {
		t.Error("no step says that it was done already")
	}
	if diff := cmp.Diff(heads, m.heads()); diff != "" {
		t.Errorf("commits have changed:\n%s", diff)
	}
}

// tutorial goes on to the tutorial's end.
func tutorial(t *testing.T, m *machine) {
	var all []scenarios.Info
	m.decode(m.run("scenario", "list", "-o", "json").stdout, &all)
	args := []string{"scenario", "run", "--verify-checks"}
	for _, s := range all {
		if s.Name != "onboard-app" && !s.Apart {
			args = append(args, s.Name)
		}
	}
	out, err := m.try(args...)
	if err != nil || len(args) < 9 {
		t.Fatalf("%v: %v\n%s", args, err, out.all())
	}
	t.Logf("\n%s", out.stdout)
}

// badInput pushes mistakes. Each is named with its file and line, and nothing
// else stops.
func badInput(t *testing.T, m *machine) {
	org := m.credentials().OrgURL
	commit := m.push("kalypso-control-plane", "main", map[string]string{
		"workloads/missing.yaml": `apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata:
  name: missing
spec:
  workload:
    repo: ` + org + `/no-such-repository
    branch: main
    path: ./workload
  workspace: edge-ai
`,
		"workloads/broken.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: [\n",
	})
	run := m.waitForRun("kalypso-control-plane", "ci.yaml", func(r workflowRun) error {
		if r.HeadSHA != commit || r.Conclusion != "failure" {
			return fmt.Errorf("the last one is of %.7s, %s %s", r.HeadSHA, r.Status, r.Conclusion)
		}
		return nil
	})
	if log := m.log("kalypso-control-plane", run.ID); !regexp.MustCompile(`workloads/broken\.yaml:\d+`).MatchString(log) {
		t.Errorf("the check does not name the mistake:\n%s", log)
	}
	// somebody promotes it all the same
	m.forge(http.MethodPost, "repos/kalypso/kalypso-control-plane/actions/workflows/cd.yaml/dispatches",
		fmt.Sprintf(`{"ref": "main", "inputs": {"environment": "dev", "promoted_commit_id": %q}}`, commit))
	m.push("kalypso-control-plane", "dev", map[string]string{
		"cluster-types/odd.yaml": `apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata:
  name: odd
spec:
  reconciler: no-such-template
  namespaceService: default
`,
		"configs/more.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: more
  labels:
    platform-config: "true"
data:
  MORE: "1"
`,
	})
	mistakes := []*regexp.Regexp{
		regexp.MustCompile(`workloads/missing\.yaml:\d+.*no-such-repository`),
		regexp.MustCompile(`workloads/broken\.yaml:\d+`),
		regexp.MustCompile(`cluster-types/odd\.yaml:\d+.*no-such-template`),
	}
	var said string
	waitFor(t, "mistakes in the status", 20*time.Second, func() error {
		said = m.run("status").stdout
		return saysAll(said, mistakes)
	})
	log := m.run("logs", "scheduler").stdout
	if err := saysAll(log, mistakes); err != nil {
		t.Errorf("the scheduler's log: %v", err)
	}
	waitFor(t, "the good change in a pull request", 20*time.Second, func() error {
		for _, e := range m.scheduler().Environments {
			if e.Name != "dev" {
				continue
			}
			if e.PullRequest == nil || e.PullRequest.State != "open" {
				return fmt.Errorf("environment dev, %s, has no open one: %s", e.State, e.Error)
			}
			if e.Targets == 0 || e.Assignments == 0 {
				return fmt.Errorf("%d targets, %d assignments", e.Targets, e.Assignments)
			}
			if !strings.Contains(m.git(m.dir, "ls-remote", org+"/kalypso-platform-gitops", "refs/heads/kalypso/dev"), "kalypso/dev") {
				return fmt.Errorf("no branch")
			}
			return nil
		}
		return fmt.Errorf("no environment dev")
	})
	dir := filepath.Join(m.dir, "gitops")
	m.git(m.dir, "clone", "--quiet", "--branch", "kalypso/dev", org+"/kalypso-platform-gitops", dir)
	config, err := os.ReadFile(filepath.Join(dir, "dev", "basic-inference-dev", "platform-config.yaml"))
	if err != nil || !strings.Contains(string(config), "MORE") {
		t.Errorf("the pull request lacks the good change: %v\n%s", err, config)
	}
	if !m.status().Ready {
		t.Error("something is not ready")
	}

	// What is wrong with a registration's repository is no reason to keep from
	// the environments what else is pushed to main.
	commit = m.push("kalypso-control-plane", "main", map[string]string{"workloads/broken.yaml": ""})
	m.waitForPinned("dev", commit)
	if err := saysAll(m.run("status").stdout, mistakes[:1]); err != nil {
		t.Errorf("of what is still wrong: %v", err)
	}
	commit = m.push("kalypso-control-plane", "main", map[string]string{"workloads/missing.yaml": ""})
	m.waitForPinned("dev", commit)
	m.push("kalypso-control-plane", "dev", map[string]string{"cluster-types/odd.yaml": ""})
	waitFor(t, "end of the mistakes", 20*time.Second, func() error {
		said := m.run("status").stdout
		for _, r := range mistakes {
			if r.MatchString(said) {
				return fmt.Errorf("there is still one like %s:\n%s", r, said)
			}
		}
		return nil
	})
}

func saysAll(text string, all []*regexp.Regexp) error {
	for _, r := range all {
		if !r.MatchString(text) {
			return fmt.Errorf("nothing like %s in:\n%s", r, text)
		}
	}
	return nil
}

// killedDaemon ends the daemon without notice: its children end too, and the
// next up brings back the same commits, pull requests and objects.
func killedDaemon(t *testing.T, m *machine) {
	before := m.memory()
	pids := m.pids()
	if err := syscall.Kill(pids["daemon"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	waitFor(t, "end of the daemon", endLimit, func() error { return gone(pids["daemon"]) })
	waitFor(t, "end of the daemon's children", endLimit, m.noProcesses)
	t.Logf("all children gone %.2f s after the daemon", time.Since(began).Seconds())
	out := m.up()
	t.Logf("up after a kill: %.2f s", out.took.Seconds())
	if diff := cmp.Diff(before, m.memory()); diff != "" {
		t.Errorf("not the same sandbox:\n%s", diff)
	}

	// nor does it matter that the dead daemon has not let go of everything yet
	if err := syscall.Kill(m.pids()["daemon"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	out = m.up()
	t.Logf("up at once after a kill: %.2f s", out.took.Seconds())
	if diff := cmp.Diff(before, m.memory()); diff != "" {
		t.Errorf("not the same sandbox:\n%s", diff)
	}
}

// downAndUp stops the sandbox properly.
func downAndUp(t *testing.T, m *machine) {
	before := m.memory()
	out := m.run("down")
	t.Logf("down: %.2f s", out.took.Seconds())
	if err := m.noProcesses(); err != nil {
		t.Error(err)
	}
	if s := m.status(); s.Running {
		t.Error("still running")
	}
	if out, err := m.try("scenario", "run", "onboard-app"); err == nil || !strings.Contains(out.stderr, "run `kalypso up`") {
		t.Errorf("a scenario on a sandbox that is down: exit code %d, says %q", out.code, out.all())
	}
	out = m.up()
	t.Logf("up after down: %.2f s", out.took.Seconds())
	if diff := cmp.Diff(before, m.memory()); diff != "" {
		t.Errorf("not the same sandbox:\n%s", diff)
	}
}

// memory is what must outlive the processes.
func (m *machine) memory() map[string]string {
	m.t.Helper()
	m.settle()
	all := m.heads()
	for _, p := range m.pulls("kalypso-platform-gitops") {
		all[fmt.Sprintf("pull request %d", p.Number)] = fmt.Sprintf("%s, merged %v, %s", p.State, p.Merged, p.Title)
	}
	maps.Copy(all, m.objects("arc-cluster"))
	return all
}

// objects are what the first scenario brings to the cluster, with their IDs.
func (m *machine) objects(context string) map[string]string {
	m.t.Helper()
	var list struct {
		Items []struct {
			Kind     string
			Metadata struct{ Name, Namespace, UID string }
		}
	}
	m.decode(m.run("kubectl", "--context", context, "get", "--all-namespaces", "-o", "json",
		"namespaces,configmaps,gitrepositories,kustomizations").stdout, &list)
	all := map[string]string{}
	for _, o := range list.Items {
		all[o.Kind+" "+o.Metadata.Namespace+"/"+o.Metadata.Name] = o.Metadata.UID
	}
	for _, want := range []string{"Namespace /basic-inference-dev", "ConfigMap basic-inference-dev/platform-config"} {
		if all[want] == "" {
			m.t.Errorf("the cluster has no %s, only %s", want, slices.Sorted(maps.Keys(all)))
		}
	}
	return all
}

// cleanUp ends what the other scenarios build on.
func cleanUp(t *testing.T, m *machine) {
	for _, environment := range []string{"dev", "qa"} { // the pods begin anew with the sandbox
		m.run("kubectl", "--context", "arc-cluster", "--namespace", "basic-inference-"+environment,
			"wait", "deployment/basic-inference", "--for=condition=Available", "--timeout=60s")
	}
	out, err := m.try("scenario", "run", "cleanup", "--verify-checks")
	if err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	t.Logf("\n%s", out.stdout)
}

// deleteAll removes the sandbox, and leaves nothing.
func deleteAll(t *testing.T, m *machine) {
	out := m.run("down", "--delete")
	t.Logf("down --delete: %.2f s", out.took.Seconds())
	if err := m.noProcesses(); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{"user", "tmp"} {
		left, err := os.ReadDir(filepath.Join(m.dir, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range left {
			t.Errorf("left behind: %s", filepath.Join(dir, e.Name()))
		}
	}
	if out, err := m.try("down", "--delete"); err != nil || !strings.Contains(out.stderr, "Nothing to do") {
		t.Errorf("once more: %v, says %q", err, out.all())
	}
}
