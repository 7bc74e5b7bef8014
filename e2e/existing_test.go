//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// TestExistingProvider uses a cluster that a user has, which another sandbox
// plays: it has Argo CD beside it and things on it, and whatever happens they
// stay as they are.
func TestExistingProvider(t *testing.T) {
	theirs := newMachine(t)
	theirs.up()
	theirs.settle()
	// or what their Argo CD still applies would count as ours
	waitFor(t, "the first sync of their cluster", 2*time.Minute, func() error {
		out, err := theirs.try("kubectl", "--context", "large", "get", "applications.argoproj.io", "--all-namespaces", "--output",
			`jsonpath={range .items[*]}{.metadata.name} {.status.sync.status}{"\n"}{end}`)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out.all())
		}
		applications := strings.Fields(out.stdout)
		for i := 1; i < len(applications); i += 2 {
			if applications[i] != "Synced" {
				return fmt.Errorf("application %s is %s", applications[i-1], applications[i])
			}
		}
		if len(applications) == 0 {
			return errors.New("there are no applications")
		}
		return nil
	})
	theirs.run("kubectl", "--context", "large", "create", "namespace", "mine")
	theirs.run("kubectl", "--context", "large", "--namespace", "mine", "create", "configmap", "mine", "--from-literal=text=mine")

	m := newMachine(t)
	m.tutorial = "basic-inference"
	m.env = append(m.env, "KUBECONFIG="+filepath.Join(theirs.home, "kubeconfig"))
	g := &guest{machine: m, host: theirs, context: "large"}
	for _, part := range []struct {
		name string
		run  func(*testing.T, *guest)
	}{
		{"Refused", refusedClusters},
		{"Up", useCluster},
		{"Scenarios", scenariosOnCluster},
		{"StopAndStart", stopsGuest},
		{"KilledDaemon", killedGuest},
		{"DownAndUp", guestComesAgain},
		{"KilledThenDown", killedGuestGoes},
		{"ClusterStopped", clusterStopped},
		{"Reset", resetGuest},
		{"Delete", guestGoes},
	} {
		if !t.Run(part.name, func(t *testing.T) {
			m.t, theirs.t = t, t
			part.run(t, g)
		}) {
			break // what comes after would only fail for the same reason
		}
		m.t, theirs.t = t, t
	}
}

// guest is a sandbox on a cluster of another machine's.
type guest struct {
	*machine
	host    *machine
	context string // of the cluster there
	before  []string
}

// listing has all objects of all kinds, but those that come and go by
// themselves.
func (g *guest) listing() []string {
	g.t.Helper()
	get := func(args ...string) []string {
		return strings.Split(strings.TrimSpace(g.host.run(append([]string{"kubectl", "--context", g.context}, args...)...).stdout), "\n")
	}
	kinds := slices.DeleteFunc(get("api-resources", "--verbs=list,delete", "--output=name"), func(kind string) bool {
		return strings.HasPrefix(kind, "events") || strings.HasPrefix(kind, "leases")
	})
	all := get("get", strings.Join(kinds, ","), "--all-namespaces", "--output",
		`jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} {.metadata.uid}{"\n"}{end}`)
	slices.Sort(all)
	return all
}

// asBefore holds the cluster to what was on it, with the same IDs.
func (g *guest) asBefore() {
	g.t.Helper()
	if diff := cmp.Diff(g.before, g.listing()); diff != "" {
		g.t.Errorf("the cluster is not as it was:\n%s", diff)
	}
	if left, err := filepath.Glob(filepath.Join(g.home, "clusters", "*", "made.json")); err != nil || len(left) > 0 {
		g.t.Errorf("still recorded: %q, %v", left, err)
	}
}

// applied waits until what is in git is on the cluster, as the first scenario
// has left it.
func (g *guest) applied() {
	g.t.Helper()
	waitFor(g.t, "what is in git on the cluster", time.Minute, func() error {
		out, err := g.try("kubectl", "--context", "arc-cluster", "--namespace", "basic-inference-dev", "get", "configmap", "platform-config", "--output=name")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out.all())
		}
		return nil
	})
}

