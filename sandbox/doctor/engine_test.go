package doctor

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// dockerInfo is what Docker says of itself; "" removes a key.
func dockerInfo(change map[string]any) string {
	info := map[string]any{
		"ServerVersion": "28.1.0", "OSType": "linux", "Architecture": "x86_64", "OperatingSystem": "Debian GNU/Linux 12 (bookworm)",
		"Driver": "overlay2", "CgroupDriver": "systemd", "CgroupVersion": "2", "DockerRootDir": "/var/lib/docker",
		"NCPU": 4, "MemTotal": 8 * gibi, "MemoryLimit": true, "PidsLimit": true, "CPUShares": true,
		"SecurityOptions": []string{"name=seccomp,profile=builtin", "name=cgroupns"},
		"ClientInfo":      map[string]any{"Context": "default"},
	}
	return changed(info, change)
}

func podmanInfo(change map[string]any) string {
	host := map[string]any{
		"arch": "amd64", "os": "linux", "cgroupManager": "systemd", "cgroupVersion": "v2", "cgroupControllers": []string{"cpu", "memory", "pids"},
		"cpus": 4, "memTotal": 8 * gibi, "security": map[string]any{"rootless": true}, "distribution": map[string]any{"distribution": "debian"},
	}
	version := change["version"]
	if version == nil {
		version = "5.4.0"
	}
	text := changed(host, change)
	return fmt.Sprintf(`{"host":%s,"store":{"graphDriverName":"overlay","graphRoot":"/home/tom/.local/share/containers/storage"},"version":{"APIVersion":"5","Version":%q}}`, text, version)
}

