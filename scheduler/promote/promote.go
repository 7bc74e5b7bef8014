// Package promote takes a commit of the control plane from environment to
// environment. What an environment runs is the commit that its branch's
// BaseRepo pins; promoting means to pin a newer one.
package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// attempts bounds how often a promotion starts again because somebody pushed
// to the environment's branch meanwhile.
const attempts = 5

// Request says what to promote and where to.
type Request struct {
	Environment string
	Branch      model.Reference // the environment's branch and folder in the control plane
	From        model.Reference // the control plane's default branch
	Now         func() time.Time
}

// Result tells what Apply found and did.
type Result struct {
	Commit   string // what the environment pins now, "" when it follows another repository
	Before   string // what it pinned before, when that was another one
	Promoted bool   // this call pinned it
	Why      string // when nothing was promoted: why not
}

// Apply pins the head of the control plane's default branch in an environment,
// when what the environment takes from there has changed since the commit it
// pins, and sets the status `pending` on the commit. A second Apply writes
// nothing.
func Apply(ctx context.Context, f forge.Forge, request Request) (Result, error) {
	if request.Now == nil {
		request.Now = time.Now
	}
	result, err := apply(ctx, f, request)
	if err != nil {
		return result, fmt.Errorf("promoting to environment %s: %w", request.Environment, err)
	}
	return result, nil
}

func apply(ctx context.Context, f forge.Forge, request Request) (Result, error) {
	repo, ok := f.Repo(request.Branch.Repo)
	if !ok {
		return Result{}, fmt.Errorf("control plane %q is not on this forge", request.Branch.Repo)
	}
	for attempt := 1; ; attempt++ {
		result, err := pin(ctx, f, repo, request)
		if errors.Is(err, forge.ErrMoved) && attempt < attempts {
			continue
		}
		if err != nil || result.Commit == "" {
			return result, err
		}
		return result, announce(ctx, f, repo, request.Environment, result.Commit)
	}
}

// pin makes the environment's branch pin the newest commit that matters.
func pin(ctx context.Context, f forge.Forge, repo string, request Request) (Result, error) {
	branch, err := f.Read(ctx, request.Branch)
	if err != nil {
		return Result{}, err
	}
	base, err := findBase(branch, request.Branch.Path)
	if err != nil {
		return Result{}, err
	}
	if from, ok := f.Repo(base.spec.Repo); !ok || from != repo || base.spec.Branch != request.From.Branch {
		return Result{Why: fmt.Sprintf("%s follows branch %s of %s", base.position(), base.spec.Branch, base.spec.Repo)}, nil
	}
	head, err := f.Read(ctx, request.From)
	if err != nil {
		return Result{}, err
	}
	result := Result{Commit: base.spec.Commit}
	if result.Commit == head.Commit {
		result.Why = "the environment pins the newest commit"
		return result, nil
	}
	if result.Commit != "" {
		pinned, err := f.Read(ctx, model.Reference{Repo: request.From.Repo, Branch: request.From.Branch, Commit: result.Commit})
		switch {
		case errors.Is(err, forge.ErrNotFound): // history was rewritten, or the pin was never right
		case err != nil:
			return Result{}, err
		case !matters(base.spec.Path, pinned.Files, head.Files):
			result.Why = "nothing the environment takes has changed since"
			return result, nil
		}
	}
	content, err := base.pinned(head.Commit)
	if err != nil {
		return Result{}, err
	}
	_, err = f.Commit(ctx, repo, forge.CommitRequest{
		Branch: request.Branch.Branch, Parent: branch.Commit, Expect: branch.Commit, FastForward: true,
		Message: fmt.Sprintf("Promote %.7s to %s\n\n%s\n", head.Commit, request.Environment, head.Commit),
		When:    request.Now().UTC().Truncate(time.Second),
		Changes: []forge.Change{{Path: base.file, Content: content}},
	})
	if err != nil {
		return Result{}, err
	}
	return Result{Commit: head.Commit, Before: result.Commit, Promoted: true}, nil
}

// Pin returns the file of a branch that says which commit the environment
// takes, with that commit in it. The branch's one BaseRepo is the one that
// [Apply] would find; the error says where and why there is none.
func Pin(branch *model.Tree, folder, commit string) (file string, content []byte, err error) {
	base, err := findBase(branch, folder)
	if err != nil {
		return "", nil, err
	}
	content, err = base.pinned(commit)
	return base.file, content, err
}

// announce sets the status of a commit that an environment has just taken,
// unless there is one: a later one says how the commit fares there.
func announce(ctx context.Context, f forge.Forge, repo, environment, commit string) error {
	name := environment + " environment"
	statuses, err := f.Statuses(ctx, repo, commit)
	if errors.Is(err, forge.ErrNotFound) {
		return nil // a pin that leads nowhere is the model's to report
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(statuses, func(s forge.Status) bool { return s.Context == name }) {
		return nil
	}
	return f.SetStatus(ctx, repo, commit, forge.Status{Context: name, State: forge.Pending, Description: "Promoted"})
}