func refusedClusters(t *testing.T, g *guest) {
	g.before = g.listing()
	userHome := filepath.Join(g.dir, "user")
	absent := filepath.Join(userHome, "away")
	if err := os.WriteFile(absent, []byte(`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
contexts: [{name: away, context: {cluster: c}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	limited := g.limitedUser()
	list := strings.Join([]string{filepath.Join(g.host.home, "kubeconfig"), "away", limited}, string(os.PathListSeparator))
	for _, c := range []struct {
		cluster string
		code    int
		says    []string
	}{
		{"arc-cluster", 2, []string{"write NAME=CONTEXT"}},
		{"drone=large", 2, []string{`there is no cluster "drone"`, "Choose one of arc-cluster"}},
		{"arc-cluster=larg", 2, []string{"did you mean large?", "Choose one of away, drone, large, limited", absent}},
		{"arc-cluster=away", 5, []string{"https://127.0.0.1:1", "does not answer", "connection refused", "kubectl --context away version"}},
		{"arc-cluster=drone", 5, []string{"GitRepository flux-system/dev is there, and nothing in the cluster acts on it"}},
		{"arc-cluster=limited", 5, []string{"may not", "create, update, patch, delete namespaces;", "customresourcedefinitions.apiextensions.k8s.io", "cluster-admin"}},
	} {
		cmd := *g.machine
		cmd.env = append(slices.Clone(g.env), "KUBECONFIG="+list)
		out, err := cmd.try("up", "--workshop", "basic-inference", "--cluster", c.cluster)
		t.Logf("%s: %.1f s", c.cluster, out.took.Seconds())
		if err == nil || out.code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.cluster, out.code, c.code)
		}
		for _, says := range c.says {
			if !strings.Contains(out.stderr, says) {
				t.Errorf("%s: does not say %q: %s", c.cluster, says, out.stderr)
			}
		}
		if out.took > 10*time.Second {
			t.Errorf("%s: took %s", c.cluster, out.took)
		}
	}
	if _, err := os.Stat(g.home); err == nil {
		t.Error("a sandbox has been made")
	}
	g.host.run("kubectl", "--context", g.context, "delete", "clusterrolebinding,serviceaccount", "limited", "--namespace", "mine")
	for _, f := range []string{absent, limited} {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	g.asBefore()
}

// limitedUser makes a kubeconfig of somebody who may only look.
func (g *guest) limitedUser() string {
	g.t.Helper()
	kubectl := func(args ...string) string {
		return strings.TrimSpace(g.host.run(append([]string{"kubectl", "--context", g.context, "--namespace", "mine"}, args...)...).stdout)
	}
	kubectl("create", "serviceaccount", "limited")
	kubectl("create", "clusterrolebinding", "limited", "--clusterrole=view", "--serviceaccount=mine:limited")
	server := kubectl("config", "view", "--minify", "--output=jsonpath={.clusters[0].cluster.server}")
	ca := kubectl("config", "view", "--minify", "--raw", "--output=jsonpath={.clusters[0].cluster.certificate-authority-data}")
	file := filepath.Join(g.dir, "user", "limited")
	config := fmt.Sprintf(`{apiVersion: v1, kind: Config, clusters: [{name: l, cluster: {server: %q, certificate-authority-data: %q}}],
users: [{name: l, user: {token: %q}}], contexts: [{name: limited, context: {cluster: l, user: l}}]}`, server, ca, kubectl("create", "token", "limited"))
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		g.t.Fatal(err)
	}
	return file
}

func useCluster(t *testing.T, g *guest) {
	g.upFlags = []string{"--cluster", "arc-cluster=" + g.context}
	out := g.up()
	t.Logf("first up: %.2f s\n%s", out.took.Seconds(), out.stderr)
	if !strings.Contains(out.stderr, "(yours, context large; Flux runs beside it, on this machine)") {
		t.Errorf("up says\n%s", out.stderr)
	}
	s := g.status()
	if len(s.Existing) != 1 || s.Existing[0].Name != "arc-cluster" || s.Existing[0].Context != g.context || s.Existing[0].Theirs != "" {
		t.Errorf("status: %+v", s.Existing)
	}
	for _, c := range s.Components {
		if strings.HasPrefix(c.Name, "node-") || c.Name == "etcd" {
			t.Errorf("%s runs for a cluster that is there", c.Name)
		}
	}
	if out := g.run("status"); !strings.Contains(out.stdout, "Cluster arc-cluster is yours: context large of "+filepath.Join(g.host.home, "kubeconfig")) ||
		!strings.Contains(out.stdout, "Pods of the sample applications do not start there") {
		t.Errorf("status says\n%s", out.stdout)
	}
	if out := g.up(); !strings.Contains(out.stderr, "nothing changed") {
		t.Errorf("up once more says %q", out.stderr)
	}
	for _, flags := range [][]string{{"--cluster", "arc-cluster=drone"}, {"--provider", "kind"}} {
		if out, err := g.try(append([]string{"up"}, flags...)...); err == nil || out.code != 2 || !strings.Contains(out.stderr, " holds ") {
			t.Errorf("%q: exit code %d, says %q", flags, out.code, out.stderr)
		}
	}
	if out, err := g.try("snapshot", "save", "x"); err == nil || out.code != 2 {
		t.Errorf("a snapshot: exit code %d, says %q", out.code, out.all())
	}
	file := filepath.Join(g.home, "clusters", "arc-cluster", "admin.kubeconfig")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func scenariosOnCluster(t *testing.T, g *guest) {
	g.settle()
	out, err := g.try("scenario", "run", "onboard-app", "deploy-app", "--output", "json")
	if err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	var results []scenarios.Result
	g.decode(out.stdout, &results)
	states := map[string]scenarios.State{}
	for _, r := range results {
		states[r.Name] = r.State
		t.Logf("%s %s in %.1f s", r.Name, r.State, r.Took.Seconds())
	}
	// the second has a step that looks at a pod
	if diff := cmp.Diff(map[string]scenarios.State{"onboard-app": scenarios.Passed, "deploy-app": scenarios.Simulated}, states); diff != "" {
		t.Errorf("scenarios (-want +got):\n%s", diff)
	}
	g.objects("arc-cluster")
	// Azure's commands put things there, too
	g.run("az", "k8s-configuration", "flux", "create", "--resource-group", "kalypso-rg", "--cluster-name", "arc-cluster", "--cluster-type", "connectedClusters",
		"--name", "extra", "--namespace", "extra", "--scope", "cluster", "--url", g.credentials().OrgURL+"/kalypso-platform-gitops", "--branch", "qa",
		"--kustomization", "name=extra", "path=nothing", "--no-wait")
}

func stopsGuest(t *testing.T, g *guest) {
	before := g.listing()
	g.run("stop", "arc-cluster")
	if out := g.run("az", "connectedk8s", "show", "--resource-group", "kalypso-rg", "--name", "arc-cluster", "--query", "connectivityStatus", "--output", "tsv"); strings.TrimSpace(out.stdout) != "Offline" {
		t.Errorf("a stopped cluster is %q", out.stdout)
	}
	if diff := cmp.Diff(before, g.listing()); diff != "" {
		t.Errorf("stopping has changed the cluster:\n%s", diff)
	}
	out := g.run("start", "arc-cluster")
	t.Logf("start: %.2f s", out.took.Seconds())
}

func killedGuest(t *testing.T, g *guest) {
	before := g.memory()
	if err := syscall.Kill(g.pids()["daemon"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "end of the daemon's children", endLimit, g.noProcesses)
	out := g.up()
	t.Logf("up after a kill: %.2f s", out.took.Seconds())
	if diff := cmp.Diff(before, g.memory()); diff != "" {
		t.Errorf("not the same sandbox:\n%s", diff)
	}
}

func guestComesAgain(t *testing.T, g *guest) {
	g.push("kalypso-control-plane", "main", map[string]string{"mark.txt": "guest"})
	out := g.run("down")
	t.Logf("down: %.2f s\n%s", out.took.Seconds(), out.stderr)
	if err := g.noProcesses(); err != nil {
		t.Error(err)
	}
	g.asBefore()
	out = g.up()
	t.Logf("up after down: %.2f s", out.took.Seconds())
	g.applied()
	if mark := g.forge(http.MethodGet, "repos/kalypso/kalypso-control-plane/raw/mark.txt?ref=main", ""); mark != "guest" {
		t.Errorf("mark %q", mark)
	}
}

// killedGuestGoes: the daemon cannot clean up, so the next down does.
func killedGuestGoes(t *testing.T, g *guest) {
	if err := syscall.Kill(g.pids()["daemon"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	out := g.run("down")
	t.Logf("down after a kill: %.2f s", out.took.Seconds())
	g.asBefore()
}

// clusterStopped: what cannot be removed is not forgotten.
func clusterStopped(t *testing.T, g *guest) {
	g.up()
	g.host.run("stop", g.context)
	for _, args := range [][]string{{"down"}, {"down", "--delete"}} {
		out, err := g.try(args...)
		t.Logf("%q: %.1f s: %s", args, out.took.Seconds(), out.stderr)
		for _, says := range []string{"still has what the sandbox has put there", "connection refused", "`kalypso down` again takes it off"} {
			if err == nil || out.code != 1 || !strings.Contains(out.stderr, says) {
				t.Errorf("%q: exit code %d, does not say %q", args, out.code, says)
			}
		}
		if err := g.noProcesses(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(g.home, "sandbox.json")); err != nil {
			t.Errorf("%q: the sandbox is gone: %v", args, err)
		}
	}
	if out, err := g.try("up"); err == nil || out.code != 5 || !strings.Contains(out.stderr, "does not answer") {
		t.Errorf("up without the cluster: exit code %d, says %q", out.code, out.stderr)
	}
	if out, err := g.host.tryFor(upLimit, "start", g.context); err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	g.run("down")
	g.asBefore()
}

func resetGuest(t *testing.T, g *guest) {
	g.up()
	out, err := g.tryFor(upLimit, "reset", "--yes")
	if err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	t.Logf("reset: %.2f s", out.took.Seconds())
	g.settle()
	if out, err := g.try("kubectl", "--context", "arc-cluster", "get", "namespace", "basic-inference-dev"); err == nil {
		t.Errorf("reset has left %s", out.stdout)
	}
}

func guestGoes(t *testing.T, g *guest) {
	// a user has put something beside what the sandbox has made
	g.run("kubectl", "--context", "arc-cluster", "--namespace", "flux-system", "create", "configmap", "found", "--from-literal=text=here")
	out := g.run("down", "--delete")
	t.Logf("down --delete: %.2f s\n%s", out.took.Seconds(), out.stderr)
	if !strings.Contains(out.stderr, "Namespace flux-system stays: it holds ConfigMap flux-system/found") {
		t.Errorf("does not say what stays:\n%s", out.stderr)
	}
	g.host.run("kubectl", "--context", g.context, "delete", "namespace", "flux-system")
	g.asBefore()
	if _, err := os.Stat(g.home); err == nil {
		t.Error("the sandbox's folder is still there")
	}
	if data := g.host.run("kubectl", "--context", g.context, "--namespace", "mine", "get", "configmap", "mine", "--output=jsonpath={.data.text}").stdout; data != "mine" {
		t.Errorf("the user's own has %q now", data)
	}
	if s := g.host.status(); !s.Ready {
		t.Errorf("the other sandbox is not ready: %+v", s.Components)
	}
}
