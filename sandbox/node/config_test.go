package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/coredns/caddy/caddyfile"
	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/components/node/spec"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func testNode() Node {
	return Node{
		Cluster: "drone", Dir: "/srv/a/.kalypso/clusters/drone/node", PKI: "/srv/a/.kalypso/clusters/drone/pki",
		Host: supervisor.Host{
			Staged: func(name string) string { return "/srv/a/.kalypso/components/" + name + "-1" },
			Port:   func(name string) int { return map[string]int{"drone": 16443, "gitea": 13000}[name] },
		},
	}
}

func TestConfigs(t *testing.T) {
	n := testNode()
	files, err := settings{Node: n, Cgroup: Cgroup(n.Dir), ProxyMode: "nftables", Snapshotter: "overlayfs"}.configs()
	if err != nil {
		t.Fatal(err)
	}
	if files["spec.json"], err = json.MarshalIndent(n.spec(), "", "  "); err != nil {
		t.Fatal(err)
	}
	_, files["egress.yaml"] = n.EgressConfig()
	files["manifests.yaml"] = n.manifests()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "-- %s --\n%s\n", name, strings.TrimRight(string(files[name]), "\n"))
	}
	const golden = "testdata/configs.txtar"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("configurations (-want +got); -update rewrites them:\n%s", d)
	}
}

func TestReaches(t *testing.T) {
	n := testNode()
	known := n.Port
	n.Port = func(listener string) int {
		if listener == "argocd-drone" {
			return 18080
		}
		return known(listener)
	}
	n.Reaches = []string{"argocd-drone"}
	all := n.spec().Forwards
	want := spec.Forward{Listen: []string{"127.0.0.1:18080", "10.245.250.1:18080"}, To: "127.0.0.1:18080"}
	if d := cmp.Diff(want, all[len(all)-1]); d != "" {
		t.Error(d)
	}
}

// what is written as text must be what it is called
func TestConfigsParse(t *testing.T) {
	for _, forge := range []int{0, 13000} {
		n := testNode()
		n.Port = func(name string) int { return map[string]int{"drone": 16443, "gitea": forge}[name] }
		files, err := settings{Node: n, Cgroup: "x/y", ProxyMode: "iptables", Snapshotter: "native"}.configs()
		if err != nil {
			t.Fatal(err)
		}
		_, files["egress.yaml"] = n.EgressConfig()
		for name, content := range files {
			var v map[string]any
			switch {
			case strings.HasSuffix(name, ".yaml"):
				err = yaml.UnmarshalStrict(content, &v)
			case strings.HasSuffix(name, ".conflist"):
				err = json.Unmarshal(content, &v)
			default:
				continue
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, content)
			}
		}
		hasForge := strings.Contains(string(files["Corefile"]), ForgeName)
		if hasForge != (forge != 0) {
			t.Errorf("forge at port %d; DNS knows it: %v", forge, hasForge)
		}
		if got := len(n.spec().Forwards); got != 1 && forge == 0 || got != 2 && forge != 0 {
			t.Errorf("forge at port %d: %d forwards", forge, got)
		}
		objects, err := cluster.Decode(n.manifests())
		if err != nil || len(objects) != 5 {
			t.Errorf("manifests: %d objects, %v", len(objects), err)
		}
	}
}

// oddNode is in a home whose path has what a format could take for its own.
func oddNode() Node {
	n := testNode()
	n.Dir = "/srv/a b ü'c,d=e&f@g(h)!/.kalypso/clusters/drone/node"
	return n
}

func TestPathsAreQuotedByEachFormatsRules(t *testing.T) {
	n := oddNode()
	files, err := settings{Node: n, Cgroup: "x/y", ProxyMode: "iptables", Snapshotter: "native"}.configs()
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := caddyfile.Parse("Corefile", bytes.NewReader(files["Corefile"]), []string{"bind", "errors", "kubernetes", "cache", "loadbalance", "hosts", "template"})
	if err != nil {
		t.Fatal(err)
	}
	var kubernetes []string
	for _, token := range blocks[0].Tokens["kubernetes"] {
		kubernetes = append(kubernetes, token.Text)
	}
	if want := []string{"kubeconfig", n.file("coredns.kubeconfig"), "pods"}; !strings.Contains(strings.Join(kubernetes, "\n"), strings.Join(want, "\n")) {
		t.Errorf("Corefile: %q, want %q in it", kubernetes, want)
	}

	var containerd struct {
		GRPC    struct{ Address string }
		Plugins map[string]struct {
			Registry struct {
				Path string `toml:"config_path"`
			}
			CNI struct {
				Dir string `toml:"conf_dir"`
			}
		}
	}
	if err := toml.Unmarshal(files["containerd.toml"], &containerd); err != nil {
		t.Fatal(err)
	}
	var kubelet struct {
		Endpoint       string `json:"containerRuntimeEndpoint"`
		TLSCertFile    string
		TLSKey         string `json:"tlsPrivateKeyFile"`
		Authentication struct{ X509 struct{ ClientCAFile string } }
	}
	var proxy struct {
		ClientConnection struct{ Kubeconfig string }
	}
	var selector struct {
		EgressSelections []struct {
			Connection struct {
				Transport struct{ UDS struct{ UDSName string } }
			}
		}
	}
	_, egress := n.EgressConfig()
	if err := errors.Join(yaml.Unmarshal(files["kubelet.yaml"], &kubelet), yaml.Unmarshal(files["kube-proxy.yaml"], &proxy), yaml.Unmarshal(egress, &selector)); err != nil {
		t.Fatal(err)
	}
	endpoint, err := url.Parse(kubelet.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{
		containerd.GRPC.Address, containerd.Plugins["io.containerd.cri.v1.images"].Registry.Path, containerd.Plugins["io.containerd.cri.v1.runtime"].CNI.Dir,
		endpoint.Path, kubelet.TLSCertFile, kubelet.TLSKey, kubelet.Authentication.X509.ClientCAFile,
		proxy.ClientConnection.Kubeconfig, selector.EgressSelections[0].Connection.Transport.UDS.UDSName,
	}
	want := []string{
		n.containerd(), n.file("registries"), n.file("cni"),
		n.containerd(), n.file("pki", "kubelet.crt"), n.file("pki", "kubelet.key"), n.file("pki", "ca.crt"),
		n.file("kube-proxy.kubeconfig"), n.egress(),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestPathThatCoreDNSCannotHaveIsRefused(t *testing.T) {
	for _, dir := range []string{`/a\b`, "/a{$b}", "/a{%b%}", "/a\nb"} {
		n := testNode()
		n.Dir = dir
		if _, err := (settings{Node: n}).configs(); err == nil {
			t.Errorf("%q is accepted", dir)
		}
	}
}

// the node may not see the authority's key, nor anything else of the sandbox
// but its own folder and the programs
func TestSeen(t *testing.T) {
	want := []string{"/srv/a/.kalypso/components/kube-1", "/srv/a/.kalypso/components/node-1"}
	if d := cmp.Diff(want, testNode().spec().Seen); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestHeartbeat(t *testing.T) {
	objects, err := cluster.Decode([]byte(`{"apiVersion":"v1","kind":"Node","status":{"conditions":[
{"type":"MemoryPressure","lastHeartbeatTime":"2020-01-01T00:00:00Z"},{"type":"Ready","lastHeartbeatTime":"2021-02-03T04:05:06Z"}]}}
---
{"apiVersion":"v1","kind":"Node"}`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"2021-02-03T04:05:06Z", "0001-01-01T00:00:00Z"} {
		if got := heartbeat(objects[i]).Format("2006-01-02T15:04:05Z07:00"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
