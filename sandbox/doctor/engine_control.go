package doctor

import "strings"

// start is how to start an engine that does not run.
func (e *engine) start(sys *System) string {
	switch {
	case e.at.elsewhereByName():
		return "start it on its machine, or " + e.at.leave()
	case e.isColima():
		return "`colima start`"
	case e.program == "podman" && sys.OS == "darwin":
		return "`podman machine start`"
	case e.program == "podman":
		return "`podman info` must succeed first"
	case sys.OS != "linux" || e.isDesktop():
		return "start Docker Desktop, or what runs the engine here"
	}
	return e.service(sys, "start")
}

// restart is how to restart an engine that hangs.
func (e *engine) restart(sys *System) string {
	switch {
	case e.at.elsewhereByName():
		return "restart it on its machine, or " + e.at.leave()
	case e.isColima():
		return "`colima restart`"
	case e.program == "podman" && sys.OS == "darwin":
		return "`podman machine stop && podman machine start`"
	case e.program == "podman":
		return "end the podman commands that hang: `pgrep -a podman` lists them"
	case sys.OS != "linux" || e.isDesktop():
		return "quit Docker Desktop, or what runs the engine here, and start it again"
	}
	return e.service(sys, "restart")
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

// more is how to give the engine's machine more of what it has too little of.
func (e *engine) more(sys *System) string {
	switch {
	case e.isColima():
		return "`colima stop && colima start --cpu 4 --memory 8`"
	case e.program == "podman" && sys.OS == "darwin":
		return "`podman machine stop && podman machine set --cpus 4 --memory 8192 && podman machine start`"
	case sys.OS != "linux" || e.isDesktop():
		return "give it more in the settings of Docker Desktop, under Resources, or of what runs the engine here"
	}
	return "use a machine with more"
}

func (e *engine) isColima() bool { return strings.HasPrefix(e.at.context, "colima") }

// isDesktop tells it where Docker Desktop runs on Linux, too.
func (e *engine) isDesktop() bool {
	return strings.HasPrefix(e.at.context, "desktop") || strings.Contains(e.facts.system, "Docker Desktop")
}

// virtual tells whether the engine's machine is not this one, as it is on a Mac.
func (e *engine) virtual(sys *System) bool {
	return sys.OS != "linux" || e.isDesktop() || e.isColima() || e.at.elsewhereByName()
}

// elsewhereByName is about the host as it is written, for an engine that does
// not answer anyway.
func (p place) elsewhereByName() bool {
	return strings.HasPrefix(p.host, "ssh:") || strings.HasPrefix(p.host, "tcp:") || strings.HasPrefix(p.host, "http")
}
