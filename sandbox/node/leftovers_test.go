package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInGroup(t *testing.T) {
	const group = "kalypso-node/0a1b2c3d4e5f"
	tests := []struct {
		name, content string
		want          bool
	}{
		{"version 1, own group", "5:memory:/kalypso-node/0a1b2c3d4e5f/system\n4:cpu:/\n", true},
		{"version 1, a pod", "5:pids:/kalypso-node/0a1b2c3d4e5f/kubepods/burstable/pod1/c1\n", true},
		{"version 2, the group itself", "0::/kalypso-node/0a1b2c3d4e5f\n", true},
		{"another sandbox", "0::/kalypso-node/ffffffffffff/system\n", false},
		{"a name that begins alike", "0::/kalypso-node/0a1b2c3d4e5f6\n", false},
		{"below another group", "0::/machine/kalypso-node/0a1b2c3d4e5f\n", false},
		{"another kubelet of the machine", "5:memory:/kubepods/burstable/pod1\n", false},
		{"a named group with a colon in its path", "1:name=systemd:/kalypso-node/0a1b2c3d4e5f/system/a:b\n", true},
		{"not a file of groups", "garbage", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := inGroup(tt.content, group); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestMounts(t *testing.T) {
	const content = `proc /proc proc rw 0 0
tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
cgroup2 /mnt/elsewhere cgroup2 rw 0 0
tmpfs /srv/a/.kalypso/clusters/drone/node/tree tmpfs rw 0 0
tmpfs /srv/a/.kalypso/clusters/drone/node/tree/var tmpfs rw 0 0
overlay /srv/a/.kalypso/clusters/drone/node/var/with\040blank overlay rw 0 0
overlay /srv/a/.kalypso/clusters/drone/node2/root overlay rw 0 0
overlay /var/lib/docker/overlay2/x/merged overlay rw 0 0
short
`
	mounts := parseMounts(content)
	below := mountsBelow(mounts, "/srv/a/.kalypso/clusters/drone/node")
	want := []string{
		"/srv/a/.kalypso/clusters/drone/node/var/with blank",
		"/srv/a/.kalypso/clusters/drone/node/tree/var",
		"/srv/a/.kalypso/clusters/drone/node/tree",
	}
	if d := cmp.Diff(want, below); d != "" {
		t.Errorf("mounts (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"}, cgroupRoots(mounts)); d != "" {
		t.Errorf("roots (-want +got):\n%s", d)
	}
}

func TestCgroupNames(t *testing.T) {
	a, b := Cgroup("/srv/a/.kalypso/clusters/drone/node"), Cgroup("/srv/a/.kalypso/clusters/large/node")
	if a == b {
		t.Errorf("two nodes share the group %s", a)
	}
	if again := Cgroup("/srv/a/.kalypso/clusters/drone/node"); again != a {
		t.Errorf("the group of one folder is %s, then %s", a, again)
	}
}

func TestNothingIsLeftWhereNothingWas(t *testing.T) {
	dir := t.TempDir()
	left, err := Leftovers(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("got %q, %v", left, err)
	}
	if err := Clean(t.Context(), dir); err != nil {
		t.Error(err)
	}
}
