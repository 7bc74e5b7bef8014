package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// daemonEnv names the folder of a host that a test's second process is to run.
const daemonEnv = "KALYPSO_TEST_HOST"

func TestMain(m *testing.M) {
	if dir := os.Getenv(daemonEnv); dir != "" {
		runDaemon(dir)
	}
	code := m.Run()
	if relayFolder != "" {
		_ = os.RemoveAll(relayFolder)
	}
	os.Exit(code)
}

// needHosts skips a test where no host can run: without root, Ansible or runc.
func needHosts(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs a host")
	}
	if err := Supported(t.TempDir()); err != nil {
		t.Skip(err)
	}
	if _, err := exec.LookPath("runc"); err != nil && os.Getenv("KALYPSO_TEST_NODE") == "" {
		t.Skip("there is no runc; KALYPSO_TEST_NODE names the folder of the component node")
	}
}

// newHost makes the programs and the folder of a host, which the test's end removes.
func newHost(t *testing.T, port int) Host {
	t.Helper()
	needHosts(t)
	// below /tmp, which no host sees
	base, err := os.MkdirTemp("", "kalypso-host-")
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{"node": filepath.Join(base, "node"), "relay": filepath.Join(base, "relay")}
	for _, dir := range programs {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runc := filepath.Join(os.Getenv("KALYPSO_TEST_NODE"), "runc")
	if os.Getenv("KALYPSO_TEST_NODE") == "" {
		if runc, err = exec.LookPath("runc"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(runc, filepath.Join(programs["node"], "runc")); err != nil {
		t.Fatal(err)
	}
	relay, err := relayProgramBuilt()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(relay, filepath.Join(programs["relay"], "relay")); err != nil {
		t.Fatal(err)
	}
	h := hostIn(base, port)
	t.Cleanup(func() {
		if err := h.Remove(context.Background()); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	return h
}

// relayFolder is where relayProgramBuilt has built it, "" for nowhere.
var relayFolder string

// relayProgramBuilt is the component relay, of the folder KALYPSO_TEST_RELAY or built once.
var relayProgramBuilt = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("KALYPSO_TEST_RELAY"); dir != "" {
		return filepath.Join(dir, "relay"), nil
	}
	var err error
	if relayFolder, err = os.MkdirTemp("", "kalypso-relay-"); err != nil {
		return "", err
	}
	program := filepath.Join(relayFolder, "relay")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "components", "relay")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the relay: %w\n%s", err, out)
	}
	return program, nil
})

// hostIn is the host of a test's folder, in this process and in the second one.
func hostIn(base string, port int) Host {
	return Host{
		Name: "edge-1", Dir: filepath.Join(base, "edge-1"),
		Host: supervisor.Host{
			Env: os.Environ(), Registry: filepath.Join(base, "children"),
			Log:    func(name string) string { return filepath.Join(base, name+".log") },
			Staged: func(component string) string { return filepath.Join(base, component) },
			Port:   func(string) int { return port },
		},
	}
}

// runDaemon has the host run until this process is killed.
func runDaemon(dir string) {
	err := hostIn(dir, 1).run(context.Background(), func(string) {}, func() { fmt.Println("ready") })
	fmt.Println(err)
	os.Exit(1)
}

// start has a host run until the test ends, or stop is called.
func start(t *testing.T, h Host) (stop func()) {
	t.Helper()
	u := h.Unit()
	ctx := t.Context()
	if err := u.Component.Start(ctx); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := u.Component.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	if err := retry.Until(ctx, "host", readyDeadline, func(ctx context.Context) error { return u.Component.Ready(ctx) }); err != nil {
		log, _ := os.ReadFile(h.log())
		t.Fatalf("%v\n%s", err, log)
	}
	return stop
}

// sh runs a command in the host.
func sh(t *testing.T, h Host, script string) string {
	t.Helper()
	out, err := h.Output(t.Context(), nil, "sh", "-c", script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// serve listens on loopback until the test ends.
func serve(t *testing.T, handler http.Handler) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// fingerprint is what a host may not change of the machine: all of /etc and of dpkg's
// database, and of /usr the names, modes, sizes and times of all files, with the content
// of every hundredth.
func fingerprint(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	for _, folder := range []struct {
		path  string
		every int
	}{{"/etc", 1}, {"/var/lib/dpkg", 1}, {"/usr", 100}} {
		n := 0
		err := filepath.WalkDir(folder.path, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			fmt.Fprintln(sum, path, info.Mode(), info.Size(), info.ModTime().UnixNano())
			if n++; !info.Mode().IsRegular() || n%folder.every != 0 {
				return nil
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(sum, f)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