func changed(info, change map[string]any) string {
	maps.Copy(info, change)
	maps.DeleteFunc(info, func(_ string, v any) bool { return v == "" })
	b, err := json.Marshal(info)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// answers is an engine's program: to info it says what is given, and the image
// it has is right.
func answers(info string) func(context.Context, string, ...string) (string, error) {
	return func(_ context.Context, program string, args ...string) (string, error) {
		switch {
		case strings.HasSuffix(program, "git"):
			return "git version 2.39.5", nil
		case args[0] == "info":
			return info, nil
		case args[0] == "image":
			return "linux/amd64", nil
		}
		return "", fmt.Errorf("unexpected %s %v", program, args)
	}
}

// onKind is a situation of a sandbox with kind clusters and Docker.
func onKind(more ...func(*System, *Subject)) func(*System, *Subject) {
	return func(sys *System, s *Subject) {
		s.Provider, s.NodeImage, s.Clusters = kind, "kindest/node:v1", 2
		sys.LookPath, sys.Run = has("git", "docker", "apt-get", "iptables"), answers(dockerInfo(nil))
		sys.with(map[string]string{
			"run/systemd/system": "/", "var/lib/docker": "/",
			"proc/sys/fs/inotify/max_user_instances": "512\n", "proc/sys/fs/inotify/max_user_watches": "524288\n",
		})
		for _, change := range more {
			change(sys, s)
		}
	}
}

func says(info string) func(*System, *Subject) {
	return func(sys *System, _ *Subject) { sys.Run = answers(info) }
}

func complains(text string) func(*System, *Subject) {
	return func(sys *System, _ *Subject) { sys.Run = prints("", errors.New(text)) }
}

func with(set ...string) func(*System, *Subject) {
	return func(sys *System, _ *Subject) { sys.Env = environment(append(set, "HOME=/home/tom")...) }
}

func tom(sys *System, _ *Subject) { sys.UID, sys.User = 7, "tom" }

func mac(sys *System, _ *Subject) { sys.OS = "darwin" }

// inContext makes a context Docker's current one.
func inContext(name, host string) func(*System, *Subject) {
	return func(sys *System, s *Subject) {
		with()(sys, s)
		sys.with(map[string]string{
			"home/tom/.docker/config.json": fmt.Sprintf(`{"currentContext":%q}`, name),
			fmt.Sprintf("home/tom/.docker/contexts/meta/%x/meta.json", sha256.Sum256([]byte(name))): fmt.Sprintf(`{"Name":%q,"Endpoints":{"docker":{"Host":%q}}}`, name, host),
		})
	}
}

func resolves(all ...string) func(*System, *Subject) {
	return func(sys *System, _ *Subject) {
		sys.Lookup = func(context.Context, string) ([]string, error) { return all, nil }
		sys.Listen = func(address string) error {
			if strings.HasPrefix(address, "192.0.2.") {
				return errors.New("cannot assign requested address")
			}
			return nil
		}
	}
}

func TestGoodMachineForKindIsFine(t *testing.T) {
	sys, s := box(), subjectOf()
	onKind()(sys, s)
	tom(sys, s) // no root, no real nodes, and none are needed
	sys.RealNode = cannot
	sys.LookPath = has("git", "docker")
	for _, checks := range [][]Check{All(), Gate()} {
		for _, f := range Examine(t.Context(), sys, s, checks).Findings {
			if f.Severity != OK {
				t.Errorf("%+v", f)
			}
			proper(t, f)
		}
	}
}

func TestKindEngine(t *testing.T) {
	const rootless = "unix:///run/user/7/docker.sock"
	without := func(program ...string) func(*System, *Subject) {
		return func(sys *System, _ *Subject) { sys.LookPath = has(program...) }
	}
	rootlessInfo := func(change map[string]any) string {
		all := map[string]any{"SecurityOptions": []string{"name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"}}
		maps.Copy(all, change)
		return dockerInfo(all)
	}
	noSystemd := func(sys *System, _ *Subject) { sys.with(map[string]string{"run/systemd/system": ""}) }
	const down = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
	const denied = "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get x"
	examineEach(t, engineCheck, []situation{
		{"good", onKind(), OK, []string{"docker 28.1.0, control groups v2 by systemd, overlay2, linux/amd64"}},
		{"old control groups, by root", onKind(says(dockerInfo(map[string]any{"CgroupVersion": "1", "CgroupDriver": "cgroupfs"}))), OK, []string{"control groups v1 by cgroupfs"}},
		{"very old", onKind(says(dockerInfo(map[string]any{"CgroupVersion": "", "Driver": ""}))), OK, []string{"docker 28.1.0, linux/amd64"}},
		{"a Mac's", onKind(mac, inContext("desktop-linux", "unix:///Users/tom/.docker/run/docker.sock")), OK, []string{"docker 28.1.0 (context desktop-linux, at unix:///Users/tom/.docker/run/docker.sock), "}},

		{"none", onKind(without("git", "apt-get")), Fatal, []string{"no docker, podman or nerdctl", "`apt-get install podman`", "leave out `--provider kind`"}},
		{"none on a Mac", onKind(without("git", "brew"), mac), Fatal, []string{"Docker Desktop", "`brew install colima docker`"}},
		{"another than wanted", onKind(with("KIND_EXPERIMENTAL_PROVIDER=podman")), Fatal, []string{"podman is not installed", "unset KIND_EXPERIMENTAL_PROVIDER"}},
		{"what is no engine", onKind(with("KIND_EXPERIMENTAL_PROVIDER=lxc")), Fatal, []string{"KIND_EXPERIMENTAL_PROVIDER is lxc", "docker, podman, nerdctl", "`unset KIND_EXPERIMENTAL_PROVIDER`"}},
		{"the one that is wanted", onKind(without("docker", "podman"), with("KIND_EXPERIMENTAL_PROVIDER=podman"), says(podmanInfo(nil))), OK, []string{"podman 5.4.0, rootless, control groups v2 by systemd, overlay, linux/amd64"}},
		{"podman alone", onKind(without("podman"), says(podmanInfo(nil))), OK, []string{"podman 5.4.0"}},
		{"podman before nerdctl", onKind(without("nerdctl", "podman"), says(podmanInfo(nil))), OK, []string{"podman 5.4.0"}},
		{"nerdctl", onKind(without("nerdctl")), OK, []string{"nerdctl 28.1.0"}},
		{"podman that is called docker", onKind(says(podmanInfo(nil))), Fatal, []string{"stand-in for podman", "`export KIND_EXPERIMENTAL_PROVIDER=podman`"}},

		{"down", onKind(complains(down), tom), Fatal, []string{"docker does not answer (Cannot connect", "`sudo systemctl start docker`"}},
		{"down, and its program answers", onKind(says(`{"ServerErrors":["` + down + `"],"ClientInfo":{}}`)), Fatal, []string{"docker does not answer (Cannot connect", "`systemctl start docker`"}},
		{"down without systemd", onKind(complains(down), noSystemd), Fatal, []string{"`service docker start`"}},
		{"down without root", onKind(complains(down), with("DOCKER_HOST="+rootless), tom), Fatal, []string{"docker (at unix:///run/user/7/docker.sock, by DOCKER_HOST) does not answer", "`systemctl --user start docker`"}},
		{"down on a Mac", onKind(complains(down), mac), Fatal, []string{"start Docker Desktop"}},
		{"Docker Desktop on Linux is down", onKind(complains(down), inContext("desktop-linux", "unix:///home/tom/.docker/desktop/docker.sock")), Fatal, []string{"context desktop-linux", "start Docker Desktop"}},
		{"colima is down", onKind(complains(down), mac, inContext("colima", "unix:///Users/tom/.colima/default/docker.sock")), Fatal, []string{"context colima", "`colima start`"}},
		{"podman's machine is down", onKind(without("podman"), complains("cannot connect to Podman"), mac), Fatal, []string{"`podman machine start`"}},
		{"podman does not work", onKind(without("podman"), complains("newuidmap: not found")), Fatal, []string{"podman does not answer (newuidmap: not found)", "`podman info` must succeed"}},
		{"containerd is down", onKind(without("nerdctl"), complains("cannot access containerd socket"), tom), Fatal, []string{"`sudo systemctl start containerd`"}},
		{"a machine far away is down", onKind(complains(down), with("DOCKER_HOST=ssh://tom:hush@far")), Fatal, []string{"at ssh://tom:xxxxx@far", "`unset DOCKER_HOST`"}},
		{"not let in", onKind(complains(denied), tom), Fatal, []string{"docker does not let tom in (permission denied", "`sudo usermod -aG docker tom`", "log in again"}},
		{"root is not let in", onKind(complains(denied)), Fatal, []string{"docker does not answer (permission denied"}},
		{"nonsense", onKind(says("json")), Fatal, []string{`not understood: "json"`}},
		{"something else", onKind(says("{}")), Fatal, []string{`not understood: "{}"`}},

		{"Windows containers", onKind(says(dockerInfo(map[string]any{"OSType": "windows"}))), Fatal, []string{"containers of windows", "switch the engine to Linux"}},
		{"rootless", onKind(says(rootlessInfo(nil))), OK, []string{"docker 28.1.0, rootless, control groups v2"}},
		{"rootless with old control groups", onKind(says(rootlessInfo(map[string]any{"CgroupVersion": "1", "CgroupDriver": "none"}))), Fatal, []string{"rootless, control groups v1 by none", "needs control groups v2"}},
		{"rootless without delegation", onKind(says(rootlessInfo(map[string]any{"CPUShares": false}))), Fatal, []string{"may not limit cpu", "Delegate=yes", "`systemctl daemon-reload`"}},
		{"rootless without systemd", onKind(says(rootlessInfo(map[string]any{"CgroupDriver": "none"}))), Fatal, []string{"may not limit memory, pids, cpu"}},
		{"podman without delegation", onKind(without("podman"), says(podmanInfo(map[string]any{"cgroupControllers": []string{"memory", "pids"}}))), Fatal, []string{"may not limit cpu"}},
		{"podman without its controllers", onKind(without("podman"), says(podmanInfo(map[string]any{"cgroupControllers": "", "version": "3.4.4"}))), OK, []string{"podman 3.4.4"}},
		{"podman of root", onKind(without("podman"), says(podmanInfo(map[string]any{"security": "", "cgroupControllers": []string{}}))), OK, nil},

		{"on another machine", onKind(with("DOCKER_HOST=tcp://docker:2375"), resolves("192.0.2.9")), Fatal, []string{"(at tcp://docker:2375, by DOCKER_HOST)", "127.0.0.1 of that machine", "`unset DOCKER_HOST`"}},
		{"on another machine by a context", onKind(inContext("far", "ssh://tom@far"), resolves("192.0.2.9")), Fatal, []string{"context far", "`docker context use default`"}},
		{"on another machine by a variable", onKind(inContext("", ""), with("DOCKER_CONTEXT=far"), func(sys *System, s *Subject) {
			inContext("far", "ssh://tom@far")(sys, s)
			with("DOCKER_CONTEXT=far")(sys, s)
			sys.with(map[string]string{"home/tom/.docker/config.json": ""})
		}, resolves("192.0.2.9")), Fatal, []string{"`unset DOCKER_CONTEXT`"}},
		{"on a machine that only ssh knows", onKind(with("DOCKER_HOST=ssh://far"), func(sys *System, _ *Subject) {
			sys.Lookup = func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") }
		}), Fatal, []string{"at ssh://far"}},
		{"podman on another machine", onKind(without("podman"), says(podmanInfo(nil)), with("CONTAINER_HOST=ssh://core@far/run/podman.sock"), resolves("192.0.2.9")), Fatal, []string{"`unset CONTAINER_HOST`"}},
		{"in a machine on this one", onKind(with("DOCKER_HOST=tcp://localhost:2375"), resolves("::1", "127.0.0.1")), OK, []string{"at tcp://localhost:2375"}},
		{"by this machine's own address", onKind(with("DOCKER_HOST=tcp://here:2375"), resolves("198.51.100.7")), OK, nil},
		{"podman's machine", onKind(without("podman"), says(podmanInfo(nil)), mac, with("CONTAINER_CONNECTION=podman-machine-default")), OK, nil},
		{"containerd elsewhere", onKind(without("nerdctl"), with("CONTAINERD_ADDRESS=/run/k3s/containerd.sock")), OK, []string{"at /run/k3s/containerd.sock, by CONTAINERD_ADDRESS"}},

		{"of another kind", onKind(says(dockerInfo(map[string]any{"Architecture": "aarch64"}))), Warning, []string{"linux/arm64", "for amd64", "emulated"}},
		{"copies", onKind(says(dockerInfo(map[string]any{"Driver": "vfs"}))), Warning, []string{"vfs", "overlay2"}},
	})
}

func TestKindEngineHangs(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*System, *Subject)
		says   []string
	}{
		"docker":    {onKind(tom), []string{"docker hangs: no answer in 2s", "`sudo systemctl restart docker`"}},
		"on a Mac":  {onKind(mac), []string{"quit Docker Desktop"}},
		"colima":    {onKind(mac, inContext("colima-x", "unix:///x")), []string{"`colima restart`"}},
		"podman":    {onKind(func(sys *System, _ *Subject) { sys.LookPath = has("podman") }), []string{"podman hangs", "`pgrep -a podman`"}},
		"a machine": {onKind(mac, func(sys *System, _ *Subject) { sys.LookPath = has("podman") }), []string{"`podman machine stop && podman machine start`"}},
		"far away":  {onKind(with("DOCKER_HOST=ssh://far")), []string{"restart it on its machine", "`unset DOCKER_HOST`"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sys, s := box(), subjectOf()
				c.change(sys, s)
				asked := 0
				sys.Run = func(ctx context.Context, program string, _ ...string) (string, error) {
					if strings.HasSuffix(program, "git") {
						return "git version 2.39.5", nil
					}
					asked++
					<-ctx.Done()
					return "", ctx.Err()
				}
				r := Examine(t.Context(), sys, s, Gate())
				if r.Took != engineLimit || asked != 1 {
					t.Errorf("took %s, asked %d times", r.Took, asked)
				}
				for _, f := range r.Findings {
					proper(t, f)
					if f.Check != engineCheck {
						if f.Severity == Fatal && strings.Contains(f.Check, "engine") {
							t.Errorf("says it again: %+v", f)
						}
						continue
					}
					if f.Severity != Fatal {
						t.Errorf("%+v", f)
					}
					for _, want := range c.says {
						if !strings.Contains(f.Found+f.Fix, want) {
							t.Errorf("does not say %q: %+v", want, f)
						}
					}
				}
			})
		})
	}
}

