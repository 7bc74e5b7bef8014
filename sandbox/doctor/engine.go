package doctor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// engineLimit is how long a container engine may take to answer.
const engineLimit = 2 * time.Second

// kind is the provider that makes clusters of containers.
const kind = "kind"

const engineCheck = "engine"

// ofKind is a check of the engine that has kind's clusters; needed says what
// other clusters do not need.
func ofKind(needed string, check func(context.Context, *System, *Subject, *engine) Finding) func(context.Context, *System, *Subject) Finding {
	return func(ctx context.Context, sys *System, s *Subject) Finding {
		if s.Provider != kind {
			return ok("only kind clusters need %s", needed)
		}
		e := sys.engine(ctx)
		if e.err != nil {
			return note("the engine cannot be asked", "see engine", "")
		}
		return check(ctx, sys, s, e)
	}
}

// checkEngine asks for the container engine. Where clusters are not made of
// containers none is needed, so what it finds is never more than a note.
func checkEngine(ctx context.Context, sys *System, s *Subject) Finding {
	if s.Provider == kind {
		return checkKindEngine(ctx, sys, s)
	}
	var installed []*engine
	var all sync.WaitGroup
	for _, program := range programs[:2] {
		if path, err := sys.LookPath(program); err == nil {
			e := &engine{program: program, path: path}
			installed = append(installed, e)
			all.Go(func() { e.facts, e.err = sys.factsOf(ctx, e) })
		}
	}
	all.Wait()
	var found []string
	hang := false
	for _, e := range installed {
		text := e.program + " " + e.facts.version
		switch {
		case errors.Is(e.err, context.DeadlineExceeded):
			text, hang = e.hangs(), true
		case e.err != nil:
			text = fmt.Sprintf("%s is installed and its engine is not there (%v)", e.program, e.err)
		}
		found = append(found, text)
	}
	switch {
	case len(found) == 0:
		return ok("no docker or podman; none is needed")
	case hang:
		return note(strings.Join(found, "; "), "nothing: kalypso needs no container engine", "restart the engine if you use it yourself")
	}
	return ok("%s; none is needed", strings.Join(found, "; "))
}

func (e *engine) hangs() string {
	return fmt.Sprintf("%s%s hangs: no answer in %s", e.program, e.at.named(), engineLimit)
}

// checkKindEngine asks for nothing where clusters are not made of containers.
func checkKindEngine(ctx context.Context, sys *System, s *Subject) Finding {
	if s.Provider != kind {
		return ok("only kind clusters need one")
	}
	return sys.engine(ctx).check(ctx, sys)
}

// lacking is what every fatal finding about an engine costs.
const lacking = "kind clusters are containers, and there is nothing to run them"

// check says whether kind can make clusters with the engine.
func (e *engine) check(ctx context.Context, sys *System) Finding {
	if e.program == "" {
		return fatal(e.err.Error(), lacking, e.fix)
	}
	if e.err != nil {
		return e.silent(sys)
	}
	found, f := e.describe(), e.facts
	switch {
	case f.standIn:
		return fatal("docker is a stand-in for podman here", "kind speaks to each of them in another way", "`export KIND_EXPERIMENTAL_PROVIDER=podman`")
	case f.os != "linux":
		return fatal(fmt.Sprintf("%s runs containers of %s", found, f.os), "kind's nodes are Linux", "switch the engine to Linux containers")
	case f.rootless && f.cgroup == "v1":
		return fatal(found, "without root, kind needs control groups v2", "boot with `systemd.unified_cgroup_hierarchy=1`, or use an engine of root")
	case f.rootless && len(f.lacks) > 0:
		return fatal(fmt.Sprintf("%s; it may not limit %s", found, strings.Join(f.lacks, ", ")), "kind makes no nodes without these limits",
			"write `[Service]` and `Delegate=yes` on two lines of /etc/systemd/system/user@.service.d/delegate.conf, "+sys.asRoot("systemctl daemon-reload", true)+", and log in again")
	case e.at.isRemote(ctx, sys):
		return fatal(found, "the clusters listen on 127.0.0.1 of that machine, which this one does not reach", e.at.leave())
	case f.arch != sys.Arch:
		return warning(found, fmt.Sprintf("the programs for the nodes are for %s: they run there only where it is emulated, and slowly", sys.Arch),
			fmt.Sprintf("use a kalypso for %s, or an engine for %s", f.arch, sys.Arch))
	case f.storage == "vfs":
		return warning(found, "vfs stores each container as a copy of its whole image", "give the engine overlay2, or fuse-overlayfs without root")
	}
	return ok("%s", found)
}

