package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/node"
)

func TestPayload(t *testing.T) {
	examineEach(t, "payload", []situation{
		{"packed", nil, OK, []string{"flux, gitea, kube for linux/amd64, 93 MiB packed"}},
		{"none", func(_ *System, s *Subject) { s.Payload = Payload{Err: components.ErrNoPayload} }, Fatal, []string{"built without its payload", "`make build`"}},
		{"unreadable", func(_ *System, s *Subject) { s.Payload = Payload{Err: errors.New("parse manifest.json: x")} }, Fatal, []string{"manifest.json", "make build"}},
		{"of another machine", func(_ *System, s *Subject) { s.Payload.Platform = "darwin/arm64" }, Fatal, []string{"darwin/arm64", "linux/amd64"}},
	})
}

func TestGit(t *testing.T) {
	says := func(text string) func(*System, *Subject) {
		return func(sys *System, _ *Subject) { sys.Run = prints(text, nil) }
	}
	examineEach(t, "git", []situation{
		{"good", nil, OK, []string{"git 2.39.5 at /usr/bin/git"}},
		{"Apple's", says("git version 2.39.5 (Apple Git-154)"), OK, []string{"git 2.39.5 at"}},
		{"two numbers", says("git version 2.50"), OK, []string{"git 2.50.0 at"}},
		{"a build", says("git version 2.31.0.618.gf4bc123cb7"), OK, []string{"git 2.31.0 at"}},
		{"old", says("git version 2.30.9"), Warning, []string{"2.30.9", "scenarios cannot log in", "2.31"}},
		{"oldest", says("git version 2.6.0"), Warning, []string{"2.6.0"}},
		{"too old", says("git version 2.5.99"), Fatal, []string{"2.5.99", "too old", "2.31"}},
		{"of the last age", says("git version 1.99"), Fatal, []string{"1.99.0"}},
		{"the one with the bug", says("git version 2.43.1"), Fatal, []string{"2.43.1", "refuses"}},
		{"beside the bug", says("git version 2.43.0"), OK, nil},
		{"strange", says("usage: git"), Fatal, []string{`"usage: git"`, "`apt-get install git`"}},
		{"missing", func(sys *System, _ *Subject) { sys.LookPath = has("apt-get") }, Fatal, []string{"not installed", "Gitea", "`apt-get install git`"}},
		{"missing, not root", func(sys *System, _ *Subject) { sys.LookPath, sys.UID = has("dnf"), 7 }, Fatal, []string{"`sudo dnf install git`"}},
		{"missing on a Mac", func(sys *System, _ *Subject) { sys.LookPath, sys.UID = has("brew"), 7 }, Fatal, []string{"`brew install git`"}},
		{"missing, and who knows", func(sys *System, _ *Subject) { sys.LookPath = has() }, Fatal, []string{"install the package git"}},
		{"broken", func(sys *System, _ *Subject) {
			sys.Run = prints("", errors.New("exit status 127: libz.so.1 is missing"))
		}, Fatal, []string{"libz.so.1", "/usr/bin/git"}},
	})
}

func TestGitIdentity(t *testing.T) {
	examineEach(t, "git identity", []situation{
		{"good", nil, OK, nil},
		{"no name", complains("fatal: empty ident name not allowed"), Warning, []string{"empty ident name", "user.name", "user.email"}},
		{"no git", func(sys *System, _ *Subject) { sys.LookPath, sys.Run = has(), nil }, OK, nil}, // another check says so
	})
}