// TestGateAsksNoEngineForNothing: an engine that hangs must not delay who does
// not need it.
func TestGateAsksNoEngineForNothing(t *testing.T) {
	for _, provider := range []string{"", "embedded", "existing"} {
		sys, s := box(), subjectOf()
		s.Provider = provider
		sys.LookPath = has("git", "docker", "podman", "iptables")
		sys.Run = func(_ context.Context, program string, args ...string) (string, error) {
			if !strings.HasSuffix(program, "git") {
				t.Errorf("%q asks %s %v", provider, program, args)
			}
			return "git version 2.39.5", nil
		}
		if r := Examine(t.Context(), sys, s, Gate()); r.Severity != OK {
			t.Errorf("%q: %+v", provider, r)
		}
	}
}

func TestEngineSize(t *testing.T) {
	memory := func(mib int, change ...func(*System, *Subject)) func(*System, *Subject) {
		return onKind(append([]func(*System, *Subject){says(dockerInfo(map[string]any{"MemTotal": mib * mebi}))}, change...)...)
	}
	running := func(_ *System, s *Subject) { s.Daemon = &Daemon{} }
	podman := func(sys *System, s *Subject) {
		mac(sys, s)
		sys.LookPath, sys.Run = has("podman"), answers(podmanInfo(map[string]any{"memTotal": 2 * gibi}))
	}
	examineEach(t, "engine size", []situation{
		{"not needed", nil, OK, []string{"only kind clusters"}},
		{"plenty", onKind(), OK, []string{"4 cores, 8 GiB; 2 clusters use about 2458 MiB"}},
		{"plenty on a Mac", onKind(mac), OK, []string{"8 GiB in the engine's own machine"}},
		{"one cluster", onKind(func(_ *System, s *Subject) { s.Clusters = 1 }), OK, []string{"1 cluster uses about 1229 MiB"}},
		{"just enough", memory(2458 + 256), OK, nil},
		{"little", memory(2458+255, mac), Warning, []string{"2713 MiB", "settings of Docker Desktop"}},
		{"little for colima", memory(2000, mac, inContext("colima", "unix:///x")), Warning, []string{"`colima stop && colima start --cpu 4 --memory 8`"}},
		{"little for podman", onKind(podman), Warning, []string{"podman machine set"}},
		{"little of this machine", memory(2000), Warning, []string{"use a machine with more"}},
		{"too little", memory(1228), Fatal, []string{"1228 MiB", "2 clusters use about 2458 MiB"}},
		{"too little for what runs", memory(1228, running), Warning, nil},
		{"one core", onKind(says(dockerInfo(map[string]any{"NCPU": 1}))), Warning, []string{"1 core, 8 GiB", "two cores"}},
		{"who knows", onKind(says(dockerInfo(map[string]any{"MemTotal": 0}))), OK, []string{"not known"}},
		{"no engine", onKind(complains("down")), Note, []string{"see engine"}},
	})
}

