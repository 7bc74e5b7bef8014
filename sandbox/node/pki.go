package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	dnsUser = "kalypso:coredns"
	// certificateYears is longer than a sandbox is used
	certificateYears = 10
)

// identities are the users that the node's programs are to the API server.
func (n Node) identities() []identity {
	return []identity{
		{"node", "system:node:" + n.Cluster, "system:nodes"},
		{"kube-proxy", "system:kube-proxy", ""},
		{"coredns", dnsUser, ""},
	}
}

type identity struct{ file, user, group string }

// writeIdentities writes the kubelet's serving certificate and a kubeconfig
// for each program, signed by the cluster's authority. They are made anew at
// every start: no other program has them.
func (n Node) writeIdentities() error {
	authority, err := tls.LoadX509KeyPair(filepath.Join(n.PKI, "ca.crt"), filepath.Join(n.PKI, "ca.key"))
	if err != nil {
		return fmt.Errorf("authority of cluster %s: %w", n.Cluster, err)
	}
	ca := encode("CERTIFICATE", authority.Certificate[0])
	cert, key, err := issue(authority, "system:node:"+n.Cluster, "system:nodes", x509.ExtKeyUsageServerAuth)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"ca.crt": ca, "kubelet.crt": cert, "kubelet.key": key} {
		if err := os.WriteFile(n.file("pki", name), content, 0o600); err != nil {
			return err
		}
	}
	for _, id := range n.identities() {
		cert, key, err := issue(authority, id.user, id.group, x509.ExtKeyUsageClientAuth)
		if err != nil {
			return err
		}
		c := clientcmdapi.NewConfig()
		c.Clusters[n.Cluster] = &clientcmdapi.Cluster{Server: n.server(), CertificateAuthorityData: ca}
		c.AuthInfos[id.file] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
		c.Contexts[n.Cluster] = &clientcmdapi.Context{Cluster: n.Cluster, AuthInfo: id.file}
		c.CurrentContext = n.Cluster
		if err := clientcmd.WriteToFile(*c, n.file(id.file+".kubeconfig")); err != nil {
			return err
		}
	}
	return nil
}

func issue(authority tls.Certificate, user, group string, usage x509.ExtKeyUsage) (cert, key []byte, err error) {
	parent, err := x509.ParseCertificate(authority.Certificate[0])
	if err != nil {
		return nil, nil, err
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: user},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(certificateYears, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{usage},
	}
	if group != "" {
		t.Subject.Organization = []string{group}
	}
	if usage == x509.ExtKeyUsageServerAuth {
		t.IPAddresses = []net.IP{net.ParseIP(Address)}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, private.Public(), authority.PrivateKey)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", pkcs8), err
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
