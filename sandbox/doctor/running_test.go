package doctor

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// tcpLine is one of /proc/net/tcp.
func tcpLine(local, state, inode string) string {
	return "   0: " + local + " 00000000:0000 " + state + " 00000000:00000000 00:00000000 00000000     0        0 " + inode + " 1 0000000000000000 100 0 0 10 0\n"
}

func TestListeners(t *testing.T) {
	const any6 = "00000000000000000000000000000000"
	for _, c := range []struct {
		name, line string
		port       int
	}{
		{"loopback", tcpLine("0100007F:4E20", "0A", "7"), 20000},
		{"everywhere", tcpLine("00000000:4E20", "0A", "7"), 20000},
		{"everywhere, v6", tcpLine(any6+":4E20", "0A", "7"), 20000},
		{"loopback, mapped", tcpLine("0000000000000000FFFF00000100007F:4E20", "0A", "7"), 20000},
		{"loopback of v6 alone", tcpLine("00000000000000000000000001000000:4E20", "0A", "7"), 0},
		{"another address", tcpLine("0500007F:4E20", "0A", "7"), 0},
		{"a connection", tcpLine("0100007F:4E20", "01", "7"), 0},
		{"the heading", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n", 0},
		{"nothing", "\n", 0},
		{"nonsense", tcpLine("0100007F:XYZ", "0A", "7"), 0},
	} {
		port, inode, ok := listener(c.line)
		if ok != (c.port != 0) || port != c.port && ok || ok && inode != "7" {
			t.Errorf("%s: port %d, inode %q, %v", c.name, port, inode, ok)
		}
	}
}

func TestPorts(t *testing.T) {
	kept := map[string]int{"gitea": 20000, "etcd": 20001, "flux": 20002}
	// taken makes a process listen at gitea's port
	taken := func(sys *System, s *Subject) {
		s.Ports = kept
		sys.with(map[string]string{
			"proc/net/tcp": tcpLine("0100007F:4E20", "0A", "7") + tcpLine("0100007F:1F90", "0A", "8"),
			"proc/44/comm": "nginx\n", "proc/44/fd/9": "-> socket:[7]", "proc/44/exe": "-> /usr/sbin/nginx", "proc/44/cmdline": "nginx\x00-g\x00",
		})
	}
	examineEach(t, "ports", []situation{
		{"none yet", nil, OK, []string{"none kept yet"}},
		{"free", func(sys *System, s *Subject) { s.Ports = kept }, OK, []string{"all 3 are free"}},
		{"another program", taken, Fatal, []string{"port 20000, kept for gitea, is used by nginx (process 44)", "gitea cannot start", "down --delete"}},
		{"another program beside a sandbox", func(sys *System, s *Subject) { taken(sys, s); s.Daemon = &Daemon{PID: 1} }, Fatal, []string{"nginx"}},
		{"the daemon's", func(sys *System, s *Subject) { taken(sys, s); s.Daemon = &Daemon{PID: 44} }, OK, []string{"1 of 3 in use, all by this sandbox"}},
		{"a component's", func(sys *System, s *Subject) { taken(sys, s); s.Daemon = &Daemon{PID: 1, Processes: []int{44}} }, OK, nil},
		{"an orphan's", func(sys *System, s *Subject) { taken(sys, s); s.Children = map[string]int{"gitea": 44} }, OK, []string{"1 of 3 in use by an earlier run"}},
		{"one of our programs", func(sys *System, s *Subject) {
			taken(sys, s)
			sys.with(map[string]string{"proc/44/exe": "-> /home/tom/.kalypso/components/gitea-1/gitea"})
		}, OK, nil},
		{"a folder with a similar name", func(sys *System, s *Subject) {
			taken(sys, s)
			sys.with(map[string]string{"proc/44/exe": "-> /home/tom/.kalypso2/gitea"})
		}, Fatal, nil},
		{"a daemon's that is dying", func(sys *System, s *Subject) {
			taken(sys, s)
			sys.with(map[string]string{"home/tom/.kalypso/daemon.pid": "44", "proc/44/cmdline": "/bin/kalypso\x00daemon\x00--workshop\x00x\x00"})
		}, OK, []string{"earlier run"}},
		{"a process with the daemon's old ID", func(sys *System, s *Subject) {
			taken(sys, s)
			sys.with(map[string]string{"home/tom/.kalypso/daemon.pid": "44"})
		}, Fatal, nil},
		{"who knows", func(sys *System, s *Subject) {
			taken(sys, s)
			sys.with(map[string]string{"proc/44/fd/9": ""})
		}, Fatal, []string{"another user", "gitea cannot start"}},
		{"who knows, beside a sandbox", func(sys *System, s *Subject) {
			taken(sys, s)
			sys.with(map[string]string{"proc/44/fd/9": ""})
			s.Daemon = &Daemon{PID: 1}
		}, OK, nil},
		{"a Mac's", func(sys *System, s *Subject) {
			s.Ports, sys.OS = kept, "darwin"
			sys.Dial = func(_ context.Context, address string) error {
				if address == "127.0.0.1:20001" {
					return nil
				}
				return errors.New("connection refused")
			}
		}, Warning, []string{"port 20001, kept for etcd"}},
	})
}

func TestDaemon(t *testing.T) {
	left := func(what ...string) func(*System, *Subject) {
		return func(sys *System, _ *Subject) {
			sys.with(map[string]string{"home/tom/.kalypso/clusters/drone/node": "/", "home/tom/.kalypso/clusters/etcd": "/"})
			sys.NodeLeft = func(dir string) ([]string, error) {
				if dir != "/home/tom/.kalypso/clusters/drone/node" {
					return nil, errors.New("asked for " + dir)
				}
				return what, nil
			}
		}
	}
	examineEach(t, "daemon", []situation{
		{"nothing", nil, OK, []string{"nothing is left of an earlier run"}},
		{"after down", func(sys *System, _ *Subject) {
			sys.with(map[string]string{"home/tom/.kalypso/daemon.lock": "x", "home/tom/.kalypso/daemon.pid": "44"})
		}, OK, nil},
		{"running", func(_ *System, s *Subject) { s.Daemon = &Daemon{PID: 44, Version: "v2", Processes: []int{1, 2}} }, OK, []string{"runs as process 44, with 2 others"}},
		{"running, too busy to say its version", func(_ *System, s *Subject) { s.Daemon = &Daemon{PID: 44} }, OK, nil},
		{"another version", func(_ *System, s *Subject) { s.Daemon = &Daemon{PID: 44, Version: "v1"} }, Note, []string{"of kalypso v1, this is v2", "`kalypso down`, then `kalypso up`"}},
		{"deaf", func(sys *System, _ *Subject) {
			sys.Locked = func(path string) bool { return path == "/home/tom/.kalypso/daemon.lock" }
			sys.with(map[string]string{"home/tom/.kalypso/daemon.pid": "44"})
		}, Warning, []string{"process 44 runs this sandbox and does not answer", "kalypso down"}},
		{"deaf and unknown", func(sys *System, _ *Subject) { sys.Locked = func(string) bool { return true } }, Warning, []string{"another process"}},
		{"orphans", func(_ *System, s *Subject) { s.Children = map[string]int{"gitea": 7, "etcd": 9} }, Warning, []string{"etcd (process 9), gitea (process 7)", "`kalypso down` ends them"}},
		{"nodes", left("process 7 (kubelet)", "control group /sys/fs/cgroup/kalypso-node/0a"), Warning,
			[]string{"process 7 (kubelet), control group /sys/fs/cgroup/kalypso-node/0a", "`kalypso down` removes them"}},
		{"much of nodes, not root", func(sys *System, s *Subject) { left("a", "b", "c", "d", "e")(sys, s); sys.UID = 7 }, Warning,
			[]string{"a, b, c and 2 more", "`sudo KALYPSO_HOME=/home/tom/.kalypso kalypso down`"}},
		{"a node beside its sandbox", func(sys *System, s *Subject) { left("a")(sys, s); s.Daemon = &Daemon{PID: 44} }, OK, nil},
		{"a node that cannot be seen", func(sys *System, s *Subject) {
			left()(sys, s)
			sys.NodeLeft = func(string) ([]string, error) { return nil, errors.New("no /proc") }
		}, Warning, []string{"/home/tom/.kalypso/clusters/drone/node cannot be looked at (no /proc)"}},
		{"our programs", func(sys *System, _ *Subject) {
			sys.with(map[string]string{"proc/44/exe": "-> /home/tom/.kalypso/components/kube-1/kube", "proc/44/comm": "kubectl\n", "proc/45/exe": "-> /usr/bin/vi"})
		}, Warning, []string{"kubectl (process 44)"}},
		{"a socket", func(sys *System, _ *Subject) { sys.with(map[string]string{"home/tom/.kalypso/daemon.sock": "x"}) }, Note, []string{"left its socket"}},
		{"no home", func(_ *System, s *Subject) { s.Home = "" }, Note, nil},
	})
}

func TestEngine(t *testing.T) {
	examineEach(t, "engine", []situation{
		{"none", nil, OK, []string{"no docker or podman"}},
		{"both", func(sys *System, _ *Subject) {
			sys.LookPath = has("docker", "podman")
			sys.Run = func(_ context.Context, program string, args ...string) (string, error) {
				if strings.HasSuffix(program, "podman") {
					return podmanInfo(map[string]any{"version": "5.0.1"}), nil
				}
				return dockerInfo(nil), nil
			}
		}, OK, []string{"docker 28.1.0; podman 5.0.1"}},
		{"down", func(sys *System, _ *Subject) {
			sys.LookPath, sys.Run = has("docker"), prints("", errors.New("exit status 1: Cannot connect to the Docker daemon"))
		}, OK, []string{"docker is installed and its engine is not there", "Cannot connect"}},
	})
}

func TestHangingEngineIsSaidToHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := box()
		sys.LookPath = has("docker", "podman")
		var asked atomic.Int32
		sys.Run = func(ctx context.Context, program string, _ ...string) (string, error) {
			asked.Add(1)
			if strings.HasSuffix(program, "podman") {
				return podmanInfo(map[string]any{"version": "5.0.1"}), nil
			}
			<-ctx.Done()
			return "", ctx.Err()
		}
		began := time.Now()
		f := one(t, "engine").examine(t.Context(), sys, subjectOf())
		if f.Severity != Note || !strings.Contains(f.Found, "docker hangs: no answer in 2s; podman 5.0.1") || asked.Load() != 2 {
			t.Errorf("%+v", f)
		}
		if took := time.Since(began); took != engineLimit {
			t.Errorf("took %s", took)
		}
		proper(t, f)
	})
}
