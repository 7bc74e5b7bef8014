package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// box is a good Linux machine that a test makes worse.
func box() *System {
	return &System{
		OS: "linux", Arch: "amd64", CPUs: 2, UID: 0, User: "root",
		Env: func(string) string { return "" },
		Files: files(map[string]string{
			"home/tom":                               "/",
			"proc/meminfo":                           "MemTotal:       8388608 kB\nMemFree:          100 kB\nMemAvailable:    4194304 kB\nSwapTotal: 0 kB\nSwapFree:              0 kB\n",
			"proc/self/cgroup":                       "0::/\n",
			"proc/self/ns/net":                       "net:[1]",
			"proc/self/status":                       "Name:\tkalypso\nCapEff:\t000001fffeffffff\n",
			"proc/filesystems":                       "nodev\tproc\nnodev\toverlay\n",
			"proc/sys/kernel/osrelease":              "6.1.0-18-amd64\n",
			"etc/os-release":                         "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
			"sys/fs/cgroup/cgroup.controllers":       "cpuset cpu io memory pids\n",
			"proc/sys/fs/inotify/max_user_instances": "128\n",
			"proc/sys/fs/inotify/max_user_watches":   "192536\n",
		}),
		Now:       func() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) },
		LookPath:  has("git", "apt-get", "iptables"),
		Run:       prints("git version 2.39.5", nil),
		Writable:  func(string) error { return nil },
		Usable:    func(string) error { return nil },
		Space:     func(string) (Space, error) { return Space{Free: 50 * gibi, FreeFiles: 1 << 20, CountsFiles: true}, nil },
		OpenFiles: func() (uint64, error) { return 20000, nil },
		Locked:    func(string) bool { return false },
		Lookup:    func(context.Context, string) ([]string, error) { return []string{"::1", "127.0.0.1"}, nil },
		Listen:    func(string) error { return nil },
		Dial:      func(context.Context, string) error { return errors.New("connection refused") },
		RealNode:  func(string) error { return nil },
		Host:      func(string) error { return nil },
		NodeLeft:  func(string) ([]string, error) { return nil, nil },

		UserNamespace: func(context.Context) error { return nil },
	}
}

// subjectOf is a good kalypso without a sandbox.
func subjectOf() *Subject {
	return &Subject{
		Home: "/home/tom/.kalypso", Socket: "/home/tom/.kalypso/daemon.sock", SocketLimit: 103,
		Lock: "/home/tom/.kalypso/daemon.lock", PIDFile: "/home/tom/.kalypso/daemon.pid", Clusters: 1, LongestCluster: "arc-cluster", Version: "v2",
		Payload: Payload{Platform: "linux/amd64", Names: []string{"flux", "gitea", "kube"}, Packed: 93 * mebi, Missing: 360 * mebi, Files: 1647},
	}
}

// files makes a root folder: a text that begins with "-> " is a link, and "/"
// stands for a folder.
func files(all map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range all {
		switch to, link := strings.CutPrefix(text, "-> "); {
		case link:
			m[name] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
		case text == "/":
			m[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		default:
			m[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		}
	}
	return m
}

// with adds files to a machine; "" removes one.
func (s *System) with(all map[string]string) {
	m := s.Files.(fstest.MapFS)
	for name, file := range files(all) {
		m[name] = file
	}
	for name, text := range all {
		if text == "" {
			delete(m, name)
		}
	}
}

func has(programs ...string) func(string) (string, error) {
	return func(name string) (string, error) {
		for _, p := range programs {
			if p == name {
				return "/usr/bin/" + p, nil
			}
		}
		return "", exec.ErrNotFound
	}
}

func prints(text string, err error) func(context.Context, string, ...string) (string, error) {
	return func(context.Context, string, ...string) (string, error) { return text, err }
}

func environment(set ...string) func(string) string {
	return func(name string) string {
		for _, kv := range set {
			if n, value, _ := strings.Cut(kv, "="); n == name {
				return value
			}
		}
		return ""
	}
}

// situation is a machine and a sandbox that a test has made worse, and what
// one check must say about it.
type situation struct {
	name     string
	change   func(*System, *Subject)
	severity Severity
	says     []string // parts of the finding
}

// examineEach makes one check in each situation.
func examineEach(t *testing.T, check string, all []situation) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			sys, s := box(), subjectOf()
			if c.change != nil {
				c.change(sys, s)
			}
			f := one(t, check).examine(t.Context(), sys, s)
			if f.Severity != c.severity {
				t.Errorf("%s, want %s: %+v", f.Severity, c.severity, f)
			}
			text := f.Found + "\n" + f.Lost + "\n" + f.Fix
			for _, says := range c.says {
				if !strings.Contains(text, says) {
					t.Errorf("does not say %q:\n%s", says, text)
				}
			}
			proper(t, f)
		})
	}
}

func one(t *testing.T, name string) Check {
	t.Helper()
	for _, c := range All() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q", name)
	return Check{}
}

// proper holds what every finding owes its reader.
func proper(t *testing.T, f Finding) {
	t.Helper()
	if f.Check == "" || f.Found == "" {
		t.Errorf("no evidence: %+v", f)
	}
	if f.Severity == OK && f.Lost+f.Fix != "" {
		t.Errorf("something is lost though all is well: %+v", f)
	}
	if f.Severity != OK && f.Lost == "" {
		t.Errorf("does not say what is lost: %+v", f)
	}
	if (f.Severity == Warning || f.Severity == Fatal) && f.Fix == "" {
		t.Errorf("does not say how to mend it: %+v", f)
	}
	if strings.Contains(f.Found+f.Lost+f.Fix, "\n") {
		t.Errorf("more than a line: %+v", f)
	}
}
