package doctor

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// idsOfRootless is how many subordinate IDs a node has to map: those of images go to 65535.
const idsOfRootless = 65536

// noRootless is what is lost whatever the machine has: kalypso runs nodes as root only.
const noRootless = realPods + "; kalypso makes real nodes as root only"

// checkRootless asks for the conditions that pods without root would have: a kubelet
// with the feature gate KubeletInUserNamespace, containerd and runc within a user
// namespace, and a network that ends in a program of the user's. Kalypso does not do
// that yet; what it finds says whether this machine is in the way as well.
func checkRootless(ctx context.Context, sys *System, s *Subject) Finding {
	switch {
	case !s.embedded():
		return ok("the clusters have nodes of their own")
	case sys.OS != "linux":
		return note("there are no user namespaces on "+sys.OS, realPods, "")
	case sys.UID == 0:
		return ok("not needed by root")
	}
	var have, lack, fix []string
	for _, condition := range []func(context.Context, *System) (has, lacks, remedy string){
		rootlessNamespace, rootlessIDs, rootlessGroups, rootlessNetwork, rootlessStorage,
	} {
		has, lacks, remedy := condition(ctx, sys)
		if lacks == "" {
			have = append(have, has)
			continue
		}
		lack = append(lack, lacks)
		if remedy != "" {
			fix = append(fix, remedy)
		}
	}
	if len(lack) == 0 {
		return note("this machine would allow pods without root: "+strings.Join(have, ", "), noRootless, "run kalypso as root")
	}
	found := "pods without root are not possible here: " + strings.Join(lack, "; ")
	if len(have) > 0 {
		found += "; there are " + strings.Join(have, ", ")
	}
	return note(found, noRootless, strings.Join(append([]string{"run kalypso as root"}, fix...), "; what is missing without it: "))
}

// rootlessNamespace asks by having one, which no setting tells for sure.
func rootlessNamespace(ctx context.Context, sys *System) (has, lacks, remedy string) {
	err := sys.UserNamespace(ctx)
	if err == nil {
		return "user namespaces", "", ""
	}
	setting := func(name string) string { return strings.TrimSpace(sys.read("/proc/sys/" + name)) }
	switch {
	case setting("user/max_user_namespaces") == "0":
		remedy = sys.asRoot("sysctl user.max_user_namespaces=28633", true)
	case setting("kernel/unprivileged_userns_clone") == "0":
		remedy = sys.asRoot("sysctl kernel.unprivileged_userns_clone=1", true)
	case setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
		remedy = sys.asRoot("sysctl kernel.apparmor_restrict_unprivileged_userns=0", true)
	}
	return "", fmt.Sprintf("no user namespaces (%v)", err), remedy
}

// rootlessIDs asks for the users that a namespace would have beside this one.
func rootlessIDs(_ context.Context, sys *System) (has, lacks, remedy string) {
	for _, program := range []string{"newuidmap", "newgidmap"} {
		if _, err := sys.LookPath(program); err != nil {
			return "", program + " is not installed", sys.install("uidmap")
		}
	}
	for _, file := range []string{"/etc/subuid", "/etc/subgid"} {
		if n := sys.subordinates(file); n < idsOfRootless {
			return "", fmt.Sprintf("%s has %d IDs for %s of %d", file, n, sys.User, idsOfRootless),
				sys.asRoot(fmt.Sprintf("usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s", sys.User), true)
		}
	}
	return "subordinate IDs", "", ""
}

// subordinates counts the IDs that a file gives to this user (subuid(5)).
func (s *System) subordinates(file string) int {
	total := 0
	for line := range strings.Lines(s.read(file)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) != 3 || fields[0] != s.User && fields[0] != strconv.Itoa(s.UID) {
			continue
		}
		if n, err := strconv.Atoi(fields[2]); err == nil {
			total += n
		}
	}
	return total
}

// rootlessGroups asks whether a control group is this user's to divide.
func rootlessGroups(_ context.Context, sys *System) (has, lacks, remedy string) {
	const root = "/sys/fs/cgroup"
	const delegate = "write `[Service]` and `Delegate=cpu cpuset memory pids` on two lines of /etc/systemd/system/user@.service.d/delegate.conf, and log in again"
	if !sys.exists(root + "/cgroup.controllers") {
		return "", "no control groups v2", "boot with `systemd.unified_cgroup_hierarchy=1`"
	}
	// systemd delegates the group of the user's own services, which is above this process's
	own := path.Join(root, sys.group(""))
	if at := path.Join(root, fmt.Sprintf("user.slice/user-%d.slice/user@%d.service", sys.UID, sys.UID)); sys.exists(at) {
		own = at
	}
	if err := sys.Writable(own); err != nil || own == root {
		return "", "no control group of " + sys.User + "'s own", delegate
	}
	if lacks := without(sys.read(path.Join(own, "cgroup.controllers")), "cpu", "memory", "pids"); len(lacks) > 0 {
		return "", "the control group of " + sys.User + " is without " + strings.Join(lacks, ", "), delegate
	}
	return "a delegated control group", "", ""
}

// rootlessNetwork asks for a way out of a network namespace.
func rootlessNetwork(_ context.Context, sys *System) (has, lacks, remedy string) {
	for _, program := range []string{"pasta", "slirp4netns"} {
		if _, err := sys.LookPath(program); err == nil {
			return program, "", ""
		}
	}
	if sys.Usable("/dev/net/tun") != nil {
		return "", "neither pasta nor slirp4netns, and no /dev/net/tun for a network of its own", sys.install("passt")
	}
	return "/dev/net/tun", "", ""
}

// rootlessStorage asks for the file system of images: overlayfs takes mounts of a user
// namespace from Linux 5.11 on.
func rootlessStorage(_ context.Context, sys *System) (has, lacks, remedy string) {
	var major, minor int
	release := strings.TrimSpace(sys.read("/proc/sys/kernel/osrelease"))
	_, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	if err == nil && slices.Compare([]int{major, minor}, []int{5, 11}) >= 0 {
		return "overlayfs", "", ""
	}
	if _, err := sys.LookPath("fuse-overlayfs"); err == nil {
		return "fuse-overlayfs", "", ""
	}
	return "", "overlayfs of Linux " + release + " needs root", sys.install("fuse-overlayfs")
}

// without are those of the names that a list with blanks does not have.
func without(list string, names ...string) []string {
	has := strings.Fields(list)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(has, name) })
}
