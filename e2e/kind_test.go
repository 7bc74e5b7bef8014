//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-dev/kalypso/sandbox"
)

const (
	engineLimit = 3 * time.Minute
	// imageLimit is for building the image of nodes with nothing in the cache.
	imageLimit = 15 * time.Minute
	// withinVariable is set for the part of this test that runs where the
	// engine's ports are.
	withinVariable = "KALYPSO_E2E_ENGINE"
)

// TestKind brings the sandbox up on kind clusters, of an engine that it starts
// itself in a network of its own.
func TestKind(t *testing.T) {
	if dir := os.Getenv(withinVariable); dir != "" {
		kindTutorial(t, dir)
		return
	}
	if why := noEngine(); why != "" {
		if os.Getenv("KALYPSO_REQUIRE_KIND") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	before := footprint(t)
	// the path of a socket is below
	dir, err := os.MkdirTemp("", "kalypso-eng-")
	if err != nil {
		t.Fatal(err)
	}
	env := engine(t, dir, "up")
	i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "ENGINE_NETNS=") })
	if i < 0 {
		t.Fatalf("the engine says %q", env)
	}
	runWithin(t, imageLimit, env, "make", "-C", "..", "--no-print-directory", "kind-node-image")
	within := append([]string{withinVariable + "=" + dir}, env...)
	_, namespace, _ := strings.Cut(env[i], "=")
	runWithin(t, 0, within, "nsenter", "--net="+namespace, os.Args[0], "-test.run=^TestKind$", "-test.v", "-test.timeout=0")
	engine(t, dir, "down")
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
	sameFootprint(t, before)
}

// noEngine says why there can be no engine here.
func noEngine() string {
	if os.Geteuid() != 0 {
		return "not root: an engine of the test's own cannot be started"
	}
	for _, program := range []string{"dockerd", "docker", "nsenter", "debootstrap"} {
		if _, err := exec.LookPath(program); err != nil {
			return "no engine to start: " + err.Error()
		}
	}
	return ""
}

// engine starts or ends the engine in a folder, and returns the variables that
// lead to it.
func engine(t *testing.T, dir, what string) (env []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), engineLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join("..", ".ci", "engine"), what, dir)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		t.Fatalf("engine %s: %v\n%s", what, err, wrong.String())
	}
	t.Log(strings.TrimSpace(wrong.String()))
	return strings.Fields(strings.TrimPrefix(strings.TrimSpace(out.String()), "export "))
}

// runWithin runs a command with its output in the test's.
func runWithin(t *testing.T, limit time.Duration, env []string, name string, args ...string) {
	t.Helper()
	ctx := context.Background()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// newKindMachine has a docker to talk to, too.
func newKindMachine(t *testing.T) *machine {
	m := newMachine(t)
	docker, err := exec.LookPath("docker")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(docker, filepath.Join(m.dir, "base", "docker")); err != nil {
		t.Fatal(err)
	}
	m.env = append(m.env, "DOCKER_HOST="+os.Getenv("DOCKER_HOST"))
	m.upFlags, m.upLimit = []string{"--provider", sandbox.ProviderKind}, 2*upLimit
	return m
}

func kindTutorial(t *testing.T, dir string) {
	t.Run("Errors", kindErrors)
	m := newKindMachine(t)
	out := m.up()
	t.Logf("first up: %.2f s\n%s", out.took.Seconds(), out.stderr)
	containers(t)
	m.settle()
	m.checkFixtures()
	scenarios, err := m.try("scenario", "run", "onboard-app", "schedule-dev", "promote-to-stage", "failed-promotion", "deploy-app", "platform-config")
	if err != nil {
		t.Fatalf("%v\n%s", err, scenarios.all())
	}
	t.Logf("\n%s", scenarios.stdout)
	if strings.Contains(scenarios.stdout, "simulated") {
		t.Errorf("the pods are real:\n%s", scenarios.stdout)
	}
	for _, part := range []struct {
		name string
		run  func(*testing.T, *machine)
	}{
		{"Inside", reconcilersInside},
		{"EngineRestart", func(t *testing.T, m *machine) { engineRestart(t, m, dir) }},
	} {
		t.Run(part.name, func(t *testing.T) {
			m.t = t
			part.run(t, m)
		})
		m.t = t
	}
	keepsPromises(t, m, provided{name: sandbox.ProviderKind, clusters: []string{"drone", "large"}, outside: func() []string { return containers(t) }})
}

// containers are all there are, with what the engine keeps for them.
func containers(t *testing.T) (all []string) {
	t.Helper()
	for _, args := range [][]string{
		{"ps", "--all", "--format", "{{.Names}} {{.Status}}"},
		{"volume", "ls", "--format", "volume {{.Name}}"},
	} {
		out, err := exec.Command("docker", args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })...)
	}
	return all
}

