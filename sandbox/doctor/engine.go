package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// engineLimit is how long a container engine may take to answer.
const engineLimit = 2 * time.Second

// kind is the provider that makes clusters of containers.
const kind = "kind"

// engines with what makes their program ask the engine itself for its version.
var engines = []struct {
	name string
	args []string
}{
	{"docker", []string{"version", "--format", "{{.Server.Version}}"}},
	{"podman", []string{"version", "--format", "{{.Client.Version}}"}},
}

const engineCheck = "engine"

// checkEngine asks for the container engine. Where clusters are not made of
// containers none is needed, so what it finds is never more than a note.
func checkEngine(ctx context.Context, sys *System, s *Subject) Finding {
	if s.Provider == kind {
		return checkKindEngine(ctx, sys, s)
	}
	found, hangs := make([]string, len(engines)), make([]bool, len(engines))
	var all sync.WaitGroup
	for i, e := range engines {
		path, err := sys.LookPath(e.name)
		if err != nil {
			continue
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, engineLimit)
			defer cancel()
			version, err := sys.Run(ctx, path, e.args...)
			switch {
			case errors.Is(err, context.DeadlineExceeded):
				found[i], hangs[i] = fmt.Sprintf("%s hangs: no answer in %s", e.name, engineLimit), true
			case err != nil:
				found[i] = fmt.Sprintf("%s is installed and its engine is not there (%v)", e.name, err)
			default:
				found[i] = e.name + " " + version
			}
		})
	}
	all.Wait()
	var text []string
	for _, f := range found {
		if f != "" {
			text = append(text, f)
		}
	}
	switch {
	case len(text) == 0:
		return ok("no docker or podman; none is needed")
	case hangs[0] || hangs[1]:
		return note(strings.Join(text, "; "), "nothing: kalypso needs no container engine", "restart the engine if you use it yourself")
	}
	return ok("%s; none is needed", strings.Join(text, "; "))
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
	case e.at.elsewhere(ctx, sys):
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
		return fatal(fmt.Sprintf("%s hangs: no answer in %s", found, engineLimit), lacking, e.restart(sys))
	case strings.Contains(strings.ToLower(complaint), "permission denied") && e.program == "docker" && sys.UID != 0:
		return fatal(fmt.Sprintf("%s does not let %s in (%s)", found, sys.User, complaint), lacking,
			sys.asRoot("usermod -aG docker "+sys.User, true)+" and log in again; who is in that group is as mighty as root")
	}
	return fatal(fmt.Sprintf("%s does not answer (%s)", found, complaint), lacking, e.start(sys))
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
