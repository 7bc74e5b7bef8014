package doctor

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/posix"
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

// checkMemory asks for unused memory.
func checkMemory(ctx context.Context, sys *System, s *Subject) Finding {
	const fix = "end other programs, or use a machine with more memory"
	found, available, swap := sys.freeMemory()
	usual := sys.usualMemory(s)
	if found == "" {
		return totalMemory(ctx, sys, usual)
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

// MemoryFor checks that there is memory for so many more clusters beside a sandbox
// that runs: what is there already is in use.
func MemoryFor(sys *System, s *Subject, clusters int) Finding {
	const fix = "end other programs, remove a cluster with `kalypso cluster remove`, or add virtual ones with --virtual"
	found, available, swap := sys.freeMemory()
	more := *s
	more.Clusters, more.Provider = clusters, "embedded"
	needed := sys.usualMemory(&more) - sharedMemory
	lost := fmt.Sprintf("%s would use about %s more", counted(clusters, "cluster"), amount(needed))
	switch {
	case found == "":
		return note("the free memory is not known here", lost, "")
	case available+swap < needed/2:
		return fatal(found, lost, fix)
	case available < needed:
		return warning(found, lost+", and the sandbox will be slow, or parts of it be ended by the system", fix)
	}
	return ok("%s; %s", found, lost)
}

// freeMemory is what this process may still use, in words, too; those are "" where it
// is not known.
func (s *System) freeMemory() (found string, available, swap uint64) {
	total, available, swap := s.memory()
	if total == 0 {
		return "", 0, 0
	}
	found = fmt.Sprintf("%s available of %s", amount(available), amount(total))
	if limit, left, limited := s.groupMemory(); limited && left < available {
		available, swap = left, 0
		found = fmt.Sprintf("%s left of the %s that this control group may use", amount(left), amount(limit))
	}
	return found, available, swap
}

// memory reads /proc/meminfo (proc(5)); 0 elsewhere than on Linux.
func (s *System) memory() (total, available, swap uint64) {
	of := func(key string) uint64 {
		kilobytes, _ := strconv.ParseUint(strings.TrimSuffix(s.value("/proc/meminfo", key), " kB"), 10, 64)
		return kilobytes << 10
	}
	return of("MemTotal:"), of("MemAvailable:"), of("SwapFree:")
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
	stat := path.Join(dir, "memory.stat")
	n, _ := strconv.ParseUint(cmp.Or(s.value(stat, "total_inactive_file "), s.value(stat, "inactive_file ")), 10, 64)
	return n
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

// totalMemory is for systems that only report how much there is.
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

// etcd refuses to start where it may have no more than 150 files open, and an
// API server without anything to do has 90, measured.
const (
	leastFiles = 256
	usualFiles = 1024
)

// checkOpenFiles asks how many files a process may have open.
func checkOpenFiles(_ context.Context, sys *System, _ *Subject) Finding {
	limit, err := sys.OpenFiles()
	if err != nil {
		return note(fmt.Sprintf("the limit is not known (%v)", err), "nothing is known to be", "")
	}
	found := fmt.Sprintf("a process may have %d open", limit)
	fix := fmt.Sprintf("%s in this shell, and nofile in /etc/security/limits.conf for good", sys.asRoot(fmt.Sprintf("prlimit --pid $$ --nofile=%d", 4*usualFiles), true))
	switch {
	case limit >= 1<<62:
		return ok("no limit")
	case limit < leastFiles:
		return fatal(found, "etcd does not start with so few", fix)
	case limit < usualFiles:
		return warning(found, "a busy cluster or forge runs out of them", fix)
	}
	return ok("%s; the busiest part needs about 100", found)
}

// What a cluster has of inotify, measured: its control plane, and its node when
// that is real (kubelet 5 and 103, containerd 2 and 1, kube-proxy 1 and 1).
// spareInstances are for the user's editor and the like, and spareWatches for
// pods, of which each adds a few to the kubelet's. A node of kind has 28 and 356,
// and some more where its image has a journal.
const (
	instancesOfPlane = 3
	watchesOfPlane   = 4
	instancesOfNode  = 8
	watchesOfNode    = 105
	instancesOfKind  = 32
	watchesOfKind    = 400
	spareInstances   = 8
	spareWatches     = 1024
)

// checkInotify asks for what the clusters need to notice changed files.
func checkInotify(_ context.Context, sys *System, s *Subject) Finding {
	if sys.OS != "linux" {
		return ok("not limited on %s", sys.OS)
	}
	instances, err := sys.limit("instances")
	watches, err2 := sys.limit("watches")
	if err != nil || err2 != nil {
		return note("the limits are not known: /proc/sys/fs/inotify cannot be read", "nothing is known to be", "")
	}
	used := sys.inotifyInstances()
	found := fmt.Sprintf("%d of %d instances in use, %d watches", used, instances, watches)
	ofOne, watchesOfOne := instancesOfPlane, watchesOfPlane
	lost := "API servers notice new certificates and settings late"
	nodes := false // that need them to start
	switch {
	case s.Provider == kind:
		ofOne, watchesOfOne, nodes = instancesOfKind, watchesOfKind, true
		lost = "parts of the clusters end with \"too many open files\", and nodes do not start"
	case !s.embedded():
		return ok("%s; the clusters are not of this machine", found)
	case s.Home != "" && sys.RealNode(s.aNode()) == nil:
		ofOne, watchesOfOne, nodes = ofOne+instancesOfNode, watchesOfOne+watchesOfNode, true
		lost += ", and nodes do not start"
	}
	needed := ofOne * s.Clusters
	if s.Daemon != nil {
		needed = 0 // counted among those in use
	}
	taken := used
	if s.Provider == kind {
		taken = 0 // its nodes are the engine's user's
	}
	says := warning
	if nodes && s.Daemon == nil && (taken+needed > instances || watchesOfOne*s.Clusters > watches) {
		says = fatal
	}
	switch {
	case used+needed+spareInstances > instances:
		return says(found, lost, sys.asRoot("sysctl fs.inotify.max_user_instances=512", true)+"; in /etc/sysctl.d for good")
	case watches < watchesOfOne*s.Clusters+spareWatches:
		return says(found, lost, sys.asRoot("sysctl fs.inotify.max_user_watches=524288", true)+"; in /etc/sysctl.d for good")
	}
	return ok("%s; a cluster with its node needs %d and %d", found, ofOne, watchesOfOne)
}

// limit is how many inotify instances or watches this user may have. A user
// namespace has a limit of its own beside the machine's.
func (s *System) limit(of string) (int, error) {
	limit, err := strconv.Atoi(strings.TrimSpace(s.read("/proc/sys/fs/inotify/max_user_" + of)))
	if own, err := strconv.Atoi(strings.TrimSpace(s.read("/proc/sys/user/max_inotify_" + of))); err == nil {
		limit = min(limit, own)
	}
	return limit, err
}

// inotifyInstances counts those of this user's processes: each user has a limit.
func (s *System) inotifyInstances() int {
	n := 0
	for pid, to := range s.descriptors() {
		if strings.HasSuffix(to, "inotify") && s.isOwn(pid) {
			n++
		}
	}
	return n
}

// isOwn reports whether a process is this user's, as far as that is known.
func (s *System) isOwn(pid int) bool {
	info, err := fs.Stat(s.Files, relative(procPath(pid, "")))
	if err != nil {
		return false
	}
	uid, _, known := posix.Owner(info)
	return !known || uid == s.UID
}
