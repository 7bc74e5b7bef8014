package attached

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

// userKubeconfig is one as users have them: files beside it, more than one
// context, a program that logs in.
const userKubeconfig = `apiVersion: v1
kind: Config
current-context: two
contexts:
- {name: one, context: {cluster: c1, user: u1, namespace: elsewhere}}
- {name: two, context: {cluster: c2, user: u2}}
- {name: half, context: {user: u1}}
clusters:
- {name: c1, cluster: {server: "https://10.0.0.1:6443", certificate-authority: pki/ca.crt, tls-server-name: api}}
- {name: c2, cluster: {server: "https://10.0.0.2:6443", proxy-url: "http://proxy.example:1"}}
users:
- {name: u1, user: {client-certificate: pki/me.crt, client-key: pki/me.key, tokenFile: token}}
- name: u2
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, args: [a], env: [{name: HTTPS_PROXY, value: "http://mine.example:1"}], interactiveMode: Never}
`

func userKubeconfigFile(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pki"), 0o700); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "config")
	for name, content := range map[string]string{"pki/ca.crt": "CA", "pki/me.crt": "ME", "pki/me.key": "KEY", "config": userKubeconfig} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, file
}

func TestKubeconfigOfItsOwn(t *testing.T) {
	dir, file := userKubeconfigFile(t)
	t.Setenv("HOME", "/the/user")
	t.Setenv("HTTPS_PROXY", "http://other.example:1")
	t.Setenv("XDG_CONFIG_HOME", "")
	out := filepath.Join(dir, "clusters", "drone", "admin.kubeconfig")
	missing := filepath.Join(dir, "missing")
	if err := (Source{[]string{missing, file}, "one"}).write("drone", out); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	c, err := clientcmd.LoadFromFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Contexts) != 1 || len(c.Clusters) != 1 || len(c.AuthInfos) != 1 || c.CurrentContext != "drone" || c.Contexts["drone"].Namespace != "" {
		t.Errorf("%+v", c)
	}
	if there := c.Clusters["drone"]; there.Server != "https://10.0.0.1:6443" || string(there.CertificateAuthorityData) != "CA" || there.CertificateAuthority != "" || there.TLSServerName != "api" {
		t.Errorf("%+v", there)
	}
	// a token that is renewed stays where it is
	if user := c.AuthInfos["drone"]; string(user.ClientCertificateData) != "ME" || string(user.ClientKeyData) != "KEY" || user.TokenFile != filepath.Join(dir, "token") {
		t.Errorf("%+v", user)
	}

	if err := (Source{[]string{file}, "two"}).write("drone", out); err != nil {
		t.Fatal(err)
	}
	if c, err = clientcmd.LoadFromFile(out); err != nil {
		t.Fatal(err)
	}
	login := c.AuthInfos["drone"].Exec
	env := map[string]string{}
	for _, v := range login.Env {
		env[v.Name] = v.Value
	}
	if login.Command != filepath.Join(dir, "login") || env["HOME"] != "/the/user" || env["HTTPS_PROXY"] != "http://mine.example:1" {
		t.Errorf("%+v", login)
	}
	if c.Clusters["drone"].ProxyURL != "http://proxy.example:1" {
		t.Errorf("%+v", c.Clusters["drone"])
	}
}

func TestKubeconfigThatDoesNotDo(t *testing.T) {
	dir, file := userKubeconfigFile(t)
	for context, says := range map[string]string{"none": "there is no context none in " + file, "half": "it names no cluster"} {
		if err := (Source{[]string{file}, context}).write("drone", filepath.Join(dir, "out")); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", context, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "pki", "ca.crt")); err != nil {
		t.Fatal(err)
	}
	if err := (Source{[]string{file}, "one"}).write("drone", filepath.Join(dir, "out")); err == nil || !strings.Contains(err.Error(), "ca.crt") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("something has been written")
	}
}

func TestContexts(t *testing.T) {
	dir, file := userKubeconfigFile(t)
	other := writeKubeconfig(t, t.TempDir(), "http://x")
	all, err := Contexts([]string{file, other, filepath.Join(dir, "missing")})
	if diff := cmp.Diff([]string{"half", "mine", "one", "other", "two"}, all); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if err := os.WriteFile(file, []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Contexts([]string{file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Error(err)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", "/the/user")
	t.Setenv("KUBECONFIG", "")
	if f, err := Files(); err != nil || !slices.Equal(f, []string{"/the/user/.kube/config"}) {
		t.Errorf("%q, %v", f, err)
	}
	t.Setenv("KUBECONFIG", strings.Join([]string{"a", "", "/b"}, string(os.PathListSeparator)))
	if f, err := Files(); err != nil || !slices.Equal(f, []string{filepath.Join(dir, "a"), "/b"}) {
		t.Errorf("%q, %v", f, err)
	}
}

func TestEnvironmentOfReconcilers(t *testing.T) {
	_, file := userKubeconfigFile(t)
	for name, value := range map[string]string{"AWS_PROFILE": "p", "GOOGLE_APPLICATION_CREDENTIALS": "g", "GIT_DIR": "x", "KUBECONFIG": "x", "GOGC": "1", "HTTP_PROXY": "x"} {
		t.Setenv(name, value)
	}
	p := &Provider{Sources: map[string]Source{"one": {[]string{file}, "one"}, "two": {[]string{file}, "two"}, "gone": {[]string{file}, "gone"}}}
	base := []string{"HOME=/sandbox"}
	for _, name := range []string{"one", "gone"} {
		if env := p.Environment(name, base); !slices.Equal(env, base) {
			t.Errorf("%s, where no program logs in: %q", name, env)
		}
	}
	env := p.Environment("two", base)
	for _, want := range []string{"HOME=/sandbox", "AWS_PROFILE=p", "GOOGLE_APPLICATION_CREDENTIALS=g"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
	for _, kv := range env[1:] {
		for _, out := range []string{"HOME=", "GIT_", "KUBECONFIG", "GOGC", "HTTP_PROXY"} {
			if strings.HasPrefix(kv, out) {
				t.Errorf("%s would change what the reconciler does", kv)
			}
		}
	}
}
