package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/node"
)

const (
	// realPods is what is lost without the facts that a real node needs.
	realPods = "real pods: clusters get simulated nodes, see node"
)

// checkNode asks whether clusters get real nodes. It is the same question that
// `kalypso up` asks before it decides; the checks of the parts find what else
// is in the way.
func checkNode(sys *System, s *Subject) Finding {
	switch s.Provider {
	case kind:
		return ok("kind makes real ones: pods run, with logs, exec and port-forward")
	case "existing":
		return ok("the cluster has its own")
	}
	const lost = "pods do not really run: clusters get simulated nodes, without logs, exec and port-forward, and no image is pulled"
	var cannot *node.UnsupportedError
	switch err := sys.RealNode(s.aNode()); {
	case err == nil:
		return ok("clusters get real nodes: pods run, with logs, exec and port-forward")
	case errors.As(err, &cannot):
		fix := cannot.Remedy
		if sys.OS == "linux" && sys.UID == 0 && sys.packetFilter() == "" {
			fix = sys.install("iptables")
		}
		return warning(cannot.Problem, lost, fix)
	default:
		return warning(err.Error(), lost, "mend that, then `kalypso doctor` again")
	}
}

// nodes are the folders of the nodes that the sandbox has or had.
func (s *System) nodes(home string) []string {
	var all []string
	clusters := path.Join(home, "clusters")
	for _, name := range s.list(clusters) {
		if dir := path.Join(clusters, name, "node"); s.exists(dir) {
			all = append(all, dir)
		}
	}
	slices.Sort(all)
	return all
}

// checkFeatures says what an embedded cluster is not: who misses it should know
// before they look for the fault elsewhere.
func checkFeatures(_ context.Context, _ *System, s *Subject) Finding {
	if !s.embedded() {
		return ok("those of the clusters that are used")
	}
	return ok("an embedded cluster has one node, volumes, NodePorts and load balancers at localhost, and no metrics (`kubectl top`), no enforcement of NetworkPolicies, and of Flux " + gitops.FluxKinds + " only; docs/clusters.md has the list")
}

// checkHosts asks whether the workshop's hosts run, the question that `kalypso up` asks.
func checkHosts(sys *System, s *Subject) Finding {
	if s.Host == "" {
		return ok("the workshop has none")
	}
	const lost = "the workshop's hosts: nothing runs on them, and the steps of scenarios that look at them count as simulated"
	var cannot *node.UnsupportedError
	switch err := sys.Host(path.Join(s.Home, "clusters", s.Host, "node")); {
	case err == nil:
		return ok("the workshop's hosts run, of this machine's own files, and Ansible on them")
	case errors.As(err, &cannot):
		return warning(cannot.Problem, lost, cannot.Remedy)
	default:
		return warning(err.Error(), lost, "mend that, then `kalypso doctor` again")
	}
}

// aNode is a folder that a node may have.
func (s *Subject) aNode() string {
	return path.Join(s.Home, "clusters", cmp.Or(s.LongestCluster, "none"), "node")
}

// Capabilities of capabilities(7) by their number.
const (
	capNetAdmin = 12
	capSysAdmin = 21
)

// checkKernel asks for what real nodes need of the kernel, and of the programs
// that speak to it: Services are rules of a packet filter.
func checkKernel(_ context.Context, sys *System, _ *Subject) Finding {
	if sys.OS != "linux" {
		return note("this is not Linux", realPods, "")
	}
	var have, lack, fix []string
	want := func(there bool, what, remedy string) {
		if there {
			have = append(have, what)
			return
		}
		lack = append(lack, what)
		if remedy != "" {
			fix = append(fix, remedy)
		}
	}
	want(strings.Contains(sys.read("/proc/filesystems"), "\toverlay\n"), "overlayfs", sys.asRoot("modprobe overlay", true))
	want(sys.exists("/proc/self/ns/net"), "network namespaces", "")
	filter := sys.packetFilter()
	want(filter != "", cmp.Or(filter, "iptables or nftables"), sys.install("iptables"))
	if sys.UID == 0 {
		// a root without them is one in a container
		want(sys.capable(capSysAdmin) && sys.capable(capNetAdmin), "CAP_SYS_ADMIN and CAP_NET_ADMIN", "")
	}
	if len(lack) > 0 {
		found := "lacks " + strings.Join(lack, ", ")
		if len(have) > 0 {
			found += "; has " + strings.Join(have, ", ")
		}
		return note(found, realPods, strings.Join(fix, "; "))
	}
	return ok("has %s", strings.Join(have, ", "))
}

