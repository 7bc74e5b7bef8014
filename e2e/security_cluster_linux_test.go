//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// nodeAddress is where the servers of a node listen, in its own network.
const nodeAddress = "10.245.250.1"

// clusterListeners are those of embedded clusters.
var clusterListeners = []knownListener{
	{process: "etcd", space: "machine", network: "unix", address: `{home}/etcd\.sock`},
	{process: "drone", space: "machine", network: "tcp", address: `127\.0\.0\.1:{drone}`},
	{process: "large", space: "machine", network: "tcp", address: `127\.0\.0\.1:{large}`},

	// the two ways between machine and node
	{process: "node-.*", space: "machine", network: "unix", address: `{home}/clusters/(drone|large)/node/ingress`},
	{process: "init", space: "node", network: "unix", address: `{home}/clusters/(drone|large)/node/egress`},
	{process: "init", space: "node", network: "tcp", address: `(127\.0\.0\.1|10\.245\.250\.1):({drone}|{large}|{gitea}|{argocd-large})`},

	{process: "kubelet", space: "node", network: "tcp", address: `10\.245\.250\.1:10250`},
	{process: "kube-proxy", space: "node", network: "tcp", address: `127\.0\.0\.1:(10249|10256)`},
	{process: "coredns", space: "node", network: "tcp", address: `10\.245\.250\.1:53`},
	{process: "coredns", space: "node", network: "udp", address: `10\.245\.250\.1:53`},
	{process: "containerd", space: "node", network: "unix", address: `{home}/clusters/(drone|large)/node/containerd\.sock(\.ttrpc)?`},
	// it carries exec, attach and port-forward to who knows the path of one use
	{process: "containerd", space: "node", network: "tcp", address: `127\.0\.0\.1:\d+`},
	{process: "containerd-shim-runc-v2", space: "node", network: "unix", address: `/run/containerd/s/[0-9a-f]+`, optional: true},
	{process: "kubelet", space: "node", network: "unix", address: `/var/lib/kubelet/device-plugins/kubelet\.sock`},
	// it gets its name, kubelet.sock, when it already listens
	{process: "kubelet", space: "node", network: "unix", address: `/var/lib/kubelet/pod-resources/\d+`},
}

