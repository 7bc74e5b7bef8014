package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// certificateYears is longer than any sandbox lives: nothing here renews
	certificateYears = 10
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
	w := writer{dir: dir}
	w.write("ca.crt", encode("CERTIFICATE", ca.cert.Raw))
	key, err := encodeKey(ca.key)
	if err != nil {
		return err
	}
	w.write("ca.key", key)

	cert, key, err := ca.issue("kube-apiserver", "", x509.ExtKeyUsageServerAuth,
		[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		[]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.ParseIP(serviceIP)})
	if err != nil {
		return err
	}
	w.write("apiserver.crt", cert)
	w.write("apiserver.key", key)

	cert, key, err = ca.issue("kube-apiserver-kubelet-client", "system:masters", x509.ExtKeyUsageClientAuth, nil, nil)
	if err != nil {
		return err
	}
	w.write("kubelet-client.crt", cert)
	w.write("kubelet-client.key", key)

	for _, c := range clients {
		cert, key, err := ca.issue(c.user, c.group, x509.ExtKeyUsageClientAuth, nil, nil)
		if err != nil {
			return err
		}
		config := kubeconfig(name, server, encode("CERTIFICATE", ca.cert.Raw), cert, key)
		if err := clientcmd.WriteToFile(*config, filepath.Join(dir, c.file+".kubeconfig")); err != nil {
			return err
		}
	}

	sa, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(sa.Public())
	if err != nil {
		return err
	}
	w.write("sa.key", encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(sa)))
	w.write("sa.pub", encode("PUBLIC KEY", public))
	return w.err
}

// authority is a cluster's own certificate authority.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template(name+"-ca", "")
	t.SerialNumber = big.NewInt(1)
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert, key}, nil
}

// issue returns a new certificate and its key, both as PEM.
func (a *authority) issue(name, group string, usage x509.ExtKeyUsage, dns []string, ips []net.IP) (cert, pemKey []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	t := template(name, group)
	t.SerialNumber = serial
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{usage}
	t.DNSNames, t.IPAddresses = dns, ips
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	pemKey, err = encodeKey(key)
	return encode("CERTIFICATE", der), pemKey, err
}

func template(name, group string) *x509.Certificate {
	subject := pkix.Name{CommonName: name}
	if group != "" {
		subject.Organization = []string{group}
	}
	now := time.Now()
	return &x509.Certificate{
		Subject:   subject,
		NotBefore: now.Add(-time.Hour), // clocks differ between hosts and containers
		NotAfter:  now.AddDate(certificateYears, 0, 0),
	}
}

func kubeconfig(name, server string, ca, cert, key []byte) *clientcmdapi.Config {
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	c.CurrentContext = name
	return c
}

// writer keeps the first error, so that a list of files reads as a list.
type writer struct {
	dir string
	err error
}

func (w *writer) write(name string, content []byte) {
	if w.err == nil {
		w.err = os.WriteFile(filepath.Join(w.dir, name), content, 0o600)
	}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	return encode("EC PRIVATE KEY", der), err
}