// packetFilter names the programs that there are. They are kept from the PATH
// of those who are not root.
func (s *System) packetFilter() string {
	var all []string
	for _, name := range []string{"iptables", "nft"} {
		_, err := s.LookPath(name)
		if err == nil || s.exists("/usr/sbin/"+name) || s.exists("/sbin/"+name) {
			all = append(all, name)
		}
	}
	return strings.Join(all, " and ")
}

func (s *System) capable(capability int) bool {
	set, err := strconv.ParseUint(s.value("/proc/self/status", "CapEff:"), 16, 64)
	return err == nil && set&(1<<capability) != 0
}

// checkCgroup asks for the control groups that a real node puts its pods into.
// All kinds will do. The node makes its groups at the root of each tree, which
// within a container is the container's own.
func checkCgroup(_ context.Context, sys *System, _ *Subject) Finding {
	if sys.OS != "linux" {
		return note("there are none on "+sys.OS, realPods, "")
	}
	const root = "/sys/fs/cgroup"
	kind, tree := "", root
	switch {
	case sys.exists(root + "/cgroup.controllers"):
		kind = "v2"
	case sys.exists(root + "/memory"):
		kind, tree = "v1", path.Join(root, "memory")
		if sys.exists(root + "/unified") {
			kind = "v1, with v2 beside it"
		}
	default:
		return note("none are mounted at "+root, realPods, "mount them, or give this container its own")
	}
	if sys.UID != 0 {
		return ok("%s; only root can write them", kind)
	}
	if controllers := sys.read(root + "/cgroup.controllers"); kind == "v2" {
		if lacks := without(controllers, "cpu", "memory", "pids"); len(lacks) > 0 {
			return note("v2 without "+strings.Join(lacks, ", "), "limits of pods on these are not kept", "let the container or the machine that this is in pass these controllers on")
		}
	}
	if err := sys.Writable(tree); err != nil {
		return note(fmt.Sprintf("%s; %s cannot be written (%v)", kind, tree, err), realPods, "mount "+root+" so that it can be written")
	}
	return ok("%s; %s can be written", kind, tree)
}

// checkPlatform asks what kind of machine this is.
func checkPlatform(ctx context.Context, sys *System, _ *Subject) Finding {
	found := []string{sys.OS + "/" + sys.Arch}
	switch sys.OS {
	case "linux":
		if release := strings.TrimSpace(sys.read("/proc/sys/kernel/osrelease")); release != "" {
			found = append(found, "kernel "+release)
		}
		if name := strings.Trim(sys.value("/etc/os-release", "PRETTY_NAME="), `"'`); name != "" {
			found = append(found, name)
		}
	case "darwin":
		if version, err := sys.Run(ctx, "sw_vers", "-productVersion"); err == nil {
			found = append(found, "macOS "+version)
		}
	}
	found = append(found, counted(sys.CPUs, "core"))
	text := strings.Join(found, ", ")
	switch {
	case !slices.Contains([]string{"linux", "darwin"}, sys.OS) || !slices.Contains([]string{"amd64", "arm64"}, sys.Arch):
		return warning(text, "kalypso has never been tried here", "use Linux or macOS on amd64 or arm64")
	case sys.OS != "linux":
		return note(text, realPods, "")
	}
	return ok("%s", text)
}

// checkUser asks who this is. Only real nodes need root.
func checkUser(_ context.Context, sys *System, _ *Subject) Finding {
	if sys.UID == 0 {
		return ok("root")
	}
	return note(sys.User+", not root", realPods, "")
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
