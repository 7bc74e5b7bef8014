package node

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// TestRealNode runs pods on a real node, and then looks for what it may have
// left on the machine. It needs root and the programs:
//
//	KALYPSO_TEST_KUBE  folder of the component kube
//	KALYPSO_TEST_NODE  folder of the component node
func TestRealNode(t *testing.T) {
	kube, programs := os.Getenv("KALYPSO_TEST_KUBE"), os.Getenv("KALYPSO_TEST_NODE")
	if kube == "" || programs == "" {
		t.Skip("KALYPSO_TEST_KUBE and KALYPSO_TEST_NODE name no programs")
	}
	before := machine(t)
	w := newRealNode(t, filepath.Join(kube, "kube"), programs)
	w.start(t)
	w.deploy(t)

	t.Run("logs", func(t *testing.T) {
		contains(t, w.kubectl(t, "logs", "deploy/guest"), "guest serves on guest-")
	})
	t.Run("exec", func(t *testing.T) {
		contains(t, w.guest(t, "read", "/proc/1/cmdline"), "/guest")
	})
	t.Run("port-forward", func(t *testing.T) {
		contains(t, w.portForward(t), "hello from guest-")
	})
	t.Run("service by name", func(t *testing.T) {
		for range 4 { // both pods, in all likelihood, so also the other one
			contains(t, w.guest(t, "get", "http://guest.default.svc.cluster.local"), "hello from guest-")
		}
	})
	t.Run("service from outside", func(t *testing.T) {
		contains(t, w.kubectl(t, "get", "--raw", "/api/v1/namespaces/default/services/guest/proxy/"), "hello from guest-")
	})
	t.Run("DNS", func(t *testing.T) {
		contains(t, w.guest(t, "resolve", "kubernetes.default"), "10.96.0.1")
		contains(t, w.guest(t, "resolve", "kube-dns.kube-system"), DNSService)
	})
	t.Run("forge", func(t *testing.T) {
		contains(t, w.guest(t, "get", fmt.Sprintf("http://%s:%d/", ForgeName, w.node.Port("gitea"))), "the forge")
	})
	t.Run("API server from a pod", func(t *testing.T) {
		// it asks who is there before it answers: being asked is being reached
		out := w.kubectlFails(t, "exec", "deploy/guest", "--", "/guest", "get", "https://kubernetes.default.svc")
		contains(t, out, "certificate")
	})
	t.Run("memory", func(t *testing.T) { t.Logf("\n%s", w.memory()) })

	t.Run("killed", func(t *testing.T) {
		if err := syscall.Kill(w.process(t).PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		w.waitReady(t, func(s supervisor.Status) bool { return s.Restarts > 0 })
		// the cluster learns only now that the pods it has as running are not
		began := time.Now()
		err := retry.Until(t.Context(), "pods of before", time.Minute, func(context.Context) error {
			out, err := w.command(t, "exec", "deploy/guest", "--", "/guest", "get", "http://guest.default.svc.cluster.local").CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("pods serve again %s after the node is ready", time.Since(began).Round(time.Millisecond))
	})
	w.stop(t)
	left, err := Leftovers(w.node.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	// interfaces go shortly after the last process
	err = retry.Until(t.Context(), "the machine as it was", 5*time.Second, func(context.Context) error {
		if d := cmp.Diff(before, machine(t)); d != "" {
			return fmt.Errorf("changed:\n%s", d)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

type realNode struct {
	node   Node
	kube   string
	super  *supervisor.Supervisor
	unit   supervisor.Unit
	units  []supervisor.Unit
	cancel context.CancelFunc
	done   chan error
}

func newRealNode(t *testing.T, kube, programs string) *realNode {
	t.Helper()
	home, err := os.MkdirTemp("", "kn") // short: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	forge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the forge") }))
	t.Cleanup(forge.Close)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}
	ports := map[string]int{"drone": freePort(t), "gitea": forge.Listener.Addr().(*net.TCPAddr).Port}
	host := supervisor.Host{
		Registry: filepath.Join(home, "children"), Env: env,
		Log:      func(name string) string { return filepath.Join(home, "logs", name+".log") },
		Staged:   func(name string) string { return map[string]string{"kube": filepath.Dir(kube), "node": programs}[name] },
		Port:     func(name string) int { return ports[name] },
		PortFree: func(string) error { return nil },
	}
	e := cluster.Embedded{Host: host, Dir: filepath.Join(home, "clusters"), Socket: filepath.Join(home, "etcd.sock")}
	w := &realNode{kube: kube, node: Node{
		Host: host, Cluster: "drone", Dir: filepath.Join(e.Dir, "drone", "node"), PKI: filepath.Join(e.Dir, "drone", "pki"),
		Kubeconfig: e.Kubeconfig("drone"),
	}}
	store, plane := e.Etcd(), e.ControlPlane("drone")
	p := plane.Component.(*supervisor.Process)
	prepare := p.Prepare
	p.Prepare = func(ctx context.Context) error {
		file, content := w.node.EgressConfig()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
		err := prepare(ctx)
		p.Argv = append(p.Argv, "--egress="+file)
		return err
	}
	w.unit = w.node.Unit("drone")
	w.units = []supervisor.Unit{store, plane, w.unit}
	return w
}

func (w *realNode) process(t *testing.T) *component {
	t.Helper()
	return w.unit.Component.(*component)
}

func (w *realNode) start(t *testing.T) {
	t.Helper()
	super, err := supervisor.New(slog.New(slog.NewTextHandler(t.Output(), nil)), w.units...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.super, w.cancel, w.done = super, cancel, make(chan error, 1)
	go func() { w.done <- super.Run(ctx) }()
	t.Cleanup(func() { w.stop(t) })
	began := time.Now()
	w.waitReady(t, func(supervisor.Status) bool { return true })
	t.Logf("node ready after %s, control plane included", time.Since(began).Round(time.Millisecond))
	for _, s := range super.Status() {
		t.Logf("%-12s ready in %s", s.Name, s.Took.Round(time.Millisecond))
	}
}

func (w *realNode) waitReady(t *testing.T, also func(supervisor.Status) bool) {
	t.Helper()
	err := retry.Until(t.Context(), "readiness of all", time.Minute, func(context.Context) error {
		for _, s := range w.super.Status() {
			if s.State != supervisor.Ready || s.Name == w.unit.Name && !also(s) {
				return fmt.Errorf("%s is %s: %s %s", s.Name, s.State, s.Reason, s.LastFailure)
			}
		}
		return nil
	})
	if err != nil {
		for _, log := range []string{"kubelet", "containerd", "coredns", "kube-proxy"} {
			t.Logf("%s:\n%s", log, strings.Join(supervisor.Tail(w.node.file("logs", log+".log"), 12), "\n"))
		}
		t.Logf("node:\n%s", strings.Join(supervisor.Tail(w.node.Log(w.node.Name()), 10), "\n"))
		t.Fatal(err)
	}
}

func (w *realNode) stop(t *testing.T) {
	t.Helper()
	if w.cancel == nil {
		return
	}
	began := time.Now()
	w.cancel()
	if err := <-w.done; err != nil {
		t.Error(err)
	}
	w.cancel = nil
	t.Logf("stopped in %s", time.Since(began).Round(time.Millisecond))
}

const guestManifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: guest}
spec:
  replicas: 2
  selector: {matchLabels: {app: guest}}
  template:
    metadata: {labels: {app: guest}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: guest
        image: kalypso.internal/guest:1
        imagePullPolicy: Never
        resources: {limits: {memory: 64Mi, cpu: 500m}}
        securityContext: {seccompProfile: {type: RuntimeDefault}}
        readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: guest}
spec:
  selector: {app: guest}
  ports: [{port: 80, targetPort: 8080}]
`

// deploy builds the guest, loads its image and runs it.
func (w *realNode) deploy(t *testing.T) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "guest")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./testdata/guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	image, err := Image("kalypso.internal/guest:1", "guest", content)
	if err != nil {
		t.Fatal(err)
	}
	archive := program + ".tar"
	if err := os.WriteFile(archive, image, 0o600); err != nil {
		t.Fatal(err)
	}
	load := exec.CommandContext(t.Context(), filepath.Join(w.node.Staged("node"), "node"),
		"ctr", "--address", w.node.containerd(), "--namespace", "k8s.io", "images", "import", archive)
	load.Env = w.node.Env
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("load %s into the node: %v\n%s", archive, err, out)
	}
	manifest := program + ".yaml"
	if err := os.WriteFile(manifest, []byte(guestManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	w.kubectl(t, "apply", "-f", manifest)
	w.kubectl(t, "rollout", "status", "deploy/guest", "--timeout=60s")
	t.Logf("2 pods ready after %s", time.Since(began).Round(time.Millisecond))
}

func (w *realNode) command(t *testing.T, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, w.kube, append([]string{"kubectl"}, args...)...)
	cmd.Env = append(w.node.Env, "KUBECONFIG="+w.node.Kubeconfig)
	return cmd
}

func (w *realNode) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := w.command(t, args...).CombinedOutput()
	if err != nil {
		described, _ := w.command(t, "describe", "pods").CombinedOutput()
		t.Fatalf("kubectl %s: %v\n%s\n%s", strings.Join(args, " "), err, out, described)
	}
	return string(out)
}

func (w *realNode) kubectlFails(t *testing.T, args ...string) string {
	t.Helper()
	out, err := w.command(t, args...).CombinedOutput()
	if err == nil {
		t.Fatalf("kubectl %s went well:\n%s", strings.Join(args, " "), out)
	}
	return string(out)
}

func (w *realNode) guest(t *testing.T, args ...string) string {
	t.Helper()
	return w.kubectl(t, append([]string{"exec", "deploy/guest", "--", "/guest"}, args...)...)
}

func (w *realNode) portForward(t *testing.T) string {
	t.Helper()
	port := freePort(t)
	cmd := w.command(t, "port-forward", "deploy/guest", fmt.Sprintf("%d:8080", port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var body strings.Builder
	err := retry.Until(t.Context(), "forwarded port", 20*time.Second, func(ctx context.Context) error {
		r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d", port))
		if err != nil {
			return err
		}
		defer r.Body.Close()
		return r.Write(&body)
	})
	if err != nil {
		t.Fatal(err)
	}
	return body.String()
}

func (w *realNode) memory() string {
	var b strings.Builder
	pids, _ := processes(Cgroup(w.node.Dir))
	for _, pid := range pids {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		name, _, _ := strings.Cut(string(line), "\x00")
		for l := range strings.Lines(string(status)) {
			if rest, ok := strings.CutPrefix(l, "VmRSS:"); ok {
				fmt.Fprintf(&b, "%-40s %s\n", name, strings.TrimSpace(rest))
			}
		}
	}
	return b.String()
}

// machine is what a node must not change.
func machine(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		all["interfaces"] += i.Name + "\n"
	}
	for _, args := range [][]string{{"iptables-save"}, {"nft", "list", "ruleset"}} {
		out, _ := exec.Command(args[0], args[1:]...).Output()
		for l := range strings.Lines(string(out)) {
			if !strings.HasPrefix(l, "#") && !strings.HasPrefix(l, ":") { // times and counters
				all[args[0]] += l
			}
		}
	}
	for name := range kernelSettings {
		b, _ := os.ReadFile("/proc/sys/" + name)
		all[name] = string(b)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	all["mounts"] = string(mounts)
	for _, dir := range []string{"/run", "/run/netns", "/var/lib", "/var/log", "/var/run", "/etc/cni", "/opt/cni", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpuset", "/sys/fs/cgroup"} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			all[dir] += e.Name() + "\n"
		}
	}
	return all
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func contains(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %q, want it to contain %q", got, want)
	}
}