// TestClusterListeners tries what listens of a sandbox's clusters as another
// user of the machine would, and as a page in a browser.
func TestClusterListeners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	m := newMachine(t)
	// all that leads to the home is open, and so is the home at first
	for _, d := range []string{m.dir, filepath.Dir(m.home), m.home} {
		if err := errors.Join(os.MkdirAll(d, 0o755), os.Chmod(d, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	m.up()
	m.settle()
	for _, part := range []struct {
		name string
		run  func(*testing.T, *machine)
	}{
		{"Table", func(t *testing.T, m *machine) {
			checkListeners(t, m, slices.Concat(clusterListeners, serviceListeners))
		}},
		{"Files", filesOfOthers},
		{"Arguments", secretsInArguments},
		{"Sockets", socketsOfOthers},
		{"Etcd", etcdOfOthers},
		{"APIServer", anonymousRequests},
		{"Kubelet", kubeletOfOthers},
	} {
		t.Run(part.name, func(t *testing.T) {
			m.t = t
			part.run(t, m)
		})
		m.t = t
	}
}

// filesOfOthers walks the home as another user: nothing of it can be read or
// entered.
func filesOfOthers(t *testing.T, m *machine) {
	checked := 0
	err := filepath.WalkDir(m.home, func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		checked++
		return err
	})
	if err != nil || checked < 100 {
		t.Fatalf("%d files in the home: %v", checked, err)
	}
	asNobody(t, func() {
		if _, err := os.ReadDir(filepath.Dir(m.home)); err != nil {
			t.Errorf("the test shows nothing: another user cannot even come to the home: %v", err)
		}
		for _, path := range []string{"", "kubeconfig", "sandbox.json", "clusters/drone/pki/admin.kubeconfig", "clusters/drone/pki/ca.key", "logs/daemon.log"} {
			if f, err := os.Open(filepath.Join(m.home, path)); !errors.Is(err, fs.ErrPermission) {
				f.Close()
				t.Errorf("another user opens %s: %v", filepath.Join(m.home, path), err)
			}
		}
	})
	// what is worth most has its own lock, too
	err = filepath.WalkDir(m.home, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has just gone
		}
		name := filepath.Base(path)
		ownSocket := strings.HasSuffix(name, ".sock") && filepath.Dir(path) == m.home
		if !strings.HasSuffix(name, ".key") && !strings.HasSuffix(name, "kubeconfig") && name != "sandbox.json" && !ownSocket {
			return nil
		}
		if info, err := e.Info(); err == nil && e.Type()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 && !within(m, path) {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// within reports whether a file is a node's or a container's, below the folder of
// the node, whose own mode holds others off.
func within(m *machine, path string) bool {
	rel, err := filepath.Rel(filepath.Join(m.home, "clusters"), path)
	return err == nil && strings.Contains(rel, "/node/var/")
}

// secretsInArguments looks for the sandbox's passwords and keys where every user
// sees them.
func secretsInArguments(t *testing.T, m *machine) {
	b, err := os.ReadFile(filepath.Join(m.home, "sandbox.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state map[string]any
	m.decode(string(b), &state)
	secrets := map[string]string{}
	for _, account := range []string{"admin", "scheduler", "robot"} {
		secrets[account], _ = state[account].(map[string]any)["password"].(string)
	}
	for _, name := range []string{"argoCDPassword", "webhookSecret", "giteaSecret", "giteaInternal", "giteaJWT"} {
		secrets[name], _ = state[name].(string)
	}
	for _, p := range descendants(t, m.status().PID) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		if err != nil {
			continue // it has just ended
		}
		for name, secret := range secrets {
			if secret == "" {
				t.Fatalf("no secret %s in the state", name)
			}
			if bytes.Contains(line, []byte(secret)) {
				t.Errorf("everybody can read %s in the arguments of %s", name, p.program)
			}
		}
	}
}

// socketsOfOthers dials every unix socket: no other user may connect, and in the
// machine's abstract name space, where files' modes do not count, is none.
func socketsOfOthers(t *testing.T, m *machine) {
	tried := 0
	for _, l := range listeners(t, m) {
		if l.network != "unix" || l.space == "pod" {
			continue
		}
		if strings.HasPrefix(l.address, "@") {
			t.Errorf("everybody in its network may connect: %s", l)
			continue
		}
		// a node's own files are seen through its process only
		path := l.address
		if !strings.HasPrefix(path, m.home) {
			path = filepath.Join("/proc", strconv.Itoa(l.pid), "root", path)
		}
		if c, err := dialAsNobody(t, "unix", path); !errors.Is(err, fs.ErrPermission) {
			if c != nil {
				c.Close()
			}
			t.Errorf("another user gets %v: %s", err, l)
		}
		tried++
	}
	if tried < 8 {
		t.Errorf("only %d sockets", tried)
	}
}

// etcdOfOthers plays what made any local user the administrator: a write past
// the API server, through etcd's JSON gateway, on whatever port.
func etcdOfOthers(t *testing.T, m *machine) {
	binding, err := json.Marshal(map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": "everybody"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:unauthenticated"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	put, err := json.Marshal(map[string]any{
		"key":   base64.StdEncoding.EncodeToString([]byte("/drone/clusterrolebindings/everybody")),
		"value": base64.StdEncoding.EncodeToString(binding),
	})
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, l := range listeners(t, m) {
		if l.space != "machine" || l.network != "tcp" {
			continue
		}
		if l.process == "etcd" {
			t.Errorf("etcd is on a network: %s", l)
		}
		for _, scheme := range []string{"http", "https"} {
			for path, body := range map[string]string{"/v3/kv/put": string(put), "/v3/kv/range": `{"key":"AA==","range_end":"AA=="}`, "/raft": "x", "/members": ""} {
				// what a form of a page in a browser can send
				code, answer := tryAsNobody(t, scheme, l.address, http.MethodPost, path, body)
				if code >= 200 && code < 300 && (strings.Contains(answer, "revision") || strings.Contains(answer, "peerURLs")) {
					t.Errorf("%s answers %d to %s %s: %s", l.address, code, scheme, path, answer)
				}
			}
			tried++
		}
	}
	if tried == 0 {
		t.Error("no port tried")
	}
	// not even its owner gets the gateway, or has peers
	client := &http.Client{Timeout: dialLimit, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(m.home, "etcd.sock"))
	}}}
	for path, want := range map[string]int{"/health": http.StatusOK, "/v3/kv/range": http.StatusNotFound, "/raft": http.StatusNotFound, "/members": http.StatusNotFound} {
		r, err := client.Post("http://etcd"+path, "text/plain", strings.NewReader(`{"key":"AA=="}`))
		if path == "/health" {
			r, err = client.Get("http://etcd" + path)
		}
		if err != nil {
			t.Error(err)
			continue
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("etcd answers its owner %d to %s, want %d", r.StatusCode, path, want)
		}
	}
	out := m.run("kubectl", "--context", "drone", "get", "clusterrolebindings", "-o", "name").stdout
	if strings.Contains(out, "everybody") {
		t.Error("another user has made himself administrator")
	}
}

// tryAsNobody makes a request as another user, with the Host and the Origin of
// a page elsewhere. A code of 0 means no answer.
func tryAsNobody(t *testing.T, scheme, address, method, path, body string) (code int, answer string) {
	t.Helper()
	c, err := dialAsNobody(t, "tcp", address)
	if err != nil {
		t.Errorf("%s does not take connections: %v", address, err)
		return 0, ""
	}
	defer c.Close()
	r, err := askForeign(c, scheme, method, path, body)
	if err != nil {
		return 0, ""
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%s lets pages elsewhere read %s", address, path)
	}
	return r.StatusCode, string(b)
}

// askForeign speaks over a connection, to a server of whatever certificate.
func askForeign(c net.Conn, scheme, method, path, body string, certificates ...tls.Certificate) (*http.Response, error) {
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if scheme == "https" {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, Certificates: certificates})
	}
	r, err := http.NewRequest(method, "http://elsewhere.example"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Origin", "http://elsewhere.example")
	r.Header.Set("Content-Type", "text/plain")
	if err := r.Write(c); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(c), r)
}

