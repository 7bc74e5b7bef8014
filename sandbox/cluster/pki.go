package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// certificateYears is longer than any sandbox lives: nothing here renews
	certificateYears = 10
	// clockSkew is between hosts and containers
	clockSkew = time.Hour
	// serviceIP is the first address of the service range, where pods find the
	// API server
	serviceIP = "10.96.0.1"
)

// client is a user that a certificate stands for.
type client struct {
	file, user, group string
}

// clients of the API server, as its authorizers know them
// (kubernetes.io/docs/reference/access-authn-authz/rbac). The controller
// manager would need service-account credentials to do with less than
// system:masters.
var clients = []client{
	{"admin", "admin", "system:masters"},
	{"controller-manager", "system:kube-controller-manager", "system:masters"},
	{"scheduler", "system:kube-scheduler", ""},
}

// ensurePKI writes the keys, certificates and kubeconfigs of a cluster into
// dir, all of them or none. A folder that is there is complete and stays as it
// is: users have kubeconfigs with these certificates.
func ensurePKI(dir, name, server string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), ".pki-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := writePKI(work, name, server); err != nil {
		return fmt.Errorf("certificates of cluster %s: %w", name, err)
	}
	return os.Rename(work, dir)
}

func writePKI(dir, name, server string) error {
	ca, err := newAuthority(name)
	if err != nil {
		return err
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(ca.key)
	if err != nil {
		return err
	}
	sa, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	private, err := keyutil.MarshalPrivateKeyToPEM(sa)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(sa.Public())
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"ca.crt": ca.PEM(), "ca.key": key, "sa.key": private,
		"sa.pub": pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: public}),
	}
	for file, of := range map[string]Identity{
		"apiserver": {
			User: "kube-apiserver", DNS: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
			IPs: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.ParseIP(serviceIP)},
		},
		"kubelet-client": {User: "kube-apiserver-kubelet-client", Group: "system:masters"},
	} {
		if files[file+".crt"], files[file+".key"], err = ca.Issue(of); err != nil {
			return err
		}
	}
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			return err
		}
	}
	for _, c := range clients {
		if err := ca.WriteKubeconfig(filepath.Join(dir, c.file+".kubeconfig"), name, server, Identity{User: c.user, Group: c.group}); err != nil {
			return err
		}
	}
	return nil
}

// Authority is a cluster's own certificate authority.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func newAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name + "-ca", NotBefore: time.Now().Add(-clockSkew)}, key)
	return &Authority{ca, key}, err
}

// LoadAuthority reads the authority of a cluster from its folder of certificates.
func LoadAuthority(dir string) (*Authority, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	if err != nil {
		return nil, err
	}
	return &Authority{pair.Leaf, pair.PrivateKey.(crypto.Signer)}, nil
}

// PEM is the authority's certificate.
func (a *Authority) PEM() []byte { return encode(a.cert.Raw) }

func encode(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}

// Identity is what a certificate is issued for: a server with names and addresses,
// or else a client.
type Identity struct {
	User, Group string
	DNS         []string
	IPs         []net.IP
}

// Issue returns a new certificate and its key, both as PEM.
func (a *Authority) Issue(of Identity) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	t := &x509.Certificate{
		Subject:   pkix.Name{CommonName: of.User},
		NotBefore: now.Add(-clockSkew), NotAfter: now.AddDate(certificateYears, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		DNSNames: of.DNS, IPAddresses: of.IPs,
	}
	if of.Group != "" {
		t.Subject.Organization = []string{of.Group}
	}
	if len(of.IPs) > 0 {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(private)
	return encode(der), key, err
}

// WriteKubeconfig writes the kubeconfig of a client of a cluster, with everything
// in it called by the cluster's name.
func (a *Authority) WriteKubeconfig(file, name, server string, of Identity) error {
	certificate, key, err := a.Issue(of)
	if err != nil {
		return err
	}
	return clientcmd.WriteToFile(*Kubeconfig(name,
		&clientcmdapi.Cluster{Server: server, CertificateAuthorityData: a.PEM()},
		&clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}), file)
}
