package doctor

import (
	"context"
	"fmt"
	"path"
)

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
	if err := sys.Writable(tree); err != nil {
		return note(fmt.Sprintf("%s; %s cannot be written (%v)", kind, tree, err), realPods, "mount "+root+" so that it can be written")
	}
	return ok("%s; %s can be written", kind, tree)
}