// silent is about an engine that does not answer.
func (e *engine) silent(sys *System) Finding {
	found := e.program + e.at.named()
	complaint := e.err.Error()
	switch {
	case errors.Is(e.err, context.DeadlineExceeded):
		return fatal(e.hangs(), lacking, e.remedies(sys).restart)
	case strings.Contains(strings.ToLower(complaint), "permission denied") && e.program == "docker" && sys.UID != 0:
		return fatal(fmt.Sprintf("%s does not let %s in (%s)", found, sys.User, complaint), lacking,
			sys.asRoot("usermod -aG docker "+sys.User, true)+" and log in again; that group has the rights of root")
	}
	return fatal(fmt.Sprintf("%s does not answer (%s)", found, complaint), lacking, e.remedies(sys).start)
}

// describe is the engine in a line.
func (e *engine) describe() string {
	f := e.facts
	words := []string{strings.TrimSpace(e.program + " " + f.version)}
	words[0] += e.at.named()
	if f.rootless {
		words = append(words, "rootless")
	}
	if f.cgroup != "" {
		words = append(words, fmt.Sprintf("control groups %s by %s", f.cgroup, f.cgroupDriver))
	}
	if f.storage != "" {
		words = append(words, f.storage)
	}
	return strings.Join(append(words, f.os+"/"+f.arch), ", ")
}

// notThere is how engines say that they do not have an image.
var notThere = regexp.MustCompile(`(?i)no such|not known|not found|no image`)

// checkNodeImage asks whether the engine has what kind's nodes are made of; up
// has tried to pull it before.
func checkNodeImage(ctx context.Context, sys *System, s *Subject) Finding {
	if s.Provider == kind && s.NodeImage == "" {
		return ok("the clusters are there already, or it is not chosen yet")
	}
	return ofKind("one", nodeImage)(ctx, sys, s)
}

func nodeImage(ctx context.Context, sys *System, s *Subject, e *engine) Finding {
	ctx, cancel := context.WithTimeout(ctx, engineLimit)
	defer cancel()
	is, err := sys.Run(ctx, e.path, "image", "inspect", "--format", "{{.Os}}/{{.Architecture}}", s.NodeImage)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return warning(e.hangs(), "it is not known whether there is "+s.NodeImage, e.remedies(sys).restart)
	case err != nil && notThere.MatchString(err.Error()):
		return fatal(fmt.Sprintf("%s has no image %s", e.program, s.NodeImage), "kind's nodes are made of it",
			fmt.Sprintf("`%s pull %s`, or where no registry can be reached `make kind-node-image`", e.program, s.NodeImage))
	case err != nil:
		return warning(fmt.Sprintf("%s does not answer about %s (%v)", e.program, s.NodeImage, err), "it is not known whether it is there", e.remedies(sys).restart)
	case is != e.facts.os+"/"+e.facts.arch:
		return warning(fmt.Sprintf("%s is for %s, the engine is for %s/%s", s.NodeImage, is, e.facts.os, e.facts.arch),
			"nodes of it run only where it is emulated, and slowly", fmt.Sprintf("`%s pull --platform %s/%s %s`", e.program, e.facts.os, e.facts.arch, s.NodeImage))
	}
	return ok("%s", s.NodeImage)
}

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

// checkEngineSize asks whether the engine's machine is large enough, which may
// be a virtual one.
func checkEngineSize(_ context.Context, sys *System, s *Subject, e *engine) Finding {
	found := fmt.Sprintf("%s, %s", counted(e.facts.cpus, "core"), amount(e.facts.memory))
	if e.virtual(sys) {
		found += " in the engine's own machine"
	}
	usual := uint64(kindNodeMemory) * uint64(s.Clusters)
	use := "use"
	if s.Clusters == 1 {
		use = "uses"
	}
	uses := fmt.Sprintf("%s %s about %s", counted(s.Clusters, "cluster"), use, amount(usual))
	more := e.remedies(sys).more
	switch {
	case e.facts.memory == 0:
		return ok("not known")
	case e.facts.memory < usual/2 && s.Daemon == nil:
		return fatal(found, uses, more)
	case e.facts.memory < usual+engineMemory:
		return warning(found, uses+" and will be slow, or be ended by the system", more)
	case e.facts.cpus == 1:
		return warning(found, "Kubernetes is made for two cores at least: clusters take minutes to start", more)
	}
	return ok("%s; %s", found, uses)
}

// checkEngineDisk asks for room where the engine keeps images and containers.
func checkEngineDisk(_ context.Context, sys *System, s *Subject, e *engine) Finding {
	switch {
	case e.facts.data == "":
		return ok("the engine does not say where its data is")
	case e.virtual(sys) || !sys.exists(e.facts.data):
		return ok("%s is on the disk of the engine's own machine", e.facts.data)
	}
	space, found, unknown := sys.space(e.facts.data, "look at it with df")
	if unknown != nil {
		return *unknown
	}
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
