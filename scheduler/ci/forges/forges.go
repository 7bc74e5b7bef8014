// Package forges has the forges that the verbs of a workflow work on: Gitea and
// GitHub, by the scheduler's own clients with what people do beside it.
package forges

import (
	"fmt"
	"net/http"

	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
)

// Open returns the forge that an environment is about. It makes no request.
// Without an address or a token the error says which variable is missing.
func Open(e ci.Environment) (ci.Forge, error) {
	if e.Server == "" {
		return nil, &ci.UsageError{Message: "no forge: set GITHUB_SERVER_URL to its address, as a runner does"}
	}
	if e.Token == "" {
		return nil, &ci.UsageError{Message: "no token: give the step KALYPSO_CI_TOKEN or GITHUB_TOKEN in its env, as in\n" +
			"    env:\n      GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}"}
	}
	switch e.Forge {
	case ci.Gitea:
		f, err := gitea.New(gitea.Options{URL: e.Server, Token: e.Token, HTTP: &http.Client{}})
		if err != nil {
			return nil, err
		}
		return &giteaForge{Forge: f, server: e.Server, token: e.Token}, nil
	case ci.GitHub:
		return newGitHub(e)
	}
	return nil, &ci.UsageError{Message: fmt.Sprintf("KALYPSO_FORGE %q is not known: choose %s or %s", e.Forge, ci.Gitea, ci.GitHub)}
}
