package doctor

import (
	"context"
	"fmt"
	"path"
)

// futureNodes is what is lost without the facts that clusters with real nodes
// will need.
const futureNodes = "nothing today; nodes that run pods will need it"

// checkCgroup asks for the control groups that a node puts its pods into.
func checkCgroup(_ context.Context, sys *System, _ *Subject) Finding {
	if sys.OS != "linux" {
		return note("there are none on "+sys.OS, futureNodes, "")
	}
	const root = "/sys/fs/cgroup"
	version, own := "", ""
	switch {
	case sys.exists(root + "/cgroup.controllers"):
		version, own = "v2", path.Join(root, sys.group(""))
	case sys.exists(root + "/memory"):
		version, own = "v1", path.Join(root, "memory", sys.group("memory"))
		if sys.exists(root + "/unified") {
			version = "v1, with v2 beside it"
		}
	default:
		return note("none are mounted at "+root, futureNodes, "mount them, or give this container its own")
	}
	// within a container the path may be the host's
	own = sys.nearest(own)
	if err := sys.Writable(own); err != nil {
		fix := "be root"
		if sys.UID == 0 {
			fix = "mount " + root + " so that it can be written"
		}
		return note(fmt.Sprintf("%s; %s cannot be written (%v)", version, own, err), futureNodes, fix)
	}
	return ok("%s; %s can be written", version, own)
}
