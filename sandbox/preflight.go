package sandbox

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// PreflightError is something of this machine that must change before the
// sandbox can start.
type PreflightError struct {
	Problem string
	Remedy  string
}

func (e *PreflightError) Error() string { return e.Problem + ": " + e.Remedy }

// gitNeeded is the oldest git that Gitea works with.
var gitNeeded = [2]int{2, 6}

var gitVersion = regexp.MustCompile(`git version (\d+)\.(\d+)`)

// preflight makes the checks without which nothing would work, in a moment.
func preflight(ctx context.Context, _ Home) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := exec.LookPath("git"); err != nil {
		return &PreflightError{"git is not installed, and Gitea cannot work without it", "install the package git and run `kalypso up` again"}
	}
	out, err := exec.CommandContext(ctx, "git", "version").Output()
	if err != nil {
		return &PreflightError{fmt.Sprintf("git does not run (%v)", err), "make `git version` work and run `kalypso up` again"}
	}
	m := gitVersion.FindStringSubmatch(string(out))
	if m == nil {
		return &PreflightError{fmt.Sprintf("git says %q instead of its version", out), "install the package git"}
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major < gitNeeded[0] || major == gitNeeded[0] && minor < gitNeeded[1] {
		return &PreflightError{fmt.Sprintf("git %d.%d is too old", major, minor), fmt.Sprintf("install git %d.%d or newer", gitNeeded[0], gitNeeded[1])}
	}
	return nil
}
