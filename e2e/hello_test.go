//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tutorialLimit is for all scenarios of a workshop.
const tutorialLimit = 8 * time.Minute

// TestHelloWorld is the default workshop on two clusters, up to pods that run.
// Nothing of it stays on the machine.
func TestHelloWorld(t *testing.T) {
	before := footprint(t)
	t.Run("Sandbox", func(t *testing.T) {
		m := newMachine(t)
		out := m.up()
		t.Logf("first up: %.2f s", out.took.Seconds())
		m.settle()
		m.checkFixtures()
		if pulls := m.pulls("kalypso-gitops"); len(pulls) > 0 {
			t.Errorf("pull requests before anybody has done anything: %+v", pulls)
		}
		scenarios, err := m.try("scenario", "run", "--all", "--verify-checks")
		if err != nil {
			t.Fatalf("%v\n%s", err, scenarios.all())
		}
		t.Logf("\n%s", scenarios.stdout)
		for _, part := range []struct {
			name string
			run  func(*testing.T, *machine)
		}{
			{"Pods", pods},
			{"Azure", azure},
			{"Browser", browseArgoCD},
			{"Placements", placements},
			{"HubPages", browseHub},
			{"Propose", proposeInBrowser},
			{"Proposals", proposals},
			{"Hub", hubOfHelloWorld},
			{"Change", changeOfThePage},
			{"Addons", addons},
			{"Tour", tour},
			{"DeletedNamespaces", deletedNamespaces},
			{"MendedCommit", mendedCommit},
			{"KilledGate", killedGate},
			{"CancelledGate", cancelledGate},
			{"LateCluster", lateCluster},
			{"Credentials", lostCredentials},
			{"NoSecrets", noSecrets},
			{"Delete", deleteAll},
		} {
			t.Run(part.name, func(t *testing.T) {
				m.t = t
				part.run(t, m)
			})
			m.t = t
		}
	})
	sameFootprint(t, before)
}

// sameFootprint fails for what has come to the machine since before, and for changed rules. What
// is gone is no fault: an engine removes what one that was killed before the test left mounted.
func sameFootprint(t *testing.T, before map[string][]string) {
	t.Helper()
	for kind, now := range footprint(t) {
		if strings.HasPrefix(kind, "iptables") {
			if diff := cmp.Diff(before[kind], now); diff != "" {
				t.Errorf("%s changed:\n%s", kind, diff)
			}
			continue
		}
		known := slices.Clone(before[kind])
		for _, one := range now {
			i := slices.Index(known, one)
			if i < 0 {
				t.Errorf("left on the machine, %s: %s", kind, one)
				continue
			}
			known = slices.Delete(known, i, i+1)
		}
	}
}

// footprint is what real nodes could leave behind.
func footprint(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Skip("not Linux")
	}
	for line := range strings.Lines(string(mounts)) {
		all["mounts"] = append(all["mounts"], strings.Fields(line)[4])
	}
	groups, _ := filepath.Glob("/sys/fs/cgroup/kalypso-node/*")
	more, _ := filepath.Glob("/sys/fs/cgroup/*/kalypso-node/*")
	all["control groups"] = append(groups, more...)
	devices, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(devices)) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all["interfaces"] = append(all["interfaces"], name)
		}
	}
	for _, table := range []string{"nat", "filter"} {
		// what cannot be asked has not been changed either
		if out, err := exec.Command("iptables", "-w", "-t", table, "-S").Output(); err == nil {
			all["iptables "+table] = strings.Split(string(out), "\n")
		}
	}
	slices.Sort(all["mounts"])
	return all
}

