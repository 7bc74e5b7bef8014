package doctor

import (
	"context"
	"errors"
	"os"
	"os/user"
	"testing"
	"time"
)

// toms is a machine on which tom could have pods without root.
func toms(change func(*System)) func(*System, *Subject) {
	return func(sys *System, _ *Subject) {
		sys.UID, sys.User = 1000, "tom"
		sys.LookPath = has("git", "apt-get", "newuidmap", "newgidmap", "pasta")
		sys.with(map[string]string{
			"etc/subuid": "ann:100000:65536\ntom:165536:65536\n",
			"etc/subgid": "1000:165536:65536\n",
			"sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers": "cpu memory pids\n",
		})
		if change != nil {
			change(sys)
		}
	}
}

func TestRootless(t *testing.T) {
	const possible = "this machine would allow pods without root"
	examineEach(t, "rootless", []situation{
		{"root", nil, OK, []string{"not needed"}},
		{"a Mac", func(sys *System, _ *Subject) { sys.OS = "darwin" }, Note, []string{"no user namespaces on darwin"}},
		{"all is there", toms(nil), Note, []string{possible, "user namespaces, subordinate IDs, a delegated control group, pasta, overlayfs", "as root only"}},
		{"no namespaces", toms(func(sys *System) {
			sys.UserNamespace = func(context.Context) error { return errors.New("operation not permitted") }
			sys.with(map[string]string{"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"})
		}), Note, []string{"not possible", "no user namespaces (operation not permitted)", "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`", "there are subordinate IDs"}},
		{"no newuidmap", toms(func(sys *System) { sys.LookPath = has("apt-get", "newgidmap", "pasta") }), Note, []string{"newuidmap is not installed", "`sudo apt-get install uidmap`"}},
		{"no IDs", toms(func(sys *System) { sys.with(map[string]string{"etc/subgid": "tom:1:100\n"}) }), Note, []string{"/etc/subgid has 100 IDs for tom of 65536", "usermod"}},
		{"no delegation", toms(func(sys *System) {
			sys.Writable = func(path string) error { return errors.New("permission denied") }
		}), Note, []string{"no control group of tom's own", "Delegate="}},
		{"less delegation", toms(func(sys *System) {
			sys.with(map[string]string{"sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers": "memory pids\n"})
		}), Note, []string{"the control group of tom is without cpu", "Delegate="}},
		{"no session", toms(func(sys *System) {
			sys.with(map[string]string{"sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers": ""})
		}), Note, []string{"no control group of tom's own"}},
		{"v1", toms(func(sys *System) { sys.with(map[string]string{"sys/fs/cgroup/cgroup.controllers": ""}) }), Note, []string{"no control groups v2"}},
		{"slirp4netns", toms(func(sys *System) { sys.LookPath = has("newuidmap", "newgidmap", "slirp4netns") }), Note, []string{possible, "slirp4netns"}},
		{"a device for a network", toms(func(sys *System) { sys.LookPath = has("newuidmap", "newgidmap") }), Note, []string{possible, "/dev/net/tun"}},
		{"no network", toms(func(sys *System) {
			sys.LookPath = has("apt-get", "newuidmap", "newgidmap")
			sys.Usable = func(path string) error { return errors.New("no such device: " + path) }
		}), Note, []string{"neither pasta nor slirp4netns", "`sudo apt-get install passt`"}},
		{"an old kernel", toms(func(sys *System) { sys.with(map[string]string{"proc/sys/kernel/osrelease": "5.10.0-9-amd64\n"}) }), Note, []string{"overlayfs of Linux 5.10.0-9-amd64 needs root", "fuse-overlayfs"}},
	})
}

// The namespace of the real machine is had or refused, and never hangs.
func TestUserNamespaceHere(t *testing.T) {
	if _, err := os.Stat("/proc/self/ns/user"); err != nil {
		t.Skip("no user namespaces in this kernel")
	}
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %v", u.Username, Machine().UserNamespace(t.Context()))
	if os.Geteuid() == 0 {
		if err := Machine().UserNamespace(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestClock(t *testing.T) {
	at := func(year int) func(*System, *Subject) {
		return func(sys *System, s *Subject) {
			sys.Now = func() time.Time { return time.Date(year, 3, 1, 9, 30, 0, 0, time.UTC) }
			s.ValidFrom, s.ValidUntil = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC), time.Date(2036, 4, 1, 0, 0, 0, 0, time.UTC)
		}
	}
	examineEach(t, "clock", []situation{
		{"good", nil, OK, []string{"2026-05-01 12:00 UTC"}},
		{"beside a sandbox", at(2027), OK, nil},
		{"never set", at(1970), Fatal, []string{"1970-03-01 09:30 UTC", "timedatectl", "`date -s"}},
		{"set back", at(2026), Fatal, []string{"2026-03-01", "not valid before 2026-04-01 00:00 UTC", "timedatectl", "kalypso down --delete"}},
		{"set forward", at(2037), Fatal, []string{"2037-03-01", "valid until 2036-04-01", "kalypso down --delete"}},
		{"a Mac", func(sys *System, s *Subject) { at(1970)(sys, s); sys.OS, sys.UID = "darwin", 7 }, Fatal, []string{"`sudo sntp"}},
	})
}

func TestBrowser(t *testing.T) {
	display := func(programs ...string) func(*System, *Subject) {
		return func(sys *System, _ *Subject) {
			sys.Env, sys.LookPath = environment("DISPLAY=:0"), has(programs...)
		}
	}
	examineEach(t, "browser", []situation{
		{"no display", nil, OK, []string{"no display", "only prints"}},
		{"a desktop", display("xdg-open"), OK, []string{"/usr/bin/xdg-open"}},
		{"an empty desktop", display("apt-get"), Note, []string{"xdg-open is not installed", "`apt-get install xdg-utils`"}},
		{"a Mac", func(sys *System, _ *Subject) { sys.OS, sys.LookPath = "darwin", has("open") }, OK, []string{"/usr/bin/open"}},
	})
}