// reconcilersInside looks where a user would: at pods.
func reconcilersInside(t *testing.T, m *machine) {
	for _, c := range []struct{ cluster, namespace, want string }{
		{"drone", "flux-system", "kustomize-controller source-controller"},
		{"large", "argocd", "argocd-application-controller argocd-redis argocd-repo-server argocd-server"},
	} {
		labels := m.run("kubectl", "--context", c.cluster, "-n", c.namespace, "get", "pods", "--field-selector=status.phase=Running",
			"-o", `jsonpath={range .items[*]}{.metadata.labels.app}{.metadata.labels.app\.kubernetes\.io/name} {end}`).stdout
		names := slices.Sorted(slices.Values(strings.Fields(labels)))
		for i, n := range names {
			// Flux labels its pods twice
			if half := n[:len(n)/2]; half+half == n {
				names[i] = half
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: pods %q, want %q", c.cluster, got, c.want)
		}
	}
	argo := m.credentials().ArgoCD
	if len(argo) != 1 {
		t.Fatalf("Argo CD: %+v", argo)
	}
	for password, want := range map[string]int{argo[0].Password: http.StatusOK, "wrong": http.StatusUnauthorized} {
		body := fmt.Sprintf(`{"username": %q, "password": %q}`, argo[0].User, password)
		answer, err := (&http.Client{Timeout: 15 * time.Second}).Post(argo[0].URL+"/api/v1/session", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("logging in to Argo CD is answered by %s, want %d", answer.Status, want)
		}
	}
}

// engineRestart ends the engine with everything in it, as an upgrade does. The
// sandbox comes back by itself.
func engineRestart(t *testing.T, m *machine, dir string) {
	before := m.uids(provided{clusters: []string{"drone", "large"}})
	b, err := os.ReadFile(filepath.Join(dir, "dockerd.pid"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(b), &pid); err != nil {
		t.Fatal(err)
	}
	// the one that comes next must find what it needs
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the engine's end", engineLimit, func() error { return gone(pid) })
	waitFor(t, "the sandbox to notice", 30*time.Second, func() error {
		if m.status().Ready {
			return errors.New("it says that all is ready")
		}
		return nil
	})
	args := strings.Split(strings.TrimSuffix(string(command), "\x00"), "\x00")
	again := exec.Command(args[0], args[1:]...)
	again.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	began := time.Now()
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dockerd.pid"), fmt.Appendf(nil, "%d\n", again.Process.Pid), 0o600); err != nil {
		t.Fatal(err)
	}
	// until its kubelet has said something, a node's pods are as they were before the restart
	for name, namespace := range map[string]string{"drone": "flux-system", "large": "argocd"} {
		waitFor(t, "the pods of "+name, 2*upLimit, func() error {
			out, err := m.try("kubectl", "--context", name, "-n", namespace, "get", "pods", "-o", "json")
			if err != nil {
				return fmt.Errorf("%w: %s", err, out.all())
			}
			var pods corev1.PodList
			if err := json.Unmarshal([]byte(out.stdout), &pods); err != nil {
				return err
			}
			for _, p := range pods.Items {
				if p.Status.Phase == corev1.PodSucceeded {
					continue
				}
				for _, c := range p.Status.ContainerStatuses {
					if !c.Ready || c.State.Running == nil || c.State.Running.StartedAt.Before(&metav1.Time{Time: began.Truncate(time.Second)}) {
						return fmt.Errorf("container %s of %s: %+v", c.Name, p.Name, c.State)
					}
				}
			}
			return nil
		})
	}
	waitFor(t, "the sandbox to be ready again", 2*upLimit, func() error {
		for _, c := range m.status().Components {
			if c.State != "ready" {
				return fmt.Errorf("%s is %s: %s", c.Name, c.State, c.Reason)
			}
		}
		return nil
	})
	t.Logf("ready %.1f s after the engine's start", time.Since(began).Seconds())
	if diff := cmp.Diff(before, m.uids(provided{clusters: []string{"drone", "large"}})); diff != "" {
		t.Errorf("not the same clusters:\n%s", diff)
	}
}

// kindErrors are reported in seconds, before anything is made.
func kindErrors(t *testing.T) {
	hung := filepath.Join(t.TempDir(), "hung.sock")
	l, err := net.Listen("unix", hung)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, c) }() // listens, and never answers
		}
	}()
	nowhere := filepath.Join(t.TempDir(), "nowhere.sock")
	for name, c := range map[string]struct {
		host  string
		flags []string
		want  string
	}{
		"no engine": {"unix://" + nowhere, nil, `does not answer .*service docker start`},
		"hangs":     {"unix://" + hung, nil, `no answer (with)?in 2s`},
		"no image":  {os.Getenv("DOCKER_HOST"), []string{"--image", "kalypso/none:v0"}, "(?s)kalypso/none:v0.*docker pull kalypso/none:v0.*make kind-node-image"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newKindMachine(t)
			m.env[len(m.env)-1] = "DOCKER_HOST=" + c.host
			out, err := m.try(append([]string{"up", "--provider", "kind"}, c.flags...)...)
			t.Logf("%.1f s: %s", out.took.Seconds(), out.stderr)
			if err == nil || out.code != 5 || !regexp.MustCompile(c.want).MatchString(out.stderr) {
				t.Errorf("exit code %d, says %q, want %s", out.code, out.stderr, c.want)
			}
			if out.took > 15*time.Second {
				t.Errorf("took %s", out.took)
			}
			if _, err := os.Stat(m.home); err == nil {
				t.Error("a sandbox has been made")
			}
		})
	}
}
