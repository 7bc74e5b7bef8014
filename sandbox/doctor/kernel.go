package doctor

import (
	"cmp"
	"context"
	"strconv"
	"strings"
)

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
	for line := range strings.Lines(s.read("/proc/self/status")) {
		if value, ok := strings.CutPrefix(line, "CapEff:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return err == nil && set&(1<<capability) != 0
		}
	}
	return false
}
