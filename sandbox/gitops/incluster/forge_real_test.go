package incluster

import (
	"context"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/relay"
)

const (
	realUser  = "flux"
	realToken = "t0ken"
	// realPods are the addresses of pods of kind and of embedded clusters.
	realPods = "10.244.0.0/15"
)

// realForge is a git server on this machine's loopback that wants a password,
// with one repository, test/gitops, and its branch dev.
type realForge struct {
	port int
	work string // a clone that pushes
}

func (f realForge) url() string { return "http://localhost:" + portText(f.port) + "/test/gitops" }

func newRealForge(t *testing.T) realForge {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	backend := &cgi.Handler{Path: git, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != realUser || password != realToken {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	f := realForge{port: server.Listener.Addr().(*net.TCPAddr).Port, work: filepath.Join(t.TempDir(), "work")}
	bare := filepath.Join(root, "test", "gitops")
	if err := os.MkdirAll(filepath.Join(f.work, "large"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.git(t, "init", "--quiet", "--bare", bare)
	f.git(t, "init", "--quiet", "--initial-branch=dev")
	f.git(t, "remote", "add", "origin", bare)
	return f
}

func (f realForge) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = f.work
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// push makes the folder large be one ConfigMap with that value.
func (f realForge) push(t *testing.T, value string) string {
	t.Helper()
	manifest := "apiVersion: v1\nkind: Namespace\nmetadata: {name: kalypso-test}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: kalypso-test, namespace: kalypso-test}\ndata: {value: " + value + "}\n"
	if err := os.WriteFile(filepath.Join(f.work, "large", "config.yaml"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	f.git(t, "add", "--all")
	f.git(t, "commit", "--quiet", "--message="+value)
	f.git(t, "push", "--quiet", "origin", "dev")
	return f.git(t, "rev-parse", "HEAD")
}

// startRelay makes the forge listen on the node, until it is stopped.
func startRelay(t *testing.T, command string, port int) (stop func()) {
	t.Helper()
	address := "127.0.0.1:" + portText(port)
	cmd := exec.Command("sh", "-c", "exec "+command+" serve --listen="+address+" --listen=node:"+portText(port)+" --allow="+realPods)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	r := relay.New(relay.Pipe(out, in), func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	})
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx) }()
	limit, done := context.WithTimeout(t.Context(), 30*time.Second)
	defer done()
	listening, err := r.Listening(limit)
	if err != nil {
		t.Error(err)
	}
	t.Logf("the forge listens on %q", listening)
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	}
}
