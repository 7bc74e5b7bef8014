package node

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"text/template"

	"github.com/kalypso-dev/kalypso/sandbox/node/simulated"
)

// PauseImage holds the namespaces of a pod, and does nothing. It is made here of
// the component's program pause, and never pulled.
const PauseImage = "kalypso.internal/pause:1"

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
// by trying: the kubelet refuses cgroup version 1 by default; a container
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
	if s.Node.Port("gitea") != 0 {
		host := fmt.Sprintf("localhost:%d", s.Node.Port("gitea"))
		// containerd would try https first under any name but localhost
		files["registries/"+host+"/hosts.toml"] = fmt.Appendf(nil, "server = \"http://%[1]s\"\n\n[host.\"http://%[1]s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", host)
	}
	return files, nil
}

func (s settings) render(name, text string) ([]byte, error) {
	t, err := template.New(name).Option("missingkey=error").Funcs(template.FuncMap{"quote": quote, "corefile": corefileQuote}).Parse(text)
	if err != nil {
		return nil, err
	}
	data := map[string]any{
		"Dir": s.Node.Dir, "Socket": s.Node.containerd(), "Cgroup": s.Cgroup,
		"Endpoint":  (&url.URL{Scheme: "unix", Path: s.Node.containerd()}).String(),
		"ProxyMode": s.ProxyMode, "Snapshotter": s.Snapshotter,
		"Pause": PauseImage, "CNI": cniVersion,
		"Address": Address, "Pods": PodNetwork, "Forge": ForgeName,
		"HasForge": s.Node.Port("gitea") != 0, "KubeletPort": kubeletPort,
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}

// quote writes a text as a string of JSON, which is one of YAML and TOML, too.
func quote(text string) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(text)
	return strings.TrimSpace(b.String()), err
}

// corefileQuote writes a text as a token of a Corefile, whose only escape is that
// of a quotation mark. What it cannot express is no path of a home.
func corefileQuote(text string) (string, error) {
	if strings.ContainsAny(text, "\\\n") || strings.Contains(text, "{$") || strings.Contains(text, "{%") {
		return "", fmt.Errorf("the path %q cannot be written into the configuration of CoreDNS: set KALYPSO_HOME to another path", text)
	}
	return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`, nil
}

const containerdConfig = `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.nri.v1.nri"]

[grpc]
  address = {{quote .Socket}}

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "{{.Snapshotter}}"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{{.Pause}}"
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = {{quote (print .Dir "/registries")}}

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
    conf_dir = {{quote (print .Dir "/cni")}}
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
containerRuntimeEndpoint: {{quote .Endpoint}}
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: false}
  x509: {clientCAFile: {{quote (print .Dir "/pki/ca.crt")}}}
authorization: {mode: Webhook}
tlsCertFile: {{quote (print .Dir "/pki/kubelet.crt")}}
tlsPrivateKeyFile: {{quote (print .Dir "/pki/kubelet.key")}}
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
clientConnection: {kubeconfig: {{quote (print .Dir "/kube-proxy.kubeconfig")}}}
detectLocalMode: ClusterCIDR
clusterCIDR: {{.Pods}}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`

// Blocks of their own, since within one the template would answer first. Names
// of hosts outside of the node do not exist, and are refused at once.
const dnsConfig = `cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {
    bind {{.Address}}
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig {{corefile (print .Dir "/coredns.kubeconfig")}}
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

// manifests are what the cluster has to know about the node's addresses: where
// the API server and DNS are, and what the DNS server may read. The control
// plane is configured not to write its own endpoints, since its address is the
// machine's loopback.
func (n Node) manifests() []byte {
	return fmt.Appendf(nil, `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: kubernetes
  namespace: default
  labels: {kubernetes.io/service-name: kubernetes}
addressType: IPv4
endpoints:
- addresses: [%[1]q]
  conditions: {ready: true}
ports:
- {name: https, port: %[2]d, protocol: TCP}
---
apiVersion: v1
kind: Service
metadata:
  name: kube-dns
  namespace: kube-system
  labels: {k8s-app: kube-dns, kubernetes.io/name: CoreDNS}
spec:
  clusterIP: %[3]q
  ports:
  - {name: dns, port: 53, protocol: UDP}
  - {name: dns-tcp, port: 53, protocol: TCP}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: kube-dns
  namespace: kube-system
  labels: {kubernetes.io/service-name: kube-dns}
addressType: IPv4
endpoints:
- addresses: [%[1]q]
  conditions: {ready: true}
ports:
- {name: dns, port: 53, protocol: UDP}
- {name: dns-tcp, port: 53, protocol: TCP}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: system:coredns
rules:
- apiGroups: [""]
  resources: [endpoints, services, pods, namespaces]
  verbs: [list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: system:coredns
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:coredns}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: %[4]q}
`, Address, n.Port(n.Cluster), DNSService, dnsUser)
}

// EgressConfig is the file for the API server's --egress-selector-config-file,
// and its content: everything the API server dials in the cluster goes through
// the node's socket. Without it those calls would leave the machine, to the
// hosts that have these addresses in its network.
func (n Node) EgressConfig() (file string, content []byte) {
	return n.file("egress.yaml"), simulated.EgressSelector(n.egress())
}
