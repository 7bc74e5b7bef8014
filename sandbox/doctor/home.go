package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/components"
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
	folder := sys.nearest(s.Home)
	if err := sys.Writable(folder); err != nil {
		fix := another
		if folder == s.Home {
			// a folder above is not the sandbox's to give away
			fix = fmt.Sprintf("`sudo chown -R %s %s` if it should be yours, or %s", sys.User, folder, another)
		}
		return fatal(fmt.Sprintf("%s cannot be written by %s (%v)", folder, sys.User, err), lost, fix)
	}
	space, err := sys.Space(folder)
	switch {
	case err != nil:
		return warning(fmt.Sprintf("%s can be written, and its file system cannot be asked (%v)", folder, err), "it is not known whether there is room", another)
	case space.NoExec:
		return fatal(folder+" is on a file system mounted noexec", "the unpacked programs cannot run there", another+" on another file system")
	case space.Remote != "":
		return warning(fmt.Sprintf("%s is on a %s file system", folder, space.Remote), "locks, sockets and databases fail there now and then", another+" on a disk of this machine")
	}
	state := "can be written"
	if folder != s.Home {
		state = "can be made"
	}
	return ok("%s %s; its socket's path has %d of %d bytes", s.Home, state, len(s.Socket), s.SocketLimit)
}

// checkPayload asks whether this kalypso has inside what a sandbox is made of.
func checkPayload(_ context.Context, sys *System, s *Subject) Finding {
	const lost = "there is nothing to start; only the scheduler's commands work"
	p := s.Payload
	switch platform := sys.OS + "/" + sys.Arch; {
	case errors.Is(p.Err, components.ErrNoPayload):
		return fatal("this kalypso was built without its payload of Kubernetes, Gitea and Flux", lost, "build one with it: `make build`")
	case p.Err != nil:
		return fatal(p.Err.Error(), lost, "get this kalypso anew, or build it: `make build`")
	case p.Platform != platform:
		return fatal("this kalypso has programs for "+p.Platform+" and this is "+platform, lost, "build one here: `make build`")
	}
	return ok("%s for %s, %d MiB packed", strings.Join(p.Names, ", "), p.Platform, p.Packed/mebi)
}

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

// GitIdentity returns git's complaint where it cannot commit for want of a name or
// an address of the user, nil where it can and where there is no git.
func GitIdentity(ctx context.Context, sys *System) error {
	path, err := sys.LookPath("git")
	if err != nil {
		return nil
	}
	_, err = sys.Run(ctx, path, "var", "GIT_AUTHOR_IDENT")
	return err
}

// SetGitIdentity are the commands that give git a name and an address.
var SetGitIdentity = []string{`git config --global user.name "Your Name"`, `git config --global user.email you@example.com`}

// checkGitIdentity asks whether the user can commit.
func checkGitIdentity(ctx context.Context, sys *System, _ *Subject) Finding {
	if err := GitIdentity(ctx, sys); err != nil {
		return warning(fmt.Sprintf("git does not know who you are (%v)", err), "your first commit fails",
			"`"+strings.Join(SetGitIdentity, "` and `")+"`")
	}
	return ok("git knows who commits")
}
