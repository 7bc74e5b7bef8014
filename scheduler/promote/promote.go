// Package promote takes a commit of the control plane from environment to
// environment. What an environment runs is the commit that its branch's
// BaseRepo pins; promoting means to pin a newer one.
package promote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// attempts bounds how often a promotion is tried while others push to the
// environment's branch.
const attempts = 5

// Request says what to promote and where to.
type Request struct {
	Environment string
	Branch      model.Reference // the environment's branch and folder in the control plane
	From        model.Reference // the control plane's default branch
	Now         func() time.Time
}

// Result is what Apply found and did.
type Result struct {
	Commit   string // what the environment pins now, "" when it follows another repository
	Before   string // what it pinned before, when that was another one
	Promoted bool   // this call pinned it
	Why      string // when nothing was promoted: why not
}

// Apply pins the head of the control plane's default branch in an environment,
// when what the environment takes from there has changed since the commit it
// pins, and sets the status `pending` on the commit. That of the commit before
// ends, if nothing has come of it. A second Apply writes nothing.
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

func apply(ctx context.Context, f forge.Forge, request Request) (result Result, err error) {
	repo, ok := f.Repo(request.Branch.Repo)
	if !ok {
		return Result{}, fmt.Errorf("control plane %q is not on this forge", redact.URL(request.Branch.Repo))
	}
	err = retryMoved(func() error {
		result, err = pinNewest(ctx, f, repo, request)
		return err
	})
	if err != nil || result.Commit == "" {
		return result, err
	}
	return result, announce(ctx, f, repo, request.Environment, result.Commit)
}

// retryMoved repeats a promotion while the branch moves under it.
func retryMoved(promote func() error) (err error) {
	for range attempts {
		if err = promote(); !errors.Is(err, forge.ErrMoved) {
			return err
		}
	}
	return err
}

// pinNewest makes the environment's branch pin the newest commit that matters.
func pinNewest(ctx context.Context, f forge.Forge, repo string, request Request) (Result, error) {
	branch, err := f.Read(ctx, request.Branch)
	if err != nil {
		return Result{}, err
	}
	base, err := findBase(branch, request.Branch.Path)
	if err != nil {
		return Result{}, err
	}
	if from, ok := f.Repo(base.spec.Repo); !ok || from != repo || base.spec.Branch != request.From.Branch {
		return Result{Why: fmt.Sprintf("%s follows branch %s of %s", base.position(), base.spec.Branch, redact.URL(base.spec.Repo))}, nil
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
	if err := overtake(ctx, f, repo, request.Environment, result.Commit, head.Commit); err != nil {
		return Result{}, err
	}
	if err := base.pin(ctx, f, repo, request.Environment, head.Commit, request.Now()); err != nil {
		return Result{}, err
	}
	return Result{Commit: head.Commit, Before: result.Commit, Promoted: true}, nil
}

// Pin pins a commit in an environment's branch, in the branch's one BaseRepo that
// [Apply] would find, and reports whether it had to. The error says where and
// why there is no such BaseRepo.
func Pin(ctx context.Context, f forge.Forge, repo string, branch model.Reference, environment, commit string, now time.Time) (pinned bool, err error) {
	err = retryMoved(func() error {
		tree, err := f.Read(ctx, branch)
		if err != nil {
			return err
		}
		base, err := findBase(tree, branch.Path)
		if err != nil || base.spec.Commit == commit {
			return err
		}
		if err := overtake(ctx, f, repo, environment, base.spec.Commit, commit); err != nil {
			return err
		}
		pinned = true
		return base.pin(ctx, f, repo, environment, commit, now)
	})
	return pinned && err == nil, err
}

// Edit returns the file of a branch that says which commit the environment
// takes, with that commit in it.
func Edit(branch *model.Tree, folder, commit string) (file string, content []byte, err error) {
	base, err := findBase(branch, folder)
	if err != nil {
		return "", nil, err
	}
	content, err = base.pinned(commit)
	return base.file, content, err
}

// pin makes the commit that sets another commit in the object.
func (b *base) pin(ctx context.Context, f forge.Forge, repo, environment, commit string, now time.Time) error {
	content, err := b.pinned(commit)
	if err != nil {
		return err
	}
	_, err = f.Commit(ctx, repo, forge.CommitRequest{
		Branch: b.tree.Branch, Parent: b.tree.Commit, Expect: b.tree.Commit, FastForward: true,
		Message: fmt.Sprintf("Promote %.7s to %s\n\n%s\n", commit, environment, commit),
		When:    now.UTC().Truncate(time.Second),
		Changes: []forge.Change{{Path: b.file, Content: content}},
	})
	return err
}

// matters reports whether two versions of the control plane's default branch
// differ in something that an environment takes from its folder: YAML files,
// and the files that say which of them count. Workflows and the definitions of
// the environments themselves are of the control plane, not of what is
// promoted.
func matters(folder string, before, after map[string][]byte) bool {
	for file, content := range after {
		if old, ok := before[file]; counts(folder, file) && (!ok || !bytes.Equal(old, content)) {
			return true
		}
	}
	for file := range before {
		if _, ok := after[file]; counts(folder, file) && !ok {
			return true
		}
	}
	return false
}

// counts reports whether a file is among those that an environment takes.
func counts(folder, file string) bool {
	folder = strings.Trim(path.Clean("/"+folder), "/")
	if folder != "" && !strings.HasPrefix(file, folder+"/") {
		above := path.Dir(file)
		return path.Base(file) == ".sourceignore" && (above == "." || strings.HasPrefix(folder+"/", above+"/"))
	}
	for part := range strings.SplitSeq(path.Dir(file), "/") {
		switch part {
		case ".github", ".gitea", ".environments":
			return false
		}
	}
	switch path.Ext(file) {
	case ".yaml", ".yml":
		return true
	}
	return path.Base(file) == ".sourceignore"
}
