package doctor

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// What a sandbox has resident, measured and rounded up: forge, etcd and daemon;
// each cluster with its reconciler and what plays its node; and what a real
// node has beyond that. About half of it cannot be given back to the system:
// with less, something is killed while it comes up.
const (
	sharedMemory  = 512 * mebi
	clusterMemory = 768 * mebi
	nodeMemory    = 256 * mebi
	// spareMemory is for a sandbox that is up to go on.
	spareMemory = 128 * mebi
)

// usualMemory is what this sandbox uses.
func (s *System) usualMemory(subject *Subject) uint64 {
	ofOne := uint64(clusterMemory)
	switch {
	case subject.embedded():
	case subject.Provider == kind && s.OS == "linux":
		return sharedMemory + kindNodeMemory*uint64(subject.Clusters)
	default:
		return sharedMemory // the clusters are on another machine, if only a virtual one
	}
	if subject.Home != "" && s.RealNode(subject.aNode()) == nil {
		ofOne += nodeMemory
	}
	return sharedMemory + ofOne*uint64(subject.Clusters)
}

// checkMemory asks for memory that nobody uses.
func checkMemory(ctx context.Context, sys *System, s *Subject) Finding {
	const fix = "end other programs, or use a machine with more memory"
	total, available, swap := sys.memory()
	usual := sys.usualMemory(s)
	if total == 0 {
		return totalMemory(ctx, sys, usual)
	}
	found := fmt.Sprintf("%s available of %s", amount(available), amount(total))
	if limit, left, limited := sys.groupMemory(); limited && left < available {
		available, swap = left, 0
		found = fmt.Sprintf("%s left of the %s that this control group may use", amount(left), amount(limit))
	}
	if s.Daemon != nil {
		found += fmt.Sprintf(", beside the sandbox's %s", amount(uint64(s.Daemon.Resident)))
		if available < spareMemory {
			return warning(found, "the system may end parts of the sandbox", fix)
		}
		return ok("%s", found)
	}
	switch {
	case available+swap < usual/2:
		return fatal(found, fmt.Sprintf("a sandbox uses about %s", amount(usual)), fix)
	case available < usual:
		return warning(found, fmt.Sprintf("a sandbox uses about %s and will be slow, or be ended by the system", amount(usual)), fix)
	}
	return ok("%s; a sandbox uses about %s", found, amount(usual))
}

// memory reads /proc/meminfo (proc(5)); 0 elsewhere than on Linux.
func (s *System) memory() (total, available, swap uint64) {
	for line := range strings.Lines(s.read("/proc/meminfo")) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kilobytes, err := strconv.ParseUint(fields[1], 10, 64)
		if err != nil {
			continue
		}
		switch fields[0] {
		case "MemTotal:":
			total = kilobytes << 10
		case "MemAvailable:":
			available = kilobytes << 10
		case "SwapFree:":
			swap = kilobytes << 10
		}
	}
	return total, available, swap
}

// groupMemory is what the control group of this process may use, as in a
// container. It asks the groups above, too: the tightest one counts.
func (s *System) groupMemory() (limit, left uint64, limited bool) {
	root, own, names := "/sys/fs/cgroup", s.group(""), groupFiles{"memory.max", "memory.current"}
	if v1 := s.group("memory"); v1 != "" && s.exists("/sys/fs/cgroup/memory") {
		root, own, names = "/sys/fs/cgroup/memory", v1, groupFiles{"memory.limit_in_bytes", "memory.usage_in_bytes"}
	}
	for dir := own; dir != ""; dir = path.Dir(dir) {
		most, err := strconv.ParseUint(s.word(root, dir, names.limit), 10, 64)
		const none = 1 << 60 // "max" in v2 is no number, and v1 has a huge one
		if err == nil && most < none {
			used, _ := strconv.ParseUint(s.word(root, dir, names.usage), 10, 64)
			used -= min(used, s.inactive(path.Join(root, dir)))
			if rest := most - min(most, used); !limited || rest < left {
				limit, left, limited = most, rest, true
			}
		}
		if dir == "/" {
			break
		}
	}
	return limit, left, limited
}

type groupFiles struct{ limit, usage string }

// word reads a file of a control group. Within a container the group's own
// path may not be there: then its root stands for it, at the last step.
func (s *System) word(root, dir, name string) string {
	return strings.TrimSpace(s.read(path.Join(root, dir, name)))
}

// inactive is the part of a group's memory that the system takes back at will.
func (s *System) inactive(dir string) uint64 {
	for line := range strings.Lines(s.read(path.Join(dir, "memory.stat"))) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == "total_inactive_file" || name == "inactive_file" {
			n, _ := strconv.ParseUint(value, 10, 64)
			return n
		}
	}
	return 0
}

// group is the path of this process's control group for a v1 controller, or in
// v2 for "" (cgroups(7)).
func (s *System) group(controller string) string {
	for line := range strings.Lines(s.read("/proc/self/cgroup")) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		for name := range strings.SplitSeq(fields[1], ",") {
			if name == controller && strings.HasPrefix(fields[2], "/") {
				return path.Clean(fields[2])
			}
		}
	}
	return ""
}

// totalMemory is for systems that only tell how much there is.
func totalMemory(ctx context.Context, sys *System, usual uint64) Finding {
	said, err := sys.Run(ctx, "sysctl", "-n", "hw.memsize")
	total, parseErr := strconv.ParseUint(said, 10, 64)
	if err != nil || parseErr != nil {
		return note("the free memory is not known here", fmt.Sprintf("a sandbox uses about %s", amount(usual)), "")
	}
	if total < 4*usual {
		return warning(amount(total)+" in all", fmt.Sprintf("a sandbox uses about %s", amount(usual)), "end other programs")
	}
	return ok("%s in all; a sandbox uses about %s", amount(total), amount(usual))
}
