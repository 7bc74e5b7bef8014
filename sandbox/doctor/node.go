package doctor

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/kalypso-dev/kalypso/sandbox/node"
)

const (
	// realPods is what is lost without the facts that a real node needs.
	realPods = "real pods: clusters get simulated nodes, see node"
	// longestCluster is the longest name of a cluster among the workshops: the
	// path of a node's socket is limited.
	longestCluster = "arc-cluster"
)

// checkNode asks whether clusters get real nodes. It is the same question that
// `kalypso up` asks before it decides; the checks of the parts tell what else
// would be in the way.
func checkNode(_ context.Context, sys *System, s *Subject) Finding {
	if s.Home == "" {
		return note("there is no folder to look at", "see home", "")
	}
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

// aNode is a folder that a node may have.
func (s *Subject) aNode() string { return path.Join(s.Home, "clusters", longestCluster, "node") }
