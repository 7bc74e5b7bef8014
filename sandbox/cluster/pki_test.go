package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func certificate(t *testing.T, b []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(b)
	if block == nil {
		t.Fatal("not PEM")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPKIServesAndIdentifies(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	if err := ensurePKI(dir, "drone", "https://127.0.0.1:6443"); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil || !roots.AppendCertsFromPEM(ca) {
		t.Fatal("no CA", err)
	}
	server, err := tls.LoadX509KeyPair(filepath.Join(dir, "apiserver.crt"), filepath.Join(dir, "apiserver.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"127.0.0.1", "localhost", "10.96.0.1", "kubernetes.default.svc"} {
		if _, err := server.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("API server's certificate for %s: %v", name, err)
		}
	}
	for _, c := range clients {
		config, err := clientcmd.LoadFromFile(filepath.Join(dir, c.file+".kubeconfig"))
		if err != nil {
			t.Fatal(err)
		}
		if config.CurrentContext != "drone" || config.Clusters["drone"].Server != "https://127.0.0.1:6443" {
			t.Errorf("%s: context %q, server %q", c.file, config.CurrentContext, config.Clusters["drone"].Server)
		}
		cert := certificate(t, config.AuthInfos["drone"].ClientCertificateData)
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
			t.Errorf("%s: %v", c.file, err)
		}
		if cert.Subject.CommonName != c.user {
			t.Errorf("%s is %q, want %q", c.file, cert.Subject.CommonName, c.user)
		}
		if c.group != "" && (len(cert.Subject.Organization) != 1 || cert.Subject.Organization[0] != c.group) {
			t.Errorf("%s is in %q, want %q", c.file, cert.Subject.Organization, c.group)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others: %v", f.Name(), info.Mode())
		}
	}
}

func TestPKIStaysAndIsNeverHalf(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c", "pki")
	if err := ensurePKI(dir, "c", "https://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := ensurePKI(dir, "c", "https://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil || string(before) != string(after) {
		t.Error("the authority was replaced", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".pki-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestMergedKubeconfigHasAllContexts(t *testing.T) {
	e := Embedded{Dir: t.TempDir()}
	for i, name := range []string{"drone", "large"} {
		if err := ensurePKI(e.pki(name), name, fmt.Sprintf("https://127.0.0.1:%d", 7000+i)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := MergeKubeconfigs([]string{"drone", "large"}, e.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(b)
	if err != nil {
		t.Fatal(err)
	}
	if config.CurrentContext != "drone" || len(config.Contexts) != 2 {
		t.Errorf("current %q of %d contexts", config.CurrentContext, len(config.Contexts))
	}
	for i, name := range []string{"drone", "large"} {
		c := config.Contexts[name]
		if c == nil || config.Clusters[c.Cluster].Server != fmt.Sprintf("https://127.0.0.1:%d", 7000+i) || config.AuthInfos[c.AuthInfo] == nil {
			t.Errorf("context %s: %+v", name, c)
		}
	}
	// one that has never been started has no context yet
	b, err = MergeKubeconfigs([]string{"none", "large"}, e.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config, err = clientcmd.Load(b)
	if err != nil || config.CurrentContext != "large" || len(config.Contexts) != 1 {
		t.Errorf("%+v, %v", config, err)
	}
}
