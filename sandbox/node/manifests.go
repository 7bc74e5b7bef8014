package node

import "fmt"

// manifests are what the cluster has to know about the node's addresses: where
// the API server and DNS are, and what the DNS server may read. The control
// plane is told not to write its own endpoints, since its address is the
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
`, Address, n.APIPort, DNSService, dnsUser)
}

// EgressConfig is the file for the API server's --egress-selector-config-file,
// and its content: everything the API server dials in the cluster goes through
// the node's door. Without it those calls would leave the machine, to whoever
// has these addresses there.
func (n Node) EgressConfig() (file string, content []byte) {
	return n.file("egress.yaml"), fmt.Appendf(nil, `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds: {udsName: %q}
`, n.egress())
}
