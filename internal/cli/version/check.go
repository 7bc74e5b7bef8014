package version

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
)

const (
	// releasesVariable names the environment variable with the URL below which releases
	// are served, as install.sh and action.yml know it.
	releasesVariable = "KALYPSO_RELEASES"
	defaultReleases  = "https://github.com/kalypso-dev/kalypso/releases"
	// checkLimit bounds how long the server is waited for.
	checkLimit = 10 * time.Second
	// maxVersion is how many bytes of an answer are read; a version has fewer.
	maxVersion = 256
)

// A Check is what a look for a newer release has found.
type Check struct {
	// Latest is the latest release, "" when nobody could be asked.
	Latest string `json:"latest,omitempty"`
	// Newer is true when Latest is newer than this kalypso.
	Newer bool `json:"newer"`
	// Unreachable is why nobody could be asked.
	Unreachable string `json:"unreachable,omitempty"`
	// Install is the line that installs the latest release, where that is newer.
	Install string `json:"install,omitempty"`
}

// check asks which release is the latest.
func check(ctx context.Context, version string) Check {
	releases := strings.TrimSuffix(cmp.Or(os.Getenv(releasesVariable), defaultReleases), "/")
	latest, err := latestRelease(ctx, releases)
	if err != nil {
		return Check{Unreachable: err.Error()}
	}
	found := Check{Latest: latest, Newer: isRelease(version) && semver.Compare(version, latest) < 0}
	if found.Newer {
		found.Install = "curl -fsSL " + releases + "/latest/download/install.sh | sh"
	}
	return found
}

// latestRelease reads the version of the latest release.
func latestRelease(ctx context.Context, releases string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	url := releases + "/latest/download/VERSION"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err // which names the URL
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", url, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxVersion))
	if err != nil {
		return "", fmt.Errorf("%s: %w", url, err)
	}
	latest := strings.TrimSpace(string(body))
	if !semver.IsValid(latest) {
		return "", fmt.Errorf("%s is no version: %q", url, latest)
	}
	return latest, nil
}

// described matches what `git describe` says of a commit that is no release.
var described = regexp.MustCompile(`(-[0-9]+-g[0-9a-f]+|-dirty)$`)

// isRelease reports whether a kalypso has the version of a release, and was not
// built of some commit.
func isRelease(version string) bool {
	return semver.IsValid(version) && !described.MatchString(version)
}

// printCheck reports on o what check has found.
func printCheck(o *Options, found Check) {
	switch {
	case found.Unreachable != "":
		o.Messagef("Cannot find out whether there is a newer release: %s", found.Unreachable)
	case found.Newer:
		o.Messagef("%s is released, and newer. To install it:\n    %s", found.Latest, found.Install)
	case !isRelease(o.Version):
		o.Messagef("This kalypso is no release. The latest one is %s.", found.Latest)
	default:
		o.Messagef("This is the latest release.")
	}
}

// checkError is what makes the exit code of a check that was asked for one.
func checkError(found Check) error {
	switch {
	case found.Unreachable != "":
		return cmdutil.Silent(fmt.Errorf("releases: %s", found.Unreachable))
	case found.Newer:
		return cmdutil.Silent(cmdutil.ErrChanges)
	}
	return nil
}