func TestEngineDisk(t *testing.T) {
	free := func(bytes uint64) func(*System, *Subject) {
		return func(sys *System, _ *Subject) {
			sys.Space = func(folder string) (Space, error) {
				if folder != "/var/lib/docker" {
					return Space{}, fmt.Errorf("asked for %s", folder)
				}
				return Space{Free: bytes}, nil
			}
		}
	}
	there := func(_ *System, s *Subject) { s.Ports = map[string]int{"gitea": 1} }
	examineEach(t, "engine disk", []situation{
		{"not needed", nil, OK, []string{"only kind clusters"}},
		{"plenty", onKind(), OK, []string{"50 GiB free at /var/lib/docker"}},
		{"enough", onKind(free(usualData)), OK, nil},
		{"little", onKind(free(usualData - 1)), Warning, []string{"5119 MiB free", "some 5 GiB", "`docker system prune`"}},
		{"too little", onKind(free(leastData - 1)), Fatal, []string{"2047 MiB free"}},
		{"too little for what is there", onKind(free(0), there), Warning, nil},
		{"a strange drive", onKind(func(sys *System, _ *Subject) {
			sys.Space = func(string) (Space, error) { return Space{}, errors.New("stale handle") }
		}), Warning, []string{"stale handle"}},
		{"a Mac", onKind(mac, free(0)), OK, []string{"engine's own machine"}},
		{"Docker Desktop on Linux", onKind(says(dockerInfo(map[string]any{"OperatingSystem": "Docker Desktop"})), free(0)), OK, []string{"engine's own machine"}},
		{"an engine outside of this container", onKind(func(sys *System, _ *Subject) { sys.with(map[string]string{"var/lib/docker": ""}) }, free(0)), OK, []string{"engine's own machine"}},
		{"unknown", onKind(says(dockerInfo(map[string]any{"DockerRootDir": ""}))), OK, []string{"does not say"}},
		{"no engine", onKind(complains("down")), Note, []string{"see engine"}},
	})
}

