package node

import (
	"fmt"
	"strings"
	"text/template"
)

// pauseImage holds the namespaces of a pod. It is made here of the component's
// program pause, and never pulled.
const pauseImage = "kalypso.internal/pause:1"

// cniVersion is one that all packed plugins speak.
const cniVersion = "1.0.0"

// settings are what the configurations depend on.
type settings struct {
	Node        Node
	Cgroup      string
	ProxyMode   string // iptables or nftables
	Snapshotter string // overlayfs, or native where overlay cannot be
}

// configs are the configuration files of the node, by name. Traps, each found
// by trying: the kubelet refuses cgroup version 1 unless told; a container
// without the right to lower its OOM score fails unless containerd does not
// try; kube-proxy fails to set the machine's connection tracking.
func (s settings) configs() (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, text := range map[string]string{
		"containerd.toml":      containerdConfig,
		"cni/10-pods.conflist": networkConfig,
		"kubelet.yaml":         kubeletConfig,
		"kube-proxy.yaml":      proxyConfig,
		"Corefile":             dnsConfig,
	} {
		b, err := s.render(name, text)
		if err != nil {
			return nil, err
		}
		files[name] = b
	}
	if s.Node.ForgePort != 0 {
		host := fmt.Sprintf("localhost:%d", s.Node.ForgePort)
		// containerd would try https first under any name but localhost
		files["registries/"+host+"/hosts.toml"] = fmt.Appendf(nil, "server = \"http://%[1]s\"\n\n[host.\"http://%[1]s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", host)
	}
	return files, nil
}

func (s settings) render(name, text string) ([]byte, error) {
	t, err := template.New(name).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	data := map[string]any{
		"Dir": s.Node.Dir, "Socket": s.Node.containerd(), "Cgroup": s.Cgroup,
		"ProxyMode": s.ProxyMode, "Snapshotter": s.Snapshotter,
		"Pause": pauseImage, "CNI": cniVersion,
		"Address": Address, "Pods": PodNetwork, "Forge": ForgeName,
		"HasForge": s.Node.ForgePort != 0, "KubeletPort": kubeletPort,
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}

const containerdConfig = `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.nri.v1.nri"]

[grpc]
  address = "{{.Socket}}"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "{{.Snapshotter}}"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{{.Pause}}"
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "{{.Dir}}/registries"

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      snapshotter = "{{.Snapshotter}}"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = "/run/kalypso/bin/runc"
        SystemdCgroup = false
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/run/kalypso/bin"]
    conf_dir = "{{.Dir}}/cni"
`

// Pods are routed, not bridged: an answer between two pods of this node would
// bypass the firewall's rules on a bridge, unless the machine has the module
// br_netfilter loaded. Addresses are kept in memory: with the node's network
// they are gone, too.
const networkConfig = `{
  "cniVersion": "{{.CNI}}",
  "name": "kalypso",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": false,
      "ipam": {
        "type": "host-local",
        "ranges": [[{"subnet": "{{.Pods}}"}]],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": "/run/cni/ipam"
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {{.Address}}
port: {{.KubeletPort}}
readOnlyPort: 0
healthzPort: 0
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
cgroupRoot: /{{.Cgroup}}
enforceNodeAllocatable: []
oomScoreAdj: 0
containerRuntimeEndpoint: unix://{{.Socket}}
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: false}
  x509: {clientCAFile: "{{.Dir}}/pki/ca.crt"}
authorization: {mode: Webhook}
tlsCertFile: "{{.Dir}}/pki/kubelet.crt"
tlsPrivateKeyFile: "{{.Dir}}/pki/kubelet.key"
clusterDomain: cluster.local
clusterDNS: [{{.Address}}]
resolvConf: ""
serializeImagePulls: false
# the machine's disk is not the node's to fill or to guard
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi}
`

const proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: {{.ProxyMode}}
bindAddress: {{.Address}}
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
oomScoreAdj: 0
clientConnection: {kubeconfig: "{{.Dir}}/kube-proxy.kubeconfig"}
detectLocalMode: ClusterCIDR
clusterCIDR: {{.Pods}}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`

// Blocks of their own, since within one the template would answer first. Names
// of the world outside do not exist, and are said not to at once.
const dnsConfig = `cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {
    bind {{.Address}}
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig {{.Dir}}/coredns.kubeconfig
        pods insecure
        ttl 5
    }
    cache 5
    loadbalance
}
{{- if .HasForge}}
{{.Forge}}:53 {
    bind {{.Address}}
    errors
    hosts {
        {{.Address}} {{.Forge}}
    }
}
{{- end}}
.:53 {
    bind {{.Address}}
    template ANY ANY {
        rcode NXDOMAIN
    }
}
`
