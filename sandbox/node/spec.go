package node

import (
	"maps"
	"path/filepath"
	"slices"
)

// spec is the contract with the program init of the component node, which
// documents the fields.
type spec struct {
	Hostname string            `json:"hostname"`
	Dir      string            `json:"dir"`
	Seen     []string          `json:"seen"`
	Cgroup   string            `json:"cgroup"`
	Address  string            `json:"address"`
	Services string            `json:"services"`
	Links    map[string]string `json:"links"`
	Sysctls  map[string]string `json:"sysctls"`
	Egress   string            `json:"egress"`
	Ingress  string            `json:"ingress"`
	Forwards []forward         `json:"forwards"`
	Programs []program         `json:"programs"`
}

type forward struct {
	Listen []string `json:"listen"`
	To     string   `json:"to"`
}

type program struct {
	Name  string   `json:"name"`
	Path  string   `json:"path"`
	Argv  []string `json:"argv"`
	Env   []string `json:"env"`
	Log   string   `json:"log"`
	After string   `json:"after,omitempty"`
	Once  bool     `json:"once,omitempty"`
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

func (n Node) spec() spec {
	kube, programs := n.Kube(), n.Programs()
	s := spec{
		Hostname: n.Cluster,
		Dir:      n.Dir,
		Seen:     slices.Compact(slices.Sorted(slices.Values([]string{filepath.Dir(kube), programs}))),
		Cgroup:   cgroupOf(n.Dir),
		Address:  Address + "/24",
		Services: ServiceNetwork,
		Links:    map[string]string{"kubectl": kube},
		Sysctls:  maps.Clone(kernelSettings),
		Egress:   n.egress(),
		Ingress:  n.ingress(),
		Forwards: []forward{{Listen: []string{loopback(n.APIPort), onNode(n.APIPort)}, To: loopback(n.APIPort)}},
	}
	for _, name := range called {
		s.Links[name] = filepath.Join(programs, name)
	}
	if n.ForgePort != 0 {
		s.Forwards = append(s.Forwards, forward{Listen: []string{loopback(n.ForgePort), onNode(n.ForgePort)}, To: loopback(n.ForgePort)})
	}
	tool := filepath.Join(programs, "node")
	env := []string{"PATH=" + searchPath, "HOME=/tmp", "TMPDIR=/tmp"}
	add := func(name, path, after string, once bool, argv ...string) {
		s.Programs = append(s.Programs, program{
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
