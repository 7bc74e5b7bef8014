package doctor

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
)

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
// spareInstances are for the person's editor and the like, and spareWatches for
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
	instances, err := sys.limit("max_user_instances")
	watches, err2 := sys.limit("max_user_watches")
	if err != nil || err2 != nil {
		return note("the limits are not known: /proc/sys/fs/inotify cannot be read", "nothing is known to be", "")
	}
	used := sys.inotifyInstances()
	found := fmt.Sprintf("%d of %d instances in use, %d watches", used, instances, watches)
	ofOne, watchesOfOne := instancesOfPlane, watchesOfPlane
	lost := "API servers notice new certificates and settings late"
	switch {
	case s.Provider == kind:
		ofOne, watchesOfOne = instancesOfKind, watchesOfKind
		lost = "parts of the clusters end with \"too many open files\", and nodes do not start"
	case !s.embedded():
		return ok("%s; the clusters are not of this machine", found)
	case s.Home != "" && sys.RealNode(s.aNode()) == nil:
		ofOne, watchesOfOne = ofOne+instancesOfNode, watchesOfOne+watchesOfNode
		lost += ", and nodes do not start"
	}
	needed := ofOne * s.Clusters
	if s.Daemon != nil {
		needed = 0 // counted among those in use
	}
	switch {
	case used+needed+spareInstances > instances:
		return warning(found, lost, sys.asRoot("sysctl fs.inotify.max_user_instances=512", true)+"; in /etc/sysctl.d for good")
	case watches < watchesOfOne*s.Clusters+spareWatches:
		return warning(found, lost, sys.asRoot("sysctl fs.inotify.max_user_watches=524288", true)+"; in /etc/sysctl.d for good")
	}
	return ok("%s; a cluster with its node needs %d and %d", found, ofOne, watchesOfOne)
}

func (s *System) limit(name string) (int, error) {
	return strconv.Atoi(strings.TrimSpace(s.read("/proc/sys/fs/inotify/" + name)))
}

// inotifyInstances counts those of the processes that this user may look into:
// his own, and for root all, of which then some may be others'.
func (s *System) inotifyInstances() int {
	n := 0
	for _, pid := range s.processes() {
		dir := procPath(pid, "fd")
		for _, fd := range s.list(dir) {
			if strings.HasSuffix(s.link(path.Join(dir, fd)), "inotify") {
				n++
			}
		}
	}
	return n
}
