package ci

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

// Forge is what the verbs need of a git forge: what the scheduler needs, and
// what it leaves to users and their workflows. Errors are those of package forge.
type Forge interface {
	forge.Forge

	// Label adds labels to a pull request and makes those that the repository
	// does not have.
	Label(ctx context.Context, repo string, number int, labels []string) error
	// Merge merges a pull request whose branch is still at the commit head, by
	// a merge commit or as the repository allows it, and returns the commit. The
	// error wraps forge.ErrNotYet when another try in a moment may succeed, and
	// forge.ErrQueued when the forge merges it later.
	Merge(ctx context.Context, repo string, number int, head string) (string, error)
	// StartWorkflow starts a workflow by the name of its file, as it is on
	// branch ref.
	StartWorkflow(ctx context.Context, repo, file, ref string, inputs map[string]string) error
	// BranchesBelow returns where the branches of a repository are whose names begin with a
	// prefix.
	BranchesBelow(ctx context.Context, cloneURL, prefix string) (map[string]string, error)
}

// OpenForge returns the forge that an environment is about. It makes no request.
// Without an address or a token the error says which variable is missing.
func OpenForge(e Environment) (Forge, error) {
	if e.Server == "" {
		return nil, usage.Errorf("no forge: set GITHUB_SERVER_URL to its address, as a runner does")
	}
	if e.Token == "" {
		return nil, usage.Errorf("no token: give the step KALYPSO_CI_TOKEN or GITHUB_TOKEN in its env, as in\n" +
			"    env:\n      GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}")
	}
	switch e.Forge {
	case Gitea:
		return gitea.New(gitea.Options{URL: e.Server, Token: e.Token})
	case GitHub:
		options := github.Options{URL: e.Server, API: e.API, Token: e.Token}
		if strings.HasPrefix(e.Token, "ghs_") {
			// an installation's token, a workflow's own among them, cannot be
			// asked for its name; the verbs need none
			options.User = "github-actions[bot]"
		}
		f, err := github.New(options)
		if err != nil {
			return nil, usage.Errorf("GITHUB_SERVER_URL or GITHUB_API_URL is wrong: %v", err)
		}
		return f, nil
	}
	return nil, usage.Errorf("KALYPSO_FORGE %q is not known: choose %s or %s", e.Forge, Gitea, GitHub)
}

// wrap adds what was being done to a forge's error, and ErrDenied where the
// forge has refused the token.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
	if errors.Is(err, gitclient.ErrDenied) && !errors.Is(err, ErrDenied) {
		err = &denied{err}
	}
	return err
}

// denied gives an error of a forge the mark that callers of this package know.
type denied struct{ error }

func (e *denied) Unwrap() []error { return []error{e.error, ErrDenied} }

// WorkflowStart names a workflow and its inputs.
type WorkflowStart struct {
	Repo   string // owner/name
	File   string // in the folder of workflows, as in cd.yaml
	Ref    string // branch
	Inputs map[string]string
}

// ParseInputs reads arguments of the form NAME=VALUE. A value may be empty.
func ParseInputs(args []string) (map[string]string, error) {
	inputs := make(map[string]string, len(args))
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usage.Errorf("input %q is not of the form NAME=VALUE", arg)
		}
		if _, twice := inputs[name]; twice {
			return nil, usage.Errorf("input %s is given twice", name)
		}
		inputs[name] = value
	}
	return inputs, nil
}

// StartWorkflow starts a workflow and does not wait for it.
func StartWorkflow(ctx context.Context, f Forge, w WorkflowStart) error {
	if w.File == "" || strings.Contains(w.File, "/") {
		return usage.Errorf("workflow %q: name its file without a folder, as in cd.yaml", w.File)
	}
	err := f.StartWorkflow(ctx, w.Repo, w.File, w.Ref, w.Inputs)
	return wrap(err, "starting workflow %s of %s on branch %s", w.File, w.Repo, w.Ref)
}
