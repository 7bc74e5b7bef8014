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

// The API server of a cluster has 3 inotify instances and 4 watches, measured.
// spareInstances are for the person's editor and for one more cluster.
const (
	instancesOfCluster = 3
	watchesOfCluster   = 4
	spareInstances     = 8
	fewWatches         = 1024
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
	needed := instancesOfCluster * s.Clusters
	if s.Daemon != nil {
		needed = 0 // counted among those in use
	}
	const lost = "API servers notice new certificates and settings late, and nodes that run pods do not start"
	switch {
	case used+needed+spareInstances > instances:
		return warning(found, lost, sys.asRoot("sysctl fs.inotify.max_user_instances=512", true)+"; in /etc/sysctl.d for good")
	case watches < fewWatches:
		return warning(found, lost, sys.asRoot("sysctl fs.inotify.max_user_watches=524288", true)+"; in /etc/sysctl.d for good")
	}
	return ok("%s; a cluster needs %d and %d", found, instancesOfCluster, watchesOfCluster)
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