// The real git is asked, as one who has just installed it.
func TestGitIdentityOfANewUser(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		known  bool
	}{
		"nobody": {"[user]\n\tuseConfigOnly = true\n", false},
		"tom":    {"[user]\n\tname = Tom\n\temail = tom@example.com\n", true},
	} {
		file := filepath.Join(t.TempDir(), "gitconfig")
		if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("GIT_CONFIG_GLOBAL", file)
		t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
		for _, variable := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "EMAIL"} {
			t.Setenv(variable, "")
			os.Unsetenv(variable)
		}
		if err := GitIdentity(t.Context(), Machine()); (err == nil) != c.known {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHome(t *testing.T) {
	on := func(space Space) func(*System, *Subject) {
		return func(sys *System, _ *Subject) { sys.Space = func(string) (Space, error) { return space, nil } }
	}
	examineEach(t, "home", []situation{
		{"to be made", nil, OK, []string{"/home/tom/.kalypso can be made", "30 of 103 bytes"}},
		{"there", func(sys *System, _ *Subject) { sys.with(map[string]string{"home/tom/.kalypso": "/"}) }, OK, []string{"/home/tom/.kalypso can be written"}},
		{"no place", func(_ *System, s *Subject) { s.Home, s.HomeError = "", errors.New("KALYPSO_HOME /x is too long") }, Fatal, []string{"too long", "set KALYPSO_HOME"}},
		{"other things", func(_ *System, s *Subject) { s.Others = errors.New("/home holds other things already (thesis)") }, Fatal, []string{"thesis", "another folder"}},
		{"a file", func(sys *System, _ *Subject) { sys.with(map[string]string{"home/tom/.kalypso": "x"}) }, Fatal, []string{"is not a folder"}},
		{"root's", func(sys *System, _ *Subject) {
			sys.User = "tom"
			sys.with(map[string]string{"home/tom/.kalypso": "/"})
			sys.Writable = func(path string) error { return fmt.Errorf("permission denied for %s", path) }
		}, Fatal, []string{"/home/tom/.kalypso cannot be written by tom (permission denied for /home/tom/.kalypso)", "sudo chown -R tom /home/tom/.kalypso"}},
		{"noexec", on(Space{NoExec: true}), Fatal, []string{"noexec"}},
		{"a network drive", on(Space{Remote: "NFS"}), Warning, []string{"NFS", "disk of this machine"}},
		{"a strange drive", func(sys *System, _ *Subject) {
			sys.Space = func(string) (Space, error) { return Space{}, errors.New("stale handle") }
		}, Warning, []string{"stale handle"}},
	})
}

// above its own folder the sandbox has nothing to give away, least of all "/"
func TestHomeNamesOnlyItself(t *testing.T) {
	sys, s := box(), subjectOf()
	s.Home = "/h"
	sys.Writable = func(string) error { return errors.New("permission denied") }
	f := one(t, "home").examine(t.Context(), sys, s)
	if f.Severity != Fatal || strings.Contains(f.Fix, "chown") {
		t.Errorf("%+v", f)
	}
	proper(t, f)
}

func TestDisk(t *testing.T) {
	free := func(bytes uint64) func(*System, *Subject) {
		return func(sys *System, _ *Subject) {
			sys.Space = func(string) (Space, error) { return Space{Free: bytes}, nil }
		}
	}
	const needed = 520 * mebi // 360 unpacked and 160 of data
	examineEach(t, "disk", []situation{
		{"plenty", nil, OK, []string{"50 GiB free at /home/tom", "520 MiB are needed"}},
		{"just enough to begin with", free(needed), Warning, []string{"520 MiB free", "logs and clusters grow", "make room"}},
		{"enough", free(needed + roomyData), OK, nil},
		{"too little", free(needed - 1), Fatal, []string{"519 MiB free", "520 MiB are needed"}},
		{"no more files", func(sys *System, _ *Subject) {
			sys.Space = func(string) (Space, error) { return Space{Free: 50 * gibi, FreeFiles: 3000, CountsFiles: true}, nil }
		}, Fatal, []string{"3000 more files", "3647"}},
		{"files without number", free(50 * gibi), OK, nil},
		{"a sandbox that is there", func(sys *System, s *Subject) {
			free(roomyData)(sys, s)
			s.Ports, s.Payload.Missing = map[string]int{"gitea": 1}, 0
		}, OK, []string{"1 GiB free"}},
		{"a sandbox that is there and full", func(sys *System, s *Subject) {
			free(0)(sys, s)
			s.Ports, s.Payload.Missing = map[string]int{"gitea": 1}, 0
		}, Warning, []string{"0 MiB free"}},
		{"unknown", func(sys *System, _ *Subject) {
			sys.Space = func(string) (Space, error) { return Space{}, errors.New("stale handle") }
		}, Warning, []string{"stale handle"}},
		{"no home", func(_ *System, s *Subject) { s.Home = "" }, Note, []string{"see home"}},
	})
}

func TestMemory(t *testing.T) {
	available := func(mib, swap int) map[string]string {
		return map[string]string{"proc/meminfo": fmt.Sprintf("MemTotal: 2097152 kB\nMemAvailable: %d kB\nSwapFree: %d kB\nHugePages_Total: 0\n", mib<<10, swap<<10)}
	}
	have := func(mib, swap int) func(*System, *Subject) {
		return func(sys *System, _ *Subject) { sys.with(available(mib, swap)) }
	}
	group := func(files map[string]string) func(*System, *Subject) {
		return func(sys *System, _ *Subject) { sys.with(files) }
	}
	examineEach(t, "memory", []situation{
		{"plenty", nil, OK, []string{"4 GiB available of 8 GiB", "a sandbox uses about 1536 MiB"}},
		{"enough", have(1536, 0), OK, nil},
		{"little", have(1535, 0), Warning, []string{"1535 MiB available of 2 GiB", "slow"}},
		{"too little", have(767, 0), Fatal, []string{"767 MiB", "1536 MiB"}},
		{"too little with swap", have(767, 1000), Warning, nil},
		{"enough for simulated nodes", func(sys *System, s *Subject) { have(1280, 0)(sys, s); sys.RealNode = cannot }, OK, []string{"1280 MiB"}},
		{"enough for kind", func(sys *System, s *Subject) { have(512+2*1229, 0)(sys, s); s.Provider, s.Clusters = kind, 2 }, OK, []string{"2970 MiB"}},
		{"little for kind", func(sys *System, s *Subject) { have(512+2*1229-1, 0)(sys, s); s.Provider, s.Clusters = kind, 2 }, Warning, nil},
		{"kind on a Mac", func(sys *System, s *Subject) {
			sys.OS, sys.Files, sys.Run = "darwin", files(nil), prints("17179869184", nil)
			s.Provider, s.Clusters = kind, 2
		}, OK, []string{"a sandbox uses about 512 MiB"}},
		{"clusters elsewhere", func(sys *System, s *Subject) { have(512, 0)(sys, s); s.Provider = "existing" }, OK, nil},
		{"little for two clusters", func(sys *System, s *Subject) { have(2559, 0)(sys, s); s.Clusters = 2 }, Warning, []string{"2560 MiB"}},
		{"little beside a running sandbox", func(sys *System, s *Subject) {
			sys.with(available(200, 0))
			s.Daemon = &Daemon{Resident: 900 * mebi}
		}, OK, []string{"200 MiB available", "the sandbox's 900 MiB"}},
		{"none beside a running sandbox", func(sys *System, s *Subject) {
			sys.with(available(100, 0))
			s.Daemon = &Daemon{Resident: 900 * mebi}
		}, Warning, []string{"end parts"}},
		{"a container, v2", group(map[string]string{
			"sys/fs/cgroup/memory.max": "1073741824\n", "sys/fs/cgroup/memory.current": "838860800\n",
			"sys/fs/cgroup/memory.stat": "anon 1\ninactive_file 104857600\n",
		}), Fatal, []string{"324 MiB left of the 1 GiB that this control group may use"}},
		{"a group above", group(map[string]string{
			"proc/self/cgroup":                    "0::/user/shell\n",
			"sys/fs/cgroup/user/shell/memory.max": "max\n", "sys/fs/cgroup/user/memory.max": "943718400\n", "sys/fs/cgroup/user/memory.current": "0\n",
		}), Warning, []string{"900 MiB left of the 900 MiB"}},
		{"a container, v1", group(map[string]string{
			"proc/self/cgroup":                           "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "943718400\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "209715200\n",
			"sys/fs/cgroup/memory/memory.stat":           "cache 1\ntotal_inactive_file 104857600\n",
		}), Warning, []string{"800 MiB left of the 900 MiB"}},
		{"no limit, v1", group(map[string]string{
			"proc/self/cgroup":                           "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}), OK, []string{"4 GiB available"}},
		{"a limit above what there is", group(map[string]string{"sys/fs/cgroup/memory.max": "8000000000\n", "sys/fs/cgroup/memory.current": "0\n"}), OK, []string{"available of 8 GiB"}},
		{"a Mac", func(sys *System, _ *Subject) {
			sys.OS, sys.Files, sys.Run = "darwin", files(nil), prints("17179869184", nil)
		}, OK, []string{"16 GiB in all"}},
		{"a small Mac", func(sys *System, _ *Subject) {
			sys.OS, sys.Files, sys.Run = "darwin", files(nil), prints("2147483648", nil)
		}, Warning, []string{"2 GiB in all"}},
		{"who knows", func(sys *System, _ *Subject) { sys.Files, sys.Run = files(nil), prints("", errors.New("no sysctl")) }, Note, []string{"not known"}},
	})
}

func TestOpenFiles(t *testing.T) {
	limit := func(n uint64) func(*System, *Subject) {
		return func(sys *System, _ *Subject) { sys.OpenFiles = func() (uint64, error) { return n, nil } }
	}
	examineEach(t, "open files", []situation{
		{"plenty", nil, OK, []string{"20000"}},
		{"no limit", limit(1<<64 - 1), OK, []string{"no limit"}},
		{"enough", limit(1024), OK, nil},
		{"few", limit(1023), Warning, []string{"1023", "`prlimit --pid $$ --nofile=4096`"}},
		{"few, not root", func(sys *System, s *Subject) { limit(256)(sys, s); sys.UID = 7 }, Warning, []string{"`sudo prlimit"}},
		{"too few", limit(255), Fatal, []string{"255", "etcd"}},
		{"unknown", func(sys *System, _ *Subject) {
			sys.OpenFiles = func() (uint64, error) { return 0, errors.New("not here") }
		}, Note, []string{"not here"}},
	})
}

func TestInotify(t *testing.T) {
	limits := func(instances, watches string) map[string]string {
		return map[string]string{"proc/sys/fs/inotify/max_user_instances": instances, "proc/sys/fs/inotify/max_user_watches": watches}
	}
	examineEach(t, "inotify", []situation{
		{"plenty", nil, OK, []string{"0 of 128 instances in use, 192536 watches", "a cluster with its node needs 11 and 109"}},
		{"simulated nodes", func(sys *System, _ *Subject) { sys.RealNode = cannot; sys.with(limits("11", "1028")) }, OK, []string{"needs 3 and 4"}},
		{"used", func(sys *System, _ *Subject) {
			sys.with(map[string]string{"proc/7/fd/3": "-> anon_inode:inotify", "proc/7/fd/4": "-> socket:[7]", "proc/9/fd/1": "-> anon_inode:inotify"})
		}, OK, []string{"2 of 128 instances"}},
		{"just enough", func(sys *System, _ *Subject) { sys.with(limits("19", "1133")) }, OK, nil},
		{"too few instances", func(sys *System, _ *Subject) { sys.with(limits("18", "1133")) }, Warning, []string{"0 of 18", "nodes do not start", "`sysctl fs.inotify.max_user_instances=512`"}},
		{"not even for the node", func(sys *System, _ *Subject) { sys.with(limits("10", "1133")) }, Fatal, []string{"0 of 10", "nodes do not start", "`sysctl fs.inotify.max_user_instances=512`"}},
		{"used by others of this user", func(sys *System, _ *Subject) {
			sys.with(limits("12", "1133"))
			sys.with(map[string]string{"proc/7/fd/3": "-> anon_inode:inotify", "proc/9/fd/1": "-> anon_inode:inotify"})
		}, Fatal, []string{"2 of 12"}},
		{"not even the watches", func(sys *System, _ *Subject) { sys.with(limits("128", "108")) }, Fatal, []string{"108 watches"}},
		{"of a user namespace", func(sys *System, _ *Subject) {
			sys.with(map[string]string{"proc/sys/user/max_inotify_instances": "5\n"})
		}, Fatal, []string{"0 of 5"}},
		{"no node to fail", func(sys *System, _ *Subject) { sys.RealNode = cannot; sys.with(limits("2", "2")) }, Warning, nil},
		{"not for a single node of kind", func(sys *System, s *Subject) {
			sys.with(limits("31", "1824"))
			s.Provider = kind
		}, Fatal, []string{"too many open files"}},
		{"for two clusters", func(sys *System, s *Subject) { sys.with(limits("29", "2000")); s.Clusters = 2 }, Warning, nil},
		{"for one of two clusters", func(sys *System, s *Subject) { sys.with(limits("21", "2000")); s.Clusters = 2 }, Fatal, nil},
		{"just enough for kind", func(sys *System, s *Subject) {
			sys.with(limits("72", "1824"))
			s.Provider, s.Clusters = kind, 2
		}, OK, []string{"needs 32 and 400"}},
		{"too few for kind", func(sys *System, s *Subject) {
			sys.with(limits("71", "1824"))
			s.Provider, s.Clusters = kind, 2
		}, Warning, []string{"too many open files", "`sysctl fs.inotify.max_user_instances=512`"}},
		{"too few watches for kind", func(sys *System, s *Subject) {
			sys.with(limits("512", "1823"))
			s.Provider, s.Clusters = kind, 2
		}, Warning, []string{"`sysctl fs.inotify.max_user_watches=524288`"}},
		{"clusters elsewhere", func(sys *System, s *Subject) { sys.with(limits("1", "1")); s.Provider = "existing" }, OK, []string{"not of this machine"}},
		{"for those that run", func(sys *System, s *Subject) { sys.with(limits("8", "2000")); s.Clusters, s.Daemon = 2, &Daemon{} }, OK, nil},
		{"too few watches", func(sys *System, _ *Subject) { sys.with(limits("128", "1132")); sys.UID = 7 }, Warning, []string{"1132 watches", "`sudo sysctl fs.inotify.max_user_watches=524288`"}},
		{"unknown", func(sys *System, _ *Subject) { sys.with(limits("", "")) }, Note, []string{"cannot be read"}},
		{"a Mac", func(sys *System, _ *Subject) { sys.OS = "darwin" }, OK, []string{"not limited"}},
	})
}

func TestLoopback(t *testing.T) {
	is := func(all ...string) func(*System, *Subject) {
		return func(sys *System, _ *Subject) {
			sys.Lookup = func(context.Context, string) ([]string, error) { return all, nil }
		}
	}
	examineEach(t, "loopback", []situation{
		{"good", nil, OK, []string{"localhost is 127.0.0.1 and ::1"}},
		{"twice", is("127.0.0.1", "127.0.0.1"), OK, []string{"localhost is 127.0.0.1"}},
		{"only v6", is("::1"), Fatal, []string{"localhost is ::1 and not 127.0.0.1", "/etc/hosts"}},
		{"elsewhere", is("10.0.0.1"), Fatal, []string{"10.0.0.1"}},
		{"unknown", func(sys *System, _ *Subject) {
			sys.Lookup = func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") }
		}, Fatal, []string{"no such host", "/etc/hosts"}},
		{"down", func(sys *System, _ *Subject) { sys.Listen = func(string) error { return errors.New("cannot assign") } }, Fatal, []string{"127.0.0.1 takes no listener (cannot assign)", "ip link set lo up"}},
	})
}

func TestProxy(t *testing.T) {
	env := func(set ...string) func(*System, *Subject) {
		return func(sys *System, _ *Subject) { sys.Env = environment(set...) }
	}
	examineEach(t, "proxy", []situation{
		{"none", nil, OK, []string{"no proxy is set"}},
		{"catches all", env("http_proxy=http://tom:hush@proxy:3128/"), Warning, []string{"http_proxy is proxy:3128, also for localhost and 127.0.0.1", "`export no_proxy=localhost,127.0.0.1`"}},
		{"kept out", env("http_proxy=proxy:3128", "no_proxy=.corp,localhost, 127.0.0.1"), OK, []string{"no_proxy keeps localhost out"}},
		{"kept out in capitals", env("ALL_PROXY=socks5://proxy:1", "NO_PROXY=localhost,127.0.0.0/8"), OK, []string{"ALL_PROXY is proxy:1", "NO_PROXY keeps"}},
		{"kept out of all", env("http_proxy=proxy:3128", "no_proxy=*"), OK, nil},
		{"half", env("http_proxy=proxy:3128", "NO_PROXY=LOCALHOST"), Warning, []string{"also for 127.0.0.1", "`export NO_PROXY=127.0.0.1,$NO_PROXY`"}},
		{"the small letters count", env("http_proxy=proxy:3128", "no_proxy=corp", "NO_PROXY=*"), Warning, []string{"$no_proxy"}},
		{"another domain", env("http_proxy=proxy:3128", "no_proxy=.localhost,127.0.0.11,10.0.0.0/8"), Warning, nil},
		{"for https only", env("HTTPS_PROXY=http://proxy:3128"), OK, []string{"HTTPS_PROXY is proxy:3128"}},
		{"nonsense", env("http_proxy=http://tom:hush@pro xy"), Warning, []string{"http_proxy is set"}},
	})
	f := one(t, "proxy").examine(t.Context(), &System{Env: environment("http_proxy=http://tom:hush@proxy:3128")}, subjectOf())
	if got := fmt.Sprint(f); !strings.Contains(got, "proxy:3128") || strings.Contains(got, "hush") {
		t.Errorf("shows a password: %s", got)
	}
}

// cannot is a machine's answer that has no real nodes.
func cannot(string) error {
	return &node.UnsupportedError{Problem: "a real node needs root", Remedy: "run kalypso as root"}
}

func TestHosts(t *testing.T) {
	has := func(err error) func(*System, *Subject) {
		return func(sys *System, s *Subject) {
			s.Host = "edge-1"
			sys.Host = func(dir string) error {
				if dir != s.Home+"/clusters/edge-1/node" {
					return fmt.Errorf("the folder %s", dir)
				}
				return err
			}
		}
	}
	examineEach(t, "hosts", []situation{
		{"none", func(sys *System, _ *Subject) { sys.Host = cannot }, OK, []string{"none"}},
		{"they run", has(nil), OK, nil},
		{"they cannot", has(&node.UnsupportedError{Problem: "no Ansible", Remedy: "install it"}), Warning, []string{"no Ansible", "simulated", "install it"}},
	})
}

func TestNode(t *testing.T) {
	fails := func(err error) func(string) error { return func(string) error { return err } }
	examineEach(t, "node", []situation{
		{"real", nil, OK, []string{"clusters get real nodes"}},
		{"a user's", func(sys *System, _ *Subject) { sys.RealNode, sys.UID = cannot, 7 }, Warning, []string{"a real node needs root", "simulated nodes, without logs", "run kalypso as root"}},
		{"without a packet filter", func(sys *System, _ *Subject) {
			sys.LookPath = has("apk")
			sys.RealNode = fails(&node.UnsupportedError{Problem: "neither iptables nor nft is installed", Remedy: "install one"})
		}, Warning, []string{"neither iptables nor nft", "`apk add iptables`"}},
		{"a Mac's", func(sys *System, _ *Subject) {
			sys.OS = "darwin"
			sys.RealNode = fails(&node.UnsupportedError{Problem: "a real node needs Linux", Remedy: "use a simulated node"})
		}, Warning, []string{"needs Linux"}},
		{"strange", func(sys *System, _ *Subject) { sys.RealNode = fails(errors.New("open /proc/self/mounts: no")) }, Warning, []string{"/proc/self/mounts"}},
		{"no home", func(_ *System, s *Subject) { s.Home = "" }, Note, []string{"see home"}},
	})
	var asked string
	sys := box()
	sys.RealNode = func(dir string) error { asked = dir; return nil }
	one(t, "node").examine(t.Context(), sys, subjectOf())
	if want := "/home/tom/.kalypso/clusters/arc-cluster/node"; asked != want {
		t.Errorf("asks for %s, want %s", asked, want)
	}
}

func TestPlatform(t *testing.T) {
	examineEach(t, "system", []situation{
		{"Linux", nil, OK, []string{"linux/amd64, kernel 6.1.0-18-amd64, Debian GNU/Linux 12 (bookworm), 2 cores"}},
		{"bare Linux", func(sys *System, _ *Subject) { sys.Files, sys.CPUs = files(nil), 1 }, OK, []string{"linux/amd64, 1 core"}},
		{"macOS", func(sys *System, _ *Subject) { sys.OS, sys.Arch, sys.Run = "darwin", "arm64", prints("15.1", nil) }, Note, []string{"darwin/arm64, macOS 15.1", "simulated nodes"}},
		{"another", func(sys *System, _ *Subject) { sys.OS = "freebsd" }, Warning, []string{"never been tried"}},
		{"another processor", func(sys *System, _ *Subject) { sys.Arch = "riscv64" }, Warning, []string{"linux/riscv64"}},
	})
}

func TestUser(t *testing.T) {
	examineEach(t, "user", []situation{
		{"root", nil, OK, []string{"root"}},
		{"a user", func(sys *System, _ *Subject) { sys.UID, sys.User = 1000, "tom" }, Note, []string{"tom, not root", "simulated nodes"}},
	})
}

func TestCgroup(t *testing.T) {
	readOnly := func(sys *System) { sys.Writable = func(p string) error { return errors.New("read-only: " + p) } }
	examineEach(t, "cgroup", []situation{
		{"v2", nil, OK, []string{"v2; /sys/fs/cgroup can be written"}},
		{"v2 without some", func(sys *System, _ *Subject) {
			sys.with(map[string]string{"sys/fs/cgroup/cgroup.controllers": "cpuset cpu io\n"})
		}, Note, []string{"v2 without memory, pids", "limits of pods"}},
		{"v2 of a user", func(sys *System, _ *Subject) { sys.UID = 7; readOnly(sys) }, OK, []string{"v2; only root"}},
		{"v2 of a container", func(sys *System, _ *Subject) { readOnly(sys) }, Note, []string{"v2; /sys/fs/cgroup cannot be written (read-only: /sys/fs/cgroup)", "simulated nodes"}},
		{"v1", func(sys *System, _ *Subject) {
			sys.with(map[string]string{"sys/fs/cgroup/cgroup.controllers": "", "sys/fs/cgroup/memory": "/"})
		}, OK, []string{"v1; /sys/fs/cgroup/memory can be written"}},
		{"hybrid, read-only", func(sys *System, _ *Subject) {
			sys.with(map[string]string{"sys/fs/cgroup/cgroup.controllers": "", "sys/fs/cgroup/memory": "/", "sys/fs/cgroup/unified": "/"})
			readOnly(sys)
		}, Note, []string{"v1, with v2 beside it", "read-only", "mount /sys/fs/cgroup so that"}},
		{"none", func(sys *System, _ *Subject) { sys.Files = files(nil) }, Note, []string{"none are mounted"}},
		{"a Mac", func(sys *System, _ *Subject) { sys.OS = "darwin" }, Note, []string{"darwin"}},
	})
}

func TestKernel(t *testing.T) {
	examineEach(t, "kernel", []situation{
		{"good", nil, OK, []string{"has overlayfs, network namespaces, iptables, CAP_SYS_ADMIN and CAP_NET_ADMIN"}},
		{"not root", func(sys *System, _ *Subject) {
			sys.UID, sys.LookPath = 7, has()
			sys.with(map[string]string{"usr/sbin/nft": "x", "proc/self/status": "CapEff:\t0000000000000000\n"})
		}, OK, []string{"has overlayfs, network namespaces, nft"}},
		{"no packet filter", func(sys *System, _ *Subject) { sys.LookPath = has("apk") }, Note, []string{"lacks iptables or nftables; has overlayfs", "`apk add iptables`"}},
		{"no overlay", func(sys *System, _ *Subject) { sys.with(map[string]string{"proc/filesystems": "\text4\n"}) }, Note, []string{"lacks overlayfs", "`modprobe overlay`"}},
		{"a container's root", func(sys *System, _ *Subject) {
			sys.with(map[string]string{"proc/self/status": "CapEff:\t00000000a80425fb\n"})
		}, Note, []string{"lacks CAP_SYS_ADMIN"}},
		{"nothing", func(sys *System, _ *Subject) { sys.Files, sys.LookPath, sys.UID = files(nil), has(), 7 }, Note, []string{"lacks overlayfs, network namespaces, iptables or nftables"}},
		{"a Mac", func(sys *System, _ *Subject) { sys.OS = "darwin" }, Note, []string{"not Linux"}},
	})
}
