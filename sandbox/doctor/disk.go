package doctor

import (
	"context"
	"fmt"
)

// What a sandbox has on disk beside its unpacked programs, measured: 132 MiB
// after the first start (etcd's log 123, Gitea 9). With its logs, which are cut
// at 32 MiB for each component, and a day's work it stays below roomyData.
const (
	firstData = 160 * mebi
	roomyData = gibi
	// moreFiles is what a sandbox makes beside the unpacked files; measured: 550.
	moreFiles = 2000
)

// checkDisk asks for room where the sandbox will be.
func checkDisk(_ context.Context, sys *System, s *Subject) Finding {
	if s.Home == "" {
		return note("there is no folder to look at", "see home", "")
	}
	place := sys.nearest(s.Home)
	space, err := sys.Space(place)
	if err != nil {
		return warning(fmt.Sprintf("%s cannot be asked for free space (%v)", place, err), "nobody knows whether there is room", "set KALYPSO_HOME to another folder")
	}
	needed := uint64(s.Payload.Missing)
	if s.Ports == nil {
		needed += firstData
	}
	found := fmt.Sprintf("%s free at %s", amount(space.Free), place)
	const fix = "make room, or set KALYPSO_HOME to a folder on a larger disk"
	switch {
	case space.Free < needed:
		return fatal(found, fmt.Sprintf("%s are needed to begin with", amount(needed)), fix)
	case space.CountsFiles && space.FreeFiles < uint64(s.Payload.Files)+moreFiles:
		return fatal(fmt.Sprintf("%s, and room for %d more files", found, space.FreeFiles),
			fmt.Sprintf("a sandbox has about %d", s.Payload.Files+moreFiles), fix)
	case space.Free < needed+roomyData:
		return warning(found, fmt.Sprintf("%s are needed to begin with, and logs and clusters grow", amount(needed)), fix)
	}
	if s.Payload.Missing == 0 {
		return ok("%s", found)
	}
	return ok("%s; %s are needed to begin with", found, amount(needed))
}

// amount spells bytes for people.
func amount(bytes uint64) string {
	if bytes < 10*gibi && (bytes == 0 || bytes%gibi > 0) {
		return fmt.Sprintf("%d MiB", bytes/mebi)
	}
	return fmt.Sprintf("%d GiB", bytes/gibi)
}
