package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// engine is the one that kind would use.
type engine struct {
	program string // docker, podman or nerdctl; "" with err and fix where there is none
	path    string
	at      endpoint
	facts   facts
	err     error // why there are no facts
	fix     string
}

// facts are what an engine says of itself.
type facts struct {
	version, os, arch string
	system            string // of its machine, such as "Docker Desktop"
	storage           string
	cgroup            string // v1 or v2
	cgroupDriver      string
	rootless          bool
	lacks             []string // control groups that it may not use
	cpus              int
	memory            uint64
	data              string // folder of its data, on its machine
	standIn           bool   // a program named docker that is not Docker's
}

// programs of engines, in the order of choice.
var programs = []string{"docker", "podman", "nerdctl"}

// chooser is kind's own variable for the choice among them.
const chooser = "KIND_EXPERIMENTAL_PROVIDER"

// engine asks the engine, once for all checks.
func (s *System) engine(ctx context.Context) *engine {
	s.askEngine.Do(func() {
		s.answered = make(chan struct{})
		go func() {
			defer close(s.answered)
			s.asked = s.chooseEngine()
			if s.asked.err == nil {
				s.asked.at = s.endpointOf(s.asked.program)
				s.asked.facts, s.asked.err = s.factsOf(ctx, s.asked)
			}
		}()
	})
	<-s.answered // which has a limit
	return s.asked
}

// chooseEngine makes the choice that package sandbox/cluster/kind makes.
func (s *System) chooseEngine() *engine {
	wanted := s.Env(chooser)
	if wanted != "" && !slices.Contains(programs, wanted) {
		return &engine{
			err: fmt.Errorf("%s is %s, which is none of %s", chooser, wanted, strings.Join(programs, ", ")),
			fix: "`unset " + chooser + "`",
		}
	}
	for _, program := range programs {
		if wanted != "" && wanted != program {
			continue
		}
		if path, err := s.LookPath(program); err == nil {
			return &engine{program: program, path: path}
		}
	}
	const without = ", or leave out `--provider kind`, without which none is needed"
	if wanted != "" {
		return &engine{err: fmt.Errorf("%s is not installed, which %s asks for", wanted, chooser), fix: "install it, or `unset " + chooser + "`" + without}
	}
	fix := "install Docker, or podman: " + s.install("podman")
	if s.OS == "darwin" {
		fix = "install Docker Desktop, or `brew install colima docker`"
	}
	return &engine{err: errors.New("no docker, podman or nerdctl is installed"), fix: fix + without}
}

// factsOf makes the one call that has all.
func (s *System) factsOf(ctx context.Context, e *engine) (facts, error) {
	ctx, cancel := context.WithTimeout(ctx, engineLimit)
	defer cancel()
	format := "{{json .}}"
	if e.program == "podman" {
		format = "json"
	}
	said, err := s.Run(ctx, e.path, "info", "--format", format)
	if ctx.Err() != nil {
		return facts{}, ctx.Err()
	}
	f, complaint, parseErr := parseFacts(said)
	switch {
	case complaint != "":
		return facts{}, errors.New(complaint)
	case err != nil:
		return facts{}, err
	case parseErr != nil:
		return facts{}, parseErr
	}
	f.standIn = e.program == "docker" && f.standIn
	return f, nil
}

// parseFacts reads what docker, podman and nerdctl say. Docker's program may
// answer without its engine; then it has a complaint.
func parseFacts(said string) (f facts, complaint string, err error) {
	var info struct {
		ServerVersion, OSType, Architecture, OperatingSystem string
		Driver, CgroupDriver, CgroupVersion, DockerRootDir   string
		NCPU                                                 int
		MemTotal                                             uint64
		MemoryLimit, PidsLimit, CPUShares                    bool
		SecurityOptions, ServerErrors                        []string
		Host                                                 *podmanHost
		Store                                                struct{ GraphDriverName, GraphRoot string }
		Version                                              json.RawMessage
	}
	if err := json.Unmarshal([]byte(said), &info); err != nil {
		return facts{}, "", fmt.Errorf("what it says of itself is not understood: %q", line(said))
	}
	if len(info.ServerErrors) > 0 {
		return facts{}, line(info.ServerErrors[0]), nil
	}
	if h := info.Host; h != nil {
		var version struct{ Version string }
		_ = json.Unmarshal(info.Version, &version) // it only names the engine
		return h.facts(version.Version, info.Store.GraphDriverName, info.Store.GraphRoot), "", nil
	}
	f = facts{
		version: info.ServerVersion, os: info.OSType, arch: architecture(info.Architecture), system: info.OperatingSystem,
		storage: info.Driver, cgroupDriver: info.CgroupDriver, cgroup: info.CgroupVersion,
		cpus: info.NCPU, memory: info.MemTotal, data: info.DockerRootDir,
	}
	if f.os == "" || f.arch == "" {
		return facts{}, "", fmt.Errorf("what it says of itself is not understood: %q", line(said))
	}
	if f.cgroup != "" {
		f.cgroup = "v" + f.cgroup
	}
	for _, o := range info.SecurityOptions {
		f.rootless = f.rootless || slices.Contains(strings.Split(o, ","), "name=rootless")
	}
	// without a driver nothing can be limited, whatever the rest says
	f.lack("memory", info.MemoryLimit && f.cgroupDriver != "none")
	f.lack("pids", info.PidsLimit && f.cgroupDriver != "none")
	f.lack("cpu", info.CPUShares && f.cgroupDriver != "none")
	return f, "", nil
}

type podmanHost struct {
	Arch, OS, CgroupManager, CgroupVersion string
	CgroupControllers                      []string
	CPUs                                   int
	MemTotal                               uint64
	Security                               struct{ Rootless bool }
	Distribution                           struct{ Distribution string }
}

func (h *podmanHost) facts(version, storage, data string) facts {
	f := facts{
		version: version, os: h.OS, arch: architecture(h.Arch), system: h.Distribution.Distribution,
		storage: storage, cgroupDriver: h.CgroupManager, cgroup: h.CgroupVersion,
		rootless: h.Security.Rootless, cpus: h.CPUs, memory: h.MemTotal, data: data, standIn: true,
	}
	major, _, _ := strings.Cut(version, ".")
	if !slices.Contains([]string{"1", "2", "3"}, major) { // whose report has none
		for _, c := range []string{"memory", "pids", "cpu"} {
			f.lack(c, slices.Contains(h.CgroupControllers, c))
		}
	}
	return f
}

func (f *facts) lack(controller string, has bool) {
	if !has {
		f.lacks = append(f.lacks, controller)
	}
}

// architecture is Go's name for one.
func architecture(name string) string {
	switch name {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return name
}

// line is the first one of a text, and not too much of it.
func line(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	const most = 200
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}
