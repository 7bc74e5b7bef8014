package doctor

import (
	"context"
	"fmt"
)

// What kind clusters use of an engine, measured: a node with all that runs in
// it has 1.2 GiB resident; on disk there are its image and what it writes, and
// the images of its pods.
const (
	kindNodeMemory = 1229 * mebi
	// engineMemory is what the engine and its machine's system have themselves.
	engineMemory = 256 * mebi
	leastData    = 2 * gibi
	usualData    = 5 * gibi
)

const noEngine = "see engine"

// checkEngineSize asks whether the engine's machine is large enough, which may
// be a virtual one.
func checkEngineSize(ctx context.Context, sys *System, s *Subject) Finding {
	if s.Provider != kind {
		return ok("only kind clusters need any")
	}
	e := sys.engine(ctx)
	if e.err != nil {
		return note("the engine cannot be asked", noEngine, "")
	}
	found := fmt.Sprintf("%s, %s", counted(e.facts.cpus, "core"), amount(e.facts.memory))
	if e.virtual(sys) {
		found += " in the engine's own machine"
	}
	usual := uint64(kindNodeMemory) * uint64(s.Clusters)
	uses := fmt.Sprintf("%s use about %s", counted(s.Clusters, "cluster"), amount(usual))
	if s.Clusters == 1 {
		uses = fmt.Sprintf("1 cluster uses about %s", amount(usual))
	}
	switch {
	case e.facts.memory == 0:
		return ok("not known")
	case e.facts.memory < usual/2 && s.Daemon == nil:
		return fatal(found, uses, e.more(sys))
	case e.facts.memory < usual+engineMemory:
		return warning(found, uses+" and will be slow, or be ended by the system", e.more(sys))
	case e.facts.cpus == 1:
		return warning(found, "Kubernetes is made for two cores at least: clusters take minutes to start", e.more(sys))
	}
	return ok("%s; %s", found, uses)
}

// checkEngineDisk asks for room where the engine keeps images and containers.
func checkEngineDisk(ctx context.Context, sys *System, s *Subject) Finding {
	if s.Provider != kind {
		return ok("only kind clusters need any")
	}
	e := sys.engine(ctx)
	switch {
	case e.err != nil:
		return note("the engine cannot be asked", noEngine, "")
	case e.facts.data == "":
		return ok("the engine does not tell where its data is")
	case e.virtual(sys) || !sys.exists(e.facts.data):
		return ok("%s is on the disk of the engine's own machine", e.facts.data)
	}
	space, err := sys.Space(e.facts.data)
	if err != nil {
		return warning(fmt.Sprintf("%s cannot be asked for free space (%v)", e.facts.data, err), "nobody knows whether there is room", "look at it with df")
	}
	found := fmt.Sprintf("%s free at %s", amount(space.Free), e.facts.data)
	lost := fmt.Sprintf("images and clusters take some %s", amount(usualData))
	fix := fmt.Sprintf("make room, for example by `%s system prune`, which removes what no container uses", e.program)
	switch {
	case space.Free < leastData && s.Ports == nil:
		return fatal(found, lost, fix)
	case space.Free < usualData:
		return warning(found, lost, fix)
	}
	return ok("%s", found)
}
