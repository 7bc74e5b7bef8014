package forges

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

// gitHubForge is the scheduler's client in the words of package ci.
type gitHubForge struct{ *github.Forge }

var _ ci.Forge = gitHubForge{}

func newGitHub(e ci.Environment) (ci.Forge, error) {
	options := github.Options{URL: e.Server, API: e.API, Token: e.Token}
	if strings.HasPrefix(e.Token, "ghs_") {
		// an installation's token, a workflow's own among them, cannot be asked
		// for its name; the verbs do without
		options.User = "github-actions[bot]"
	}
	f, err := github.New(options)
	if err != nil {
		return nil, &ci.UsageError{Message: fmt.Sprintf("GITHUB_SERVER_URL or GITHUB_API_URL is wrong: %v", err)}
	}
	return gitHubForge{f}, nil
}

// Merge implements ci.Actor.
func (f gitHubForge) Merge(ctx context.Context, repo string, number int, head string) (string, error) {
	commit, err := f.Forge.Merge(ctx, repo, number, head)
	if notYet := new(github.NotYetError); errors.As(err, &notYet) {
		err = fmt.Errorf("%w: %w", ci.ErrNotYet, notYet.Err)
	}
	return commit, err
}
