package node

import (
	"fmt"
	"net"
	"os"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

const dnsUser = "kalypso:coredns"

// writeIdentities writes the kubelet's serving certificate and a kubeconfig
// for each program, signed by the cluster's authority. They are made anew at
// every start: no other program has them.
func (n Node) writeIdentities() error {
	authority, err := cluster.LoadAuthority(n.PKI)
	if err != nil {
		return fmt.Errorf("authority of cluster %s: %w", n.Cluster, err)
	}
	kubelet := cluster.Identity{User: "system:node:" + n.Cluster, Group: "system:nodes"}
	for program, of := range map[string]cluster.Identity{
		"node": kubelet, "kube-proxy": {User: "system:kube-proxy"}, "coredns": {User: dnsUser},
	} {
		if err := authority.WriteKubeconfig(n.file(program+".kubeconfig"), n.Cluster, "https://"+n.Address(n.Cluster), of); err != nil {
			return err
		}
	}
	kubelet.IPs = []net.IP{net.ParseIP(Address)}
	cert, key, err := authority.Issue(kubelet)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"ca.crt": authority.PEM(), "kubelet.crt": cert, "kubelet.key": key} {
		if err := os.WriteFile(n.file("pki", name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
