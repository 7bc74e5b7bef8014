package doctor

import "fmt"

// What a sandbox has on disk beside its unpacked programs, measured: 132 MiB
// after the first start (etcd's log 123, Gitea 9). With its logs, which are cut
// at 32 MiB for each component, and a day's work it stays below roomyData.
const (
	firstData = 160 * mebi
	roomyData = gibi
	// leastRoom is what etcd takes at once for the next parts of its log, twice.
	leastRoom = 128 * mebi
	// moreFiles is what a sandbox makes beside the unpacked files; measured: 550.
	moreFiles = 2000
)

// checkDisk asks for room where the sandbox will be.
func checkDisk(sys *System, s *Subject) Finding {
	folder := sys.nearest(s.Home)
	space, found, unknown := sys.space(folder, "set KALYPSO_HOME to another folder")
	if unknown != nil {
		return *unknown
	}
	needed, files := uint64(s.Payload.Missing), uint64(s.Payload.Files)
	if s.Ports == nil {
		needed, files = needed+firstData, files+moreFiles
	}
	const fix = "make room, or set KALYPSO_HOME to a folder on a larger disk"
	switch {
	case space.Free < needed:
		return fatal(found, fmt.Sprintf("%s are needed to begin with", amount(needed)), fix)
	case space.CountsFiles && space.FreeFiles < files:
		return fatal(fmt.Sprintf("%s, and room for %d more files", found, space.FreeFiles),
			fmt.Sprintf("a sandbox has about %d", s.Payload.Files+moreFiles), fix)
	case space.Free < needed+roomyData && s.Ports == nil:
		return warning(found, fmt.Sprintf("%s are needed to begin with, and logs and clusters grow", amount(needed)), fix)
	}
	if s.Ports != nil {
		space.Free, space.FreeFiles = space.Free-needed, space.FreeFiles-min(files, space.FreeFiles)
		return room(space, found)
	}
	if s.Payload.Missing == 0 {
		return ok("%s", found)
	}
	return ok("%s; %s are needed to begin with", found, amount(needed))
}

// CheckRoom asks whether a sandbox that is there has room to go on. It says so
// well before the disk is full: etcd does not come back from that by itself, and
// its clusters do not answer then.
func CheckRoom(sys *System, home string) Finding {
	space, found, unknown := sys.space(sys.nearest(home), "make sure that the folder can be reached")
	if unknown != nil {
		return *unknown
	}
	return room(space, found)
}

func room(space Space, found string) Finding {
	const fix = "make room: `kalypso snapshot list` shows what snapshots take"
	switch {
	case space.Free < leastRoom, space.CountsFiles && space.FreeFiles < moreFiles/10:
		return warning(found, "etcd and the forge cannot write any more in a moment, and the clusters stop answering", fix)
	case space.Free < roomyData, space.CountsFiles && space.FreeFiles < moreFiles:
		return warning(found, "logs and clusters grow, and the clusters stop answering when it is full", fix)
	}
	return ok("%s", found)
}

// space is what a folder's file system has, also in words; unknown is the
// finding where it does not answer.
func (s *System) space(folder, fix string) (space Space, found string, unknown *Finding) {
	space, err := s.Space(folder)
	if err != nil {
		f := warning(fmt.Sprintf("%s cannot be asked for free space (%v)", folder, err), "it is not known whether there is room", fix)
		return space, "", &f
	}
	return space, fmt.Sprintf("%s free at %s", amount(space.Free), folder), nil
}

// amount writes bytes for users.
func amount(bytes uint64) string {
	if bytes < 10*gibi && (bytes == 0 || bytes%gibi > 0) {
		return fmt.Sprintf("%d MiB", bytes/mebi)
	}
	return fmt.Sprintf("%d GiB", bytes/gibi)
}
