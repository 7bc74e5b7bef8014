package doctor

import (
	"context"
	"fmt"
	"io/fs"
)

// checkHome asks whether the sandbox's folder can be one.
func checkHome(_ context.Context, sys *System, s *Subject) Finding {
	const (
		lost    = "there is no place for the sandbox"
		another = "set KALYPSO_HOME to another folder"
	)
	if s.HomeError != nil {
		return fatal(s.HomeError.Error(), lost, "set KALYPSO_HOME to a folder with a short path that can be written")
	}
	if s.Others != nil {
		return fatal(s.Others.Error(), lost, another)
	}
	info, err := fs.Stat(sys.Files, relative(s.Home))
	if err == nil && !info.IsDir() {
		return fatal(s.Home+" is not a folder", lost, another)
	}
	place := sys.nearest(s.Home)
	if err := sys.Writable(place); err != nil {
		fix := another
		if place == s.Home {
			// a folder above is not the sandbox's to give away
			fix = fmt.Sprintf("`sudo chown -R %s %s` if it should be yours, or %s", sys.User, place, another)
		}
		return fatal(fmt.Sprintf("%s cannot be written by %s (%v)", place, sys.User, err), lost, fix)
	}
	space, err := sys.Space(place)
	switch {
	case err != nil:
		return warning(fmt.Sprintf("%s can be written, and its file system cannot be asked (%v)", place, err), "nobody knows whether there is room", another)
	case space.NoExec:
		return fatal(place+" is on a file system mounted noexec", "the unpacked programs cannot run there", another+" on another file system")
	case space.Remote != "":
		return warning(fmt.Sprintf("%s is on a %s file system", place, space.Remote), "locks, sockets and databases fail there now and then", another+" on a disk of this machine")
	}
	state := "can be written"
	if place != s.Home {
		state = "can be made"
	}
	return ok("%s %s; its socket's path has %d of %d bytes", s.Home, state, len(s.Socket), s.SocketLimit)
}