func TestNodeImage(t *testing.T) {
	inspected := func(text string, err error) func(*System, *Subject) {
		return func(sys *System, _ *Subject) {
			sys.Run = func(_ context.Context, program string, args ...string) (string, error) {
				if args[0] == "info" {
					return dockerInfo(nil), nil
				}
				if want := []string{"image", "inspect", "--format", "{{.Os}}/{{.Architecture}}", "kindest/node:v1"}; !slices.Equal(args, want) {
					return "", fmt.Errorf("asked %v", args)
				}
				return text, err
			}
		}
	}
	examineEach(t, "node image", []situation{
		{"not needed", nil, OK, []string{"only kind clusters"}},
		{"there", onKind(inspected("linux/amd64", nil)), OK, []string{"kindest/node:v1"}},
		{"chosen already", onKind(func(_ *System, s *Subject) { s.NodeImage = "" }), OK, []string{"there already"}},
		{"missing", onKind(inspected("", errors.New("Error response from daemon: No such image: kindest/node:v1"))), Fatal, []string{"docker has no image kindest/node:v1", "`docker pull kindest/node:v1`", "`make kind-node-image`"}},
		{"missing, as podman says", onKind(inspected("", errors.New("Error: kindest/node:v1: image not known"))), Fatal, nil},
		{"something else", onKind(inspected("", errors.New("input/output error"))), Warning, []string{"input/output error"}},
		{"of another kind", onKind(inspected("linux/arm64", nil)), Warning, []string{"is for linux/arm64", "`docker pull --platform linux/amd64 kindest/node:v1`"}},
		{"no engine", onKind(complains("down")), Note, []string{"see engine"}},
	})
}

func TestNodeImageHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys, s := box(), subjectOf()
		onKind()(sys, s)
		sys.Run = func(ctx context.Context, _ string, args ...string) (string, error) {
			if args[0] == "info" {
				time.Sleep(engineLimit / 2)
				return dockerInfo(nil), nil
			}
			<-ctx.Done()
			return "", ctx.Err()
		}
		f := one(t, "node image").examine(t.Context(), sys, s)
		if f.Severity != Warning || !strings.Contains(f.Found, "docker hangs: no answer in 2s") {
			t.Errorf("%+v", f)
		}
		proper(t, f)
	})
}

// TestKindNeedsNoNode: what only the node of an embedded cluster needs is no
// loss for others.
func TestKindNeedsNoNode(t *testing.T) {
	for provider, want := range map[string]string{kind: "kind makes real ones", "existing": "the cluster has its own"} {
		sys, s := box(), subjectOf()
		onKind(tom)(sys, s)
		s.Provider = provider
		sys.RealNode = cannot
		sys.with(map[string]string{"sys/fs/cgroup/cgroup.controllers": "", "proc/filesystems": "nodev\tproc\n"})
		for _, f := range Examine(t.Context(), sys, s, All()).Findings {
			if f.Severity != OK {
				t.Errorf("%s: %+v", provider, f)
			}
			if f.Check == "node" && !strings.Contains(f.Found, want) {
				t.Errorf("%s: %+v", provider, f)
			}
			proper(t, f)
		}
	}
}