// pods are of the image in the forge's registry; they come by Flux on drone
// and by Argo CD on large.
func pods(t *testing.T, m *machine) {
	if os.Geteuid() != 0 {
		t.Skip("not root: the nodes are simulated, and their pods do not run")
	}
	for _, c := range []struct {
		cluster, target, port, replicas string
		says                            []string
	}{
		{"drone", "functional-test", "9090", "1", []string{"Drone", "East US", "Dev", "mysql://restricted-host:3306/mysqlrty123"}},
		{"large", "performance-test", "8080", "2", []string{"Large", "West US", "Dev", "mysql://west:8806/mysql2"}},
	} {
		namespace := "dev-kaizen-app-team-hello-world-app-" + c.target
		const deployment = "deployment/hello-world-deployment"
		kubectl := func(args ...string) output {
			t.Helper()
			return m.run(append([]string{"kubectl", "--context", c.cluster, "--namespace", namespace}, args...)...)
		}
		waitFor(t, "the deployment on "+c.cluster, 60*time.Second, func() error {
			out, err := m.try("kubectl", "--context", c.cluster, "--namespace", namespace, "rollout", "status", deployment, "--timeout=30s")
			if err != nil {
				return errors.New(out.stderr)
			}
			return nil
		})
		if got := kubectl("get", deployment, "-o", "jsonpath={.status.readyReplicas}").stdout; got != c.replicas {
			t.Errorf("%s: %s pods are ready, want %s", c.cluster, got, c.replicas)
		}
		page := m.forwarded(c.cluster, namespace, "svc/hello-world-service", c.port)
		for _, want := range c.says {
			if !strings.Contains(page, "<b>"+want+"</b>") {
				t.Errorf("%s: the page lacks %q:\n%s", c.cluster, want, page)
			}
		}
		if log := kubectl("logs", deployment).stdout; !strings.Contains(log, "listening on") {
			t.Errorf("%s: the log says %q", c.cluster, log)
		}
		// the only program there is in the pod; its port is taken within it
		out, err := m.try("kubectl", "--context", c.cluster, "--namespace", namespace, "exec", deployment, "--", "/app")
		if err == nil || !strings.Contains(out.all(), "address already in use") {
			t.Errorf("%s: exec: %v: %s", c.cluster, err, out.all())
		}
		kubectl("rollout", "restart", deployment)
		kubectl("rollout", "status", deployment, "--timeout=60s")
	}
	// Argo CD runs beside the cluster, and is in it for who looks there
	waitFor(t, "the pod that stands for Argo CD", 30*time.Second, func() error {
		out, err := m.try("kubectl", "--context", "large", "--namespace", "argocd", "rollout", "status", "deployment/argocd-server", "--timeout=20s")
		if err != nil {
			return errors.New(out.stderr)
		}
		return nil
	})
	if page := m.forwarded("large", "argocd", "svc/argocd-server", "80"); !strings.Contains(page, "<title>Argo CD</title>") {
		t.Errorf("svc/argocd-server answers:\n%s", page)
	}
}

// forwarded gets a page through kubectl port-forward.
func (m *machine) forwarded(cluster, namespace, what, port string) string {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), commandLimit)
	defer cancel()
	cmd := m.command(ctx, "kubectl", "port-forward", what, "--namespace", namespace, ":"+port, "--context="+cluster)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait()
	}()
	address := ""
	for lines := bufio.NewScanner(stdout); address == "" && lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "Forwarding from "); ok {
			address, _, _ = strings.Cut(rest, " ")
		}
	}
	if address == "" {
		m.t.Fatalf("kubectl port-forward %s says no address", what)
	}
	response, err := http.Get("http://" + address + "/")
	if err != nil {
		m.t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		m.t.Fatalf("%s: %s: %v", what, response.Status, err)
	}
	return string(page)
}

// azure asks the emulated Azure as the tutorial does.
func azure(t *testing.T, m *machine) {
	waitFor(t, "compliance of drone", 60*time.Second, func() error {
		out, err := m.try("az", "k8s-configuration", "flux", "list", "--resource-group", "kalypso-rg", "--cluster-name", "drone",
			"--cluster-type", "connectedClusters", "--output", "tsv", "--query", "[].[name, complianceState]")
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out.stderr)
		}
		if got := strings.Join(strings.Fields(out.stdout), " "); got != "dev Compliant stage Compliant" {
			return errors.New(got)
		}
		return nil
	})
}

// browseArgoCD looks at the applications of cluster large.
func browseArgoCD(t *testing.T, m *machine) {
	b := newBrowser(t, m)
	argo := m.credentials().ArgoCD
	if len(argo) != 1 || argo[0].Cluster != "large" {
		t.Fatalf("Argo CD: %+v", argo)
	}
	b.check(t, filepath.Join("..", "sandbox", "gitops", "testdata", "argocd.mjs"),
		"ARGOCD_URL="+argo[0].URL, "ARGOCD_USER="+argo[0].User, "ARGOCD_PASSWORD="+argo[0].Password,
		"ARGOCD_APPLICATIONS=dev,hello-world-app-performance-test")
}
