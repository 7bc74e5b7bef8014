package github

import (
	"context"
	"fmt"
	"net/http"
	"path"

	sdk "github.com/google/go-github/v88/github"
)

// What follows is what the scheduler leaves to people and their workflows.

// Label adds labels to a pull request and makes those that the repository does
// not have.
func (f *Forge) Label(ctx context.Context, repo string, number int, labels []string) error {
	if err := f.defineLabels(ctx, repo, labels); err != nil {
		return fmt.Errorf("%s#%d: %w", repo, number, err)
	}
	f.pulls.forget(repo, number)
	if err := f.addLabels(ctx, repo, &sdk.PullRequest{Number: &number}, labels); err != nil {
		return fmt.Errorf("%s#%d: %w", repo, number, err)
	}
	return nil
}

// NotYetError is a merge that GitHub turns down for now: it is still working
// out whether the pull request can be merged, or checks are missing.
type NotYetError struct{ Err error }

func (e *NotYetError) Error() string { return "GitHub does not merge it yet: " + e.Err.Error() }

func (e *NotYetError) Unwrap() error { return e.Err }

// Merge merges a pull request whose branch is still at the commit head, by a
// merge commit, and returns that commit. An earlier try may have had its effect
// although its answer was lost: then its commit is returned.
func (f *Forge) Merge(ctx context.Context, repo string, number int, head string) (commit string, err error) {
	owner, name, err := split(repo)
	if err != nil {
		return "", err
	}
	err = f.call(ctx, func() (*sdk.Response, error) {
		m, r, err := f.client.PullRequests.Merge(ctx, owner, name, number, "", &sdk.PullRequestOptions{SHA: head, MergeMethod: "merge"})
		commit = m.GetSHA()
		return r, err
	})
	f.pulls.forget(repo, number)
	if err == nil {
		return commit, nil
	}
	if p, again := f.pull(ctx, repo, number); again == nil && p.MergedAt != nil {
		return p.GetMergeCommitSHA(), nil
	}
	err = fmt.Errorf("merging %s#%d: %w", repo, number, err)
	if refusedAs(err, http.StatusMethodNotAllowed, "") {
		err = &NotYetError{err}
	}
	return "", err
}

// StartWorkflow starts a workflow by the name of its file, as it is on branch
// ref.
func (f *Forge) StartWorkflow(ctx context.Context, repo, file, ref string, inputs map[string]string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	if !plainName(file) || path.Ext(file) == "" {
		return fmt.Errorf("workflow %q of %s: the name of its file is wanted, as in cd.yaml", file, repo)
	}
	event := sdk.CreateWorkflowDispatchEventRequest{Ref: ref}
	for key, value := range inputs {
		if event.Inputs == nil {
			event.Inputs = map[string]any{}
		}
		event.Inputs[key] = value
	}
	err = f.call(ctx, func() (*sdk.Response, error) {
		_, r, err := f.client.Actions.CreateWorkflowDispatchEventByFileName(ctx, owner, name, file, event)
		return r, err
	})
	if err != nil {
		return fmt.Errorf("starting workflow %s of %s on %s: %w", file, repo, ref, err)
	}
	return nil
}
