//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tools are on every machine that has bash.
var tools = []string{"bash", "env", "sed", "sort", "cat", "mktemp", "rm", "true"}

// prerequisites runs .ci/prerequisites on a machine that has these programs
// and no others besides tools: name to the script that it is. It returns the
// exit code, what was printed, and the calls of apt-get, one a line.
func prerequisites(t *testing.T, purpose string, programs map[string]string) (code int, printed, calls string) {
	t.Helper()
	bin, record := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	for _, name := range tools {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(bin, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!"+filepath.Join(bin, "bash")+"\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script, err := filepath.Abs("../.ci/prerequisites")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "bash", script, purpose)
	cmd.Env = []string{"PATH=" + bin, "CALLS=" + record, "TMPDIR=" + t.TempDir()}
	cmd.Stdout, cmd.Stderr = &out, &out
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	made, _ := os.ReadFile(record)
	return code, out.String(), string(made)
}

const (
	goOf126  = "echo go1.26.8"
	aptGet   = `echo "$RUNLEVEL $*" >>"$CALLS"`
	uid0     = "echo 0"
	uid1000  = "echo 1000"
	succeeds = ":"
	fails    = "exit 1"
)

// TestPrerequisites tries machines that lack this and that.
func TestPrerequisites(t *testing.T) {
	all := map[string]string{
		"uname": "echo Linux", "id": uid0, "go": goOf126, "git": succeeds, "npm": succeeds, "gcc": succeeds,
		"pkg-config": succeeds, "iptables": succeeds, "chromium": succeeds, "gpg": succeeds, "ssh-keygen": succeeds, "promtool": succeeds, "debootstrap": succeeds, "dockerd": succeeds, "ip": succeeds, "ansible-pull": succeeds,
	}
	fresh := map[string]string{"uname": "echo Linux", "id": uid0, "go": goOf126, "git": succeeds, "npm": succeeds, "apt-get": aptGet}
	const toBuild, toTest = "gcc libc6-dev libseccomp-dev pkg-config", " chromium gnupg openssh-client prometheus debootstrap docker.io"
	for _, c := range []struct {
		name     string
		purpose  string
		machine  map[string]string
		change   map[string]string // "" takes a program away
		code     int
		installs string   // the packages that apt-get is called with
		says     []string // what the messages must have
	}{
		{name: "all there", purpose: "test", machine: all},
		{name: "fresh, to build", purpose: "build", machine: fresh, installs: toBuild + " iptables"},
		{name: "fresh, to test", purpose: "test", machine: fresh, installs: toBuild + " iptables" + toTest + " iproute2 ansible-core"},
		{name: "no header", purpose: "build", machine: all, change: map[string]string{"gcc": fails, "apt-get": aptGet}, installs: "gcc libc6-dev libseccomp-dev"},
		{name: "no npm", purpose: "build", machine: all, change: map[string]string{"npm": "", "apt-get": aptGet}, installs: "nodejs npm"},
		{name: "nft will do", purpose: "build", machine: all, change: map[string]string{"iptables": "", "nft": succeeds}},
		{name: "Docker wants iptables", purpose: "test", machine: all, change: map[string]string{"iptables": "", "nft": succeeds, "apt-get": aptGet}, installs: "iptables"},
		{name: "sudo that asks nothing", purpose: "build", machine: fresh, change: map[string]string{"id": uid1000, "sudo": `shift; exec "$@"`}, installs: toBuild},
		{name: "sudo that asks", purpose: "build", machine: fresh, change: map[string]string{"id": uid1000, "sudo": fails}, code: 1,
			says: []string{"sudo apt-get update && sudo env RUNLEVEL=1 apt-get install --no-install-recommends " + toBuild + "\n"}},
		{name: "no sudo", purpose: "test", machine: fresh, change: map[string]string{"id": uid1000}, code: 1, says: []string{toBuild + " chromium gnupg openssh-client prometheus\n"}},
		{name: "Fedora", purpose: "build", machine: fresh, change: map[string]string{"apt-get": "", "dnf": fails}, code: 1,
			says: []string{"dnf install gcc glibc-static libseccomp-devel libseccomp-static pkgconf-pkg-config iptables-nft\n"}},
		{name: "some other system", purpose: "build", machine: fresh, change: map[string]string{"apt-get": ""}, code: 1, says: []string{"libseccomp", "pkg-config", "iptables"}},
		{name: "no Go", purpose: "build", machine: all, change: map[string]string{"go": "", "git": "", "apt-get": aptGet}, code: 1, says: []string{"Go is missing", "missing: git"}},
		{name: "an old Go", purpose: "build", machine: all, change: map[string]string{"go": "echo go1.19.8"}, code: 1, says: []string{"1.19.8"}},
		{name: "apt-get fails", purpose: "build", machine: fresh, change: map[string]string{"apt-get": "echo no such package; exit 100"}, code: 1, says: []string{"no such package", toBuild}},
		{name: "macOS", purpose: "test", machine: all, change: map[string]string{"uname": "echo Darwin", "id": uid1000, "gcc": "", "dockerd": "", "npm": "", "brew": fails}, code: 1,
			says: []string{": brew install node\n"}},
		{name: "no purpose", purpose: "", machine: all, code: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			machine := map[string]string{}
			for _, programs := range []map[string]string{c.machine, c.change} {
				for name, text := range programs {
					machine[name] = text
				}
			}
			for name, text := range machine {
				if text == "" {
					delete(machine, name)
				}
			}
			code, printed, calls := prerequisites(t, c.purpose, machine)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, s := range c.says {
				if !strings.Contains(printed, s) {
					t.Errorf("it does not say %q", s)
				}
			}
			want := ""
			if c.installs != "" {
				want = " update -qq\n1 -o DPkg::Lock::Timeout=120 install -y -qq --no-install-recommends " + c.installs + "\n"
				if !strings.Contains(printed, "installing "+c.installs+"\n") {
					t.Error("it does not say what it installs")
				}
			}
			if calls != want {
				t.Errorf("calls of apt-get: %q, want %q", calls, want)
			}
			if t.Failed() {
				t.Logf("printed:\n%s", printed)
			}
		})
	}
}
