package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/markdown"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// Files are changes that a pull request is to bring to a branch, without a plan
// of an environment behind them.
type Files struct {
	Base        *model.Tree // the branch
	Changes     []plan.Change
	PullRequest forge.PullRequest // title, text and branches
	Now         time.Time
	Anew        bool // make a commit also where the branch has all of it, on top of another commit perhaps
}

// ApplyFiles brings the open pull request between two branches up to date, or
// opens one; without changes it closes the open one. One that another user
// has opened is taken over. head is the commit that its branch has then.
func ApplyFiles(ctx context.Context, f forge.Forge, repo string, files Files) (result Result, head string, err error) {
	want := files.PullRequest
	list, err := f.PullRequests(ctx, repo, want.Head, want.Base)
	if err != nil {
		return Result{}, "", err
	}
	run := &publisher{
		forge: f, repo: repo, branch: want.Head, options: Options{Now: func() time.Time { return files.Now }},
		plan:   &plan.Plan{GitOpsHead: files.Base.Commit, Changes: files.Changes},
		reason: fmt.Sprintf("Nothing is left to change: branch %s has all of it. Closing.", markdown.Code(want.Base)),
	}
	todo := decision{action: Opened, pr: want, stale: files.Anew}
	if i := anyOpen(list); i >= 0 {
		todo.action, todo.have, todo.pr = Unchanged, &list[i], list[i]
		todo.pr.Title, todo.pr.Body, todo.pr.Draft = want.Title, want.Body, false
	}
	present, err := f.Read(ctx, model.Reference{Repo: files.Base.Repo, Branch: want.Head})
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return Result{}, "", err
	}
	found := func() (*model.Tree, error) { return present, err }
	if len(files.Changes) == 0 {
		run.result.Action = Nothing
		if todo.have != nil {
			todo.pr.State = forge.Closed
			err := run.withdraw(ctx, todo.pr, found)
			return run.result, "", err
		}
		return run.result, "", nil
	}
	todo.pr.State = forge.Open
	if err == nil {
		head = present.Commit
	}
	after := applied(files.Base.Files, files.Changes)
	if todo.lost, _ = run.foreign(after, found); todo.lost != nil {
		var b strings.Builder
		writeKept(&b, keptBranch(want.Head, todo.lost.Commit))
		todo.pr.Body = strings.TrimSpace(todo.pr.Body) + "\n" + b.String()
	}
	todo.first = todo.pr
	failed := run.propose(ctx, files.Base, after, found, todo)
	if run.result.Commit != "" {
		head = run.result.Commit
	}
	return run.result, head, failed
}
