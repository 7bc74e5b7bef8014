package doctor

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"
)

// remedies are how to start an engine that does not run, to restart one that
// hangs, and to give its machine more of what it has too little of.
type remedies struct{ start, restart, more string }

func (e *engine) remedies(sys *System) remedies {
	switch {
	case e.at.isRemoteByName():
		return remedies{"start it on its machine, or " + e.at.leave(), "restart it on its machine, or " + e.at.leave(), "use a machine with more"}
	case e.isColima():
		return remedies{"`colima start`", "`colima restart`", "`colima stop && colima start --cpu 4 --memory 8`"}
	case e.program == "podman" && sys.OS == "darwin":
		return remedies{"`podman machine start`", "`podman machine stop && podman machine start`",
			"`podman machine stop && podman machine set --cpus 4 --memory 8192 && podman machine start`"}
	case e.program == "podman":
		return remedies{"`podman info` must succeed first", "end the podman commands that hang: `pgrep -a podman` lists them", "use a machine with more"}
	case sys.OS != "linux" || e.isDesktop():
		return remedies{"start Docker Desktop, or what runs the engine here", "quit Docker Desktop, or what runs the engine here, and start it again",
			"give it more in the settings of Docker Desktop, under Resources, or of what runs the engine here"}
	}
	return remedies{e.service(sys, "start"), e.service(sys, "restart"), "use a machine with more"}
}

// service is the engine as one of this machine's services.
func (e *engine) service(sys *System, verb string) string {
	name := "docker"
	if e.program == "nerdctl" {
		name = "containerd"
	}
	switch {
	case !sys.exists("/run/systemd/system"):
		return sys.asRoot("service "+name+" "+verb, true) + ", or as you have started it"
	case strings.Contains(e.at.host, "/run/user/"), e.at.context == "rootless":
		return "`systemctl --user " + verb + " " + name + "`"
	}
	return sys.asRoot("systemctl "+verb+" "+name, true)
}

func (e *engine) isColima() bool { return strings.HasPrefix(e.at.context, "colima") }

// isDesktop is also about Docker Desktop on Linux.
func (e *engine) isDesktop() bool {
	return strings.HasPrefix(e.at.context, "desktop") || strings.Contains(e.facts.system, "Docker Desktop")
}

// virtual reports whether the engine's machine is not this one, as it is on a Mac.
func (e *engine) virtual(sys *System) bool {
	return sys.OS != "linux" || e.isDesktop() || e.isColima() || e.at.isRemoteByName()
}

// isRemoteByName is about the host as it is written, for an engine that does
// not answer anyway.
func (p endpoint) isRemoteByName() bool {
	return strings.HasPrefix(p.host, "ssh:") || strings.HasPrefix(p.host, "tcp:") || strings.HasPrefix(p.host, "http")
}

// endpoint is where a program connects to its engine.
type endpoint struct {
	by      string // the variable that says so
	context string // the name of Docker's context
	host    string // a URL; "" for the usual socket
}

// endpointVariables have the endpoint of an engine's program; without host, they
// have only a name for it.
var endpointVariables = []struct {
	program, name string
	host          bool
}{
	{"docker", "DOCKER_HOST", true},
	{"podman", "CONTAINER_HOST", true},
	{"podman", "CONTAINER_CONNECTION", false},
	{"nerdctl", "CONTAINERD_ADDRESS", true},
}

// endpointOf finds out where the program of an engine looks for it. What cannot be
// read counts as the usual endpoint.
func (s *System) endpointOf(program string) endpoint {
	for _, v := range endpointVariables {
		if value := s.Env(v.name); v.program == program && value != "" {
			if !v.host {
				value = ""
			}
			return endpoint{by: v.name, host: value}
		}
	}
	if program != "docker" {
		return endpoint{}
	}
	dir := s.Env("DOCKER_CONFIG")
	if dir == "" {
		dir = path.Join(s.Env("HOME"), ".docker")
	}
	p := endpoint{by: "DOCKER_CONTEXT", context: s.Env("DOCKER_CONTEXT")}
	if p.context == "" {
		var config struct{ CurrentContext string }
		_ = json.Unmarshal([]byte(s.read(path.Join(dir, "config.json"))), &config)
		p = endpoint{context: config.CurrentContext}
	}
	if p.context == "" || p.context == "default" {
		return endpoint{}
	}
	var meta struct {
		Endpoints struct{ Docker struct{ Host string } }
	}
	// Docker names the folder of a context by its digest
	_ = json.Unmarshal([]byte(s.read(path.Join(dir, "contexts", "meta", fmt.Sprintf("%x", sha256.Sum256([]byte(p.context))), "meta.json"))), &meta)
	p.host = meta.Endpoints.Docker.Host
	return p
}

// named is the endpoint in words, "" for the usual one.
func (p endpoint) named() string {
	var words []string
	if p.context != "" {
		words = append(words, "context "+p.context)
	}
	if p.host != "" {
		words = append(words, "at "+redacted(p.host))
	}
	if len(words) == 0 {
		return ""
	}
	if p.by != "" {
		words = append(words, "by "+p.by)
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// leave is how to go back to the usual endpoint.
func (p endpoint) leave() string {
	how := "`docker context use default`"
	if p.by != "" {
		how = "`unset " + p.by + "`"
	}
	return how + ", or run kalypso on that machine"
}

// redacted leaves the password out.
func redacted(host string) string {
	u, err := url.Parse(host)
	if err != nil || u.User == nil {
		return host
	}
	return u.Redacted()
}

// isRemote reports whether the engine is on another machine. Its virtual machine
// on this one is not: its ports are passed on to this one's loopback.
func (p endpoint) isRemote(ctx context.Context, sys *System) bool {
	u, err := url.Parse(p.host)
	if err != nil || u.Hostname() == "" || u.Scheme == "unix" || u.Scheme == "npipe" {
		return false
	}
	addresses, err := sys.Lookup(ctx, u.Hostname())
	if err != nil {
		return true // one that ssh knows by its own settings
	}
	for _, a := range addresses {
		if ip := net.ParseIP(a); ip != nil && ip.IsLoopback() {
			return false
		}
		// only an address of this machine can be listened on
		if sys.Listen(net.JoinHostPort(a, "0")) == nil {
			return false
		}
	}
	return true
}
