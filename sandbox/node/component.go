package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/components/node/spec"
	"github.com/kalypso-dev/kalypso/sandbox/node/simulated"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// component is the node's outer process, with what must be done around it.
type component struct {
	*supervisor.Process
	node   Node
	client *cluster.Client // made once; the supervisor calls one method at a time
	began  time.Time
}

var _ supervisor.Component = (*component)(nil)

func newComponent(n Node) *component {
	c := &component{node: n, Process: n.Process(n.Name(), n.Dir)}
	c.Prepare = c.prepare
	c.Check = c.check
	return c
}

// prepare removes what an earlier run left, and writes the node's folder.
func (c *component) prepare(ctx context.Context) error {
	if err := Supported(c.node.Dir); err != nil {
		return &supervisor.PermanentError{Err: err}
	}
	if err := Clean(ctx, c.node.Dir); err != nil {
		return err
	}
	if err := c.register(ctx); err != nil {
		return err
	}
	if err := os.Remove(c.node.file(spec.GivenUp)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	c.began = time.Now().Truncate(time.Second)
	c.Path = filepath.Join(c.node.Staged("node"), "init")
	c.Argv = []string{"init", "run", c.node.file("spec.json")}
	return c.node.write()
}

// write makes the node's folder. What pods and images hold lies in its var,
// and stays.
func (n Node) write() error {
	for _, d := range []string{"root", "logs", "pki", "var/lib", "var/log", "var/tmp"} {
		if err := os.MkdirAll(n.file(d), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(n.Dir, 0o700); err != nil {
		return err
	}
	if err := os.Symlink("/run", n.file("var", "run")); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := n.writeIdentities(); err != nil {
		return err
	}
	files, err := settings{Node: n, Cgroup: Cgroup(n.Dir), ProxyMode: proxyMode(), Snapshotter: snapshotter(n.Dir)}.configs()
	if err != nil {
		return err
	}
	pause, err := os.ReadFile(filepath.Join(n.Staged("node"), "pause"))
	if err != nil {
		return err
	}
	if files["pause.tar"], err = Image(PauseImage, "pause", pause); err != nil {
		return err
	}
	if files["spec.json"], err = json.MarshalIndent(n.spec(), "", "  "); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(n.file(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(n.file(name), content, 0o600); err != nil {
			return err
		}
	}
	// a socket of an earlier run would be taken for this one's
	for _, socket := range []string{n.containerd(), n.egress(), n.ingress()} {
		if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Cause is how the node has ended. One that has given up, since a program of it
// ended badly again and again, would do so again.
func (c *component) Cause() error {
	b, err := os.ReadFile(c.node.file(spec.GivenUp))
	if err != nil {
		return c.Process.Cause()
	}
	return &supervisor.PermanentError{Err: errors.New(string(b))}
}

var nodes = schema.GroupVersionKind{Version: "v1", Kind: "Node"}

// check waits for the node, then for its DNS.
func (c *component) check(ctx context.Context) error {
	o, err := c.client.Get(ctx, nodes, "", c.node.Cluster)
	if err != nil {
		return err
	}
	if err := cluster.Condition(o, "Ready"); err != nil {
		return err
	}
	if last := heartbeat(o); last.Before(c.began) {
		return fmt.Errorf("the node's state is of an earlier run, of %s", last.Format(time.TimeOnly))
	}
	return c.node.checkDNS(ctx)
}

// heartbeat is when a kubelet last reported the status of its node.
func heartbeat(o *unstructured.Unstructured) time.Time {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Ready" {
			at, _ := m["lastHeartbeatTime"].(string)
			last, _ := time.Parse(time.RFC3339, at)
			return last
		}
	}
	return time.Time{}
}

// register applies the objects with the node's addresses before the node's
// programs look for them.
func (c *component) register(ctx context.Context) error {
	if c.client == nil {
		client, err := cluster.NewClient(c.node.Kubeconfig, "")
		if err != nil {
			return err
		}
		c.client = client
	}
	if err := simulated.Remove(ctx, c.client, c.node.Cluster); err != nil {
		return err
	}
	if err := c.client.Apply(ctx, c.node.manifests()); err != nil {
		return fmt.Errorf("register the node: %w", err)
	}
	return nil
}

// Stop ends the node and everything of it.
func (c *component) Stop(ctx context.Context) error {
	err := c.Process.Stop(ctx)
	if c.Process.PID() == 0 {
		return err // never started: what an earlier run left is for Init
	}
	return errors.Join(err, Clean(ctx, c.node.Dir))
}

// kernelSettings are what the kubelet insists on. They are the whole machine's,
// so the node gets to see them as it wants, and the machine keeps its own.
var kernelSettings = map[string]string{
	"vm/overcommit_memory":     "1",
	"vm/panic_on_oom":          "0",
	"kernel/panic":             "10",
	"kernel/panic_on_oops":     "1",
	"kernel/keys/root_maxkeys": "1000000",
	// the kubelet's rule: 25 bytes for each key
	"kernel/keys/root_maxbytes": "25000000",
}

// searchPath holds mount, iptables and what else the kubelet calls.
const searchPath = "/run/kalypso/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin"

// called are the node component's programs that others call by name.
var called = []string{"host-local", "loopback", "portmap", "ptp", "containerd-shim-runc-v2", "runc"}

func (n Node) spec() spec.Spec {
	kube, programs := filepath.Join(n.Staged("kube"), "kube"), n.Staged("node")
	s := spec.Spec{
		Hostname: n.Cluster,
		Dir:      n.Dir,
		Seen:     slices.Compact(slices.Sorted(slices.Values([]string{filepath.Dir(kube), programs}))),
		Cgroup:   Cgroup(n.Dir),
		Address:  Address + "/24",
		Services: ServiceNetwork,
		Links:    map[string]string{"kubectl": kube},
		Sysctls:  maps.Clone(kernelSettings),
		Egress:   n.egress(),
		Ingress:  n.ingress(),
	}
	for _, listener := range append([]string{n.Cluster, "gitea"}, n.Reaches...) {
		if port := n.Port(listener); port != 0 {
			s.Forwards = append(s.Forwards, spec.Forward{Listen: []string{loopback(port), onNode(port)}, To: loopback(port)})
		}
	}
	for _, name := range called {
		s.Links[name] = filepath.Join(programs, name)
	}
	tool := filepath.Join(programs, "node")
	env := []string{"PATH=" + searchPath, "HOME=/tmp", "TMPDIR=/tmp"}
	add := func(name, path, after string, once bool, argv ...string) {
		s.Programs = append(s.Programs, spec.Program{
			Name: name, Path: path, Argv: argv, Env: env,
			Log: n.file("logs", name+".log"), After: after, Once: once,
		})
	}
	add("coredns", tool, "", false, "coredns", "-conf", n.file("Corefile"))
	add("containerd", tool, "", false, "containerd", "--config", n.file("containerd.toml"))
	add("pause", tool, n.containerd(), true, "ctr", "--address", n.containerd(), "--namespace", "k8s.io", "images", "import", n.file("pause.tar"))
	add("kubelet", kube, "", false, "kubelet",
		"--config="+n.file("kubelet.yaml"), "--kubeconfig="+n.file("node.kubeconfig"),
		"--hostname-override="+n.Cluster, "--node-ip="+Address)
	add("kube-proxy", kube, "", false, "kube-proxy", "--config="+n.file("kube-proxy.yaml"), "--hostname-override="+n.Cluster)
	return s
}
