package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkDaemon asks whether a daemon runs as it should, or has left
// something.
func checkDaemon(_ context.Context, sys *System, s *Subject) Finding {
	if s.Home == "" {
		return note("there is no folder to look at", "see home", "")
	}
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
	var strangers []string
	for _, pid := range sys.processes() {
		if sys.runsFrom(pid, s.Home) {
			strangers = append(strangers, sys.command(pid))
		}
	}
	switch {
	case len(strangers) > 0:
		return warning("programs of this sandbox run without it: "+strings.Join(strangers, ", "), "they may keep ports and data in use", "end them if they are not yours")
	case sys.exists(s.Socket):
		return note("a daemon was killed and has left its socket", "nothing: the next `kalypso up` replaces it", "")
	}
	return ok("none runs, and nothing is left of an earlier run")
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
