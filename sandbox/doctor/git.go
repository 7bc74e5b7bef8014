package doctor

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// Versions of git that matter. Gitea 1.26 does not start with one below
// oldestGit nor with brokenGit (its modules/git/git.go). The scenarios hand
// their password to git by GIT_CONFIG_COUNT, which is as old as scenarioGit
// (git's release notes for 2.31).
var (
	oldestGit   = []int{2, 6, 0}
	brokenGit   = []int{2, 43, 1}
	scenarioGit = []int{2, 31, 0}
)

var gitVersion = regexp.MustCompile(`git version (\d+)\.(\d+)(?:\.(\d+))?`)

// checkGit asks for the one program that kalypso needs and has not inside.
func checkGit(ctx context.Context, sys *System, _ *Subject) Finding {
	const lost = "Gitea cannot work without it"
	path, err := sys.LookPath("git")
	if err != nil {
		return fatal("git is not installed", lost, "install it: "+sys.install("git"))
	}
	said, err := sys.Run(ctx, path, "version")
	if err != nil {
		return fatal(fmt.Sprintf("git at %s does not run (%v)", path, err), lost, "make `git version` work")
	}
	m := gitVersion.FindStringSubmatch(said)
	if m == nil {
		return fatal(fmt.Sprintf("git at %s says %q instead of its version", path, said), lost, "install git: "+sys.install("git"))
	}
	version := make([]int, 3)
	for i := range version {
		version[i], _ = strconv.Atoi(m[i+1]) // "" of a version with two numbers is 0
	}
	found := fmt.Sprintf("git %d.%d.%d at %s", version[0], version[1], version[2], path)
	switch {
	case slices.Compare(version, oldestGit) < 0:
		return fatal(found+" is too old", lost, "install git 2.31 or newer")
	case slices.Equal(version, brokenGit):
		return fatal(found+" is the one version that Gitea refuses, for a bug", lost, "install any other from 2.31 on")
	case slices.Compare(version, scenarioGit) < 0:
		return warning(found+" is old", "scenarios cannot log in at the forge", "install git 2.31 or newer")
	}
	return ok("%s", found)
}
