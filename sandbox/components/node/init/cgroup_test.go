package main

import (
	"reflect"
	"testing"
)

func TestParseCgroups(t *testing.T) {
	tests := []struct {
		name, mounts string
		want         hierarchies
	}{
		{"version 2", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", hierarchies{{"/sys/fs/cgroup", true}}},
		{"version 1, version 2 beside it, one mounted twice", `tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
`, hierarchies{{"/sys/fs/cgroup/cpu,cpuacct", false}, {"/sys/fs/cgroup/memory", true}, {"/sys/fs/cgroup/systemd", true}}},
		{"somewhere else", "cgroup2 /mnt/cgroup cgroup2 rw 0 0\nshort\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseCgroups(tt.mounts); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
