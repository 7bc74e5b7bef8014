//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestUnusualShell is a sandbox in a home with a space, a letter that is not
// ASCII and a quote, made in a shell whose umask closes everything to others. A
// chapter passes there, and pods of other users than root run, also after starts
// in shells with other umasks. Characters that no sandbox works with are refused
// before anything is made.
func TestUnusualShell(t *testing.T) {
	m := newMachine(t)
	m.home = filepath.Join(m.dir, "user", "ü it's", "home")
	env := m.env
	for _, name := range []string{`a%b`, `a"b`, `a$b`} {
		refused := filepath.Join(m.dir, "user", name)
		m.env = append(env[:len(env):len(env)], "KALYPSO_HOME="+refused)
		if out, err := m.try("up"); err == nil || out.code != 2 || out.took > time.Second {
			t.Errorf("a home %q: exit code %d after %s\n%s", name, out.code, out.took, out.all())
		}
		if _, err := os.Stat(refused); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a home %q: %v", name, err)
		}
	}
	m.env = append(env[:len(env):len(env)], "KALYPSO_HOME="+m.home)
	m.umask = "077"
	t.Logf("first up: %.2f s", m.up().took.Seconds())
	m.podOfAnotherUser(t)
	if out, err := m.try("scenario", "run", "onboard-app"); err != nil {
		t.Errorf("%v\n%s", err, out.all())
	}
	for _, umask := range []string{"002", "022", "027"} {
		m.run("down")
		m.umask = umask
		t.Logf("up with umask %s: %.2f s", umask, m.up().took.Seconds())
		m.podOfAnotherUser(t)
		if info, err := os.Stat(m.home); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("umask %s: the home: %v, %v", umask, info, err)
		}
	}
	m.run("down", "--delete")
	if left, err := os.ReadDir(filepath.Dir(m.home)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// podOfAnotherUser runs the sample application as a user that is not root, from an
// image whose files a closed umask would have closed to it.
func (m *machine) podOfAnotherUser(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return // the nodes are simulated, and their pods do not run
	}
	registry := strings.TrimPrefix(m.credentials().URL, "http://")
	file := filepath.Join(m.dir, "pod.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: Pod
metadata: {name: another-user, namespace: default}
spec:
  securityContext: {runAsUser: 4242, runAsNonRoot: true}
  containers: [{name: app, image: "%s/kalypso/kalypso-app-src/hello-world:0.0.1-0"}]
`, registry), 0o600); err != nil {
		t.Fatal(err)
	}
	m.run("kubectl", "--context", "drone", "apply", "--filename", file)
	out, err := m.try("kubectl", "--context", "drone", "--namespace", "default", "wait", "--for=condition=Ready", "pod/another-user", "--timeout=45s")
	if err != nil {
		t.Errorf("umask %s: %v\n%s%s", m.umask, err, out.all(), m.run("kubectl", "--context", "drone", "--namespace", "default", "describe", "pod", "another-user").stdout)
	}
	m.run("kubectl", "--context", "drone", "delete", "--filename", file, "--now")
}