// anonymousRequests asks the API servers without a certificate or a token.
func anonymousRequests(t *testing.T, m *machine) {
	for _, name := range []string{"drone", "large"} {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(m.ports()[name]))
		for _, path := range []string{
			"/", "/api", "/apis", "/version", "/healthz", "/livez", "/readyz", "/metrics", "/openapi/v2", "/openapi/v3",
			"/.well-known/openid-configuration", "/openid/v1/jwks", "/debug/pprof/", "/logs/", "/api/v1/secrets", "/api/v1/nodes/" + name + "/proxy/pods",
		} {
			if code, answer := tryAsNobody(t, "https", address, http.MethodGet, path, ""); code != http.StatusUnauthorized {
				t.Errorf("%s: %d for %s: %.200s", name, code, path, answer)
			}
		}
		if code, answer := tryAsNobody(t, "https", address, http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "{}"); code != http.StatusUnauthorized {
			t.Errorf("%s: %d for a new binding: %.200s", name, code, answer)
		}
	}
}

// kubeletOfOthers asks a node's servers: from the machine nobody else comes to
// them, and in the node's network the kubelet asks for a certificate, and then
// the API server whether its owner may.
func kubeletOfOthers(t *testing.T, m *machine) {
	if !slices.ContainsFunc(listeners(t, m), func(l listener) bool { return l.space == "node" }) {
		t.Skip("the nodes of this machine are simulated")
	}
	// a network may answer for addresses that nobody has, but not as this node
	if c, err := dialAsNobody(t, "tcp", net.JoinHostPort(nodeAddress, "10250")); err == nil {
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(dialLimit))
		server := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		if err := server.Handshake(); err == nil && strings.HasPrefix(server.ConnectionState().PeerCertificates[0].Subject.CommonName, "system:node:") {
			t.Error("a kubelet can be reached from the machine's network")
		}
	}
	egress := filepath.Join(m.home, "clusters", "drone", "node", "egress")
	ask := func(path string, certificates ...tls.Certificate) (int, string) {
		t.Helper()
		c, err := connectThrough(egress, net.JoinHostPort(nodeAddress, "10250"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		r, err := askForeign(c, "https", http.MethodGet, path, "", certificates...)
		if err != nil {
			return 0, err.Error()
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		return r.StatusCode, string(b)
	}
	pki := filepath.Join(m.home, "clusters", "drone", "pki")
	apiServer, err := tls.LoadX509KeyPair(filepath.Join(pki, "kubelet-client.crt"), filepath.Join(pki, "kubelet-client.key"))
	if err != nil {
		t.Fatal(err)
	}
	dns := certificateIn(t, filepath.Join(m.home, "clusters", "drone", "node", "coredns.kubeconfig"))
	for _, path := range []string{"/pods", "/healthz", "/metrics", "/stats/summary", "/configz", "/logs/", "/exec/default/x/y?command=id", "/debug/pprof/"} {
		if code, answer := ask(path); code != http.StatusUnauthorized {
			t.Errorf("without a certificate: %d for %s: %.200s", code, path, answer)
		}
		if code, answer := ask(path, dns); code != http.StatusForbidden {
			t.Errorf("with that of the DNS server: %d for %s: %.200s", code, path, answer)
		}
	}
	if code, answer := ask("/pods", apiServer); code != http.StatusOK {
		t.Errorf("with that of the API server: %d: %.200s", code, answer)
	}
	for _, port := range []string{"10255", "10248"} {
		if c, err := connectThrough(egress, net.JoinHostPort(nodeAddress, port)); err == nil {
			c.Close()
			t.Errorf("something listens on the node's port %s", port)
		}
		if c, err := connectThrough(egress, net.JoinHostPort("127.0.0.1", port)); err == nil {
			c.Close()
			t.Errorf("something listens on port %s of the node's loopback", port)
		}
	}
}

// connectThrough connects to an address in a node by the way of the API server.
func connectThrough(egress, address string) (net.Conn, error) {
	c, err := net.DialTimeout("unix", egress, dialLimit)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(c, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", address); err != nil {
		c.Close()
		return nil, err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodConnect})
	if err == nil && r.StatusCode != http.StatusOK {
		err = errors.New(r.Status)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func certificateIn(t *testing.T, kubeconfig string) tls.Certificate {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		c, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	t.Fatalf("%s has no user", kubeconfig)
	return tls.Certificate{}
}
