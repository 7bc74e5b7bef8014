package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkDaemon asks whether a daemon runs as it should, or has left
// something.
func checkDaemon(sys *System, s *Subject) Finding {
	if s.Daemon != nil {
		return running(s)
	}
	if sys.Locked(s.Lock) {
		who := "another process"
		if pid := strings.TrimSpace(sys.read(s.PIDFile)); pid != "" {
			who = "process " + pid
		}
		return warning(who+" runs this sandbox and does not answer", "no command can ask it for anything", "`kalypso down`, which ends it if it must")
	}
	if len(s.Children) > 0 {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(s.Children)) {
			all = append(all, fmt.Sprintf("%s (process %d)", name, s.Children[name]))
		}
		return warning("still running without a daemon: "+strings.Join(all, ", "), "they keep ports and data in use", "`kalypso down` ends them")
	}
	if f, left := nodesLeft(sys, s); left {
		return f
	}
	var foreign []string
	for _, pid := range sys.processes() {
		if sys.runsFrom(pid, s.Home) {
			foreign = append(foreign, sys.command(pid))
		}
	}
	switch {
	case len(foreign) > 0:
		return warning("programs of this sandbox run without it: "+strings.Join(foreign, ", "), "they may keep ports and data in use", "end them if they are not yours")
	case sys.exists(s.Socket):
		return note("a daemon was killed and has left its socket", "nothing: the next `kalypso up` replaces it", "")
	}
	return ok("none runs, and nothing is left of an earlier run")
}

// nodesLeft is about nodes whose supervisor did not live to stop them, or
// could not: what is left belongs to root.
func nodesLeft(sys *System, s *Subject) (Finding, bool) {
	var all []string
	for _, dir := range sys.nodes(s.Home) {
		left, err := sys.NodeLeft(dir)
		if err != nil {
			return warning(fmt.Sprintf("the node in %s cannot be looked at (%v)", dir, err), "it is not known whether something of it is left", "try again as root"), true
		}
		all = append(all, left...)
	}
	if len(all) == 0 {
		return Finding{}, false
	}
	const shown = 3
	found := strings.Join(all[:min(shown, len(all))], ", ")
	if more := len(all) - shown; more > 0 {
		found += fmt.Sprintf(" and %d more", more)
	}
	down := "kalypso down"
	if sys.UID != 0 {
		down = "KALYPSO_HOME=" + s.Home + " kalypso down"
	}
	return warning("left of the nodes of an earlier run: "+found, "they keep memory in use, until the next `kalypso up`", sys.asRoot(down, true)+" removes them"), true
}

func running(s *Subject) Finding {
	d := s.Daemon
	found := fmt.Sprintf("runs as process %d", d.PID)
	if d.Version != "" && d.Version != s.Version {
		return note(fmt.Sprintf("%s and is of kalypso %s, this is %s", found, d.Version, s.Version),
			"what is new in this one", "`kalypso down`, then `kalypso up`")
	}
	return ok("%s, with %d others", found, len(d.Processes))
}
