package propose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/markdown"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// FourEyes is the context of the status that a proposal has which the hub has opened: pending
// until somebody else than its author has approved. A forge lets nobody approve their own pull
// request, and this one is nobody's who may approve.
const FourEyes = "kalypso/four-eyes"

// Watch brings the status of a pull request to who has approved it. It does nothing about those
// that are no proposals, or their author's own. The account is the hub's, and the key that of its
// proposals.
func Watch(ctx context.Context, f controller.Repositories, key Key, repo string, pr forge.PullRequest) error {
	if pr.State != forge.Open || !strings.HasPrefix(pr.Head, branchPrefix) {
		return nil
	}
	m := key.marker(repo, pr)
	if m.environment == "" || m.own {
		return nil
	}
	_, err := fourEyes(ctx, f, repo, pr, m, pr.HeadCommit)
	return err
}

// fourEyes sets the status of the commit of a proposal, unless it is so, and is whether it waits. One
// whose author is not known waits though somebody has approved it: that may be the author.
func fourEyes(ctx context.Context, f controller.Repositories, repo string, pr forge.PullRequest, m marker, commit string) (waits bool, err error) {
	want := forge.Status{Context: FourEyes, State: forge.Pending, URL: pr.URL, Description: "its text was edited, and who has proposed it is not known any more: propose it again"}
	if m.author != "" {
		want.Description = fitted(fmt.Sprintf("waits for the approval of somebody else than %s", markdown.Line(m.author)))
		if approver, err := approvedBy(ctx, f, repo, pr, commit, m.author); err != nil {
			return true, err
		} else if approver != "" {
			want.State, want.Description = forge.Success, fitted("approved by "+approver)
		}
	}
	all, err := f.Statuses(ctx, repo, commit)
	if err != nil {
		return true, err
	}
	if i := slices.IndexFunc(all, func(s forge.Status) bool { return s.Context == FourEyes }); i < 0 || all[i].State != want.State || all[i].Description != want.Description {
		err = f.SetStatus(ctx, repo, commit, want)
	}
	return want.State == forge.Pending, err
}

// approvedBy is an account that has approved a commit, and is neither the author's nor that of who
// has opened the pull request; "" for none.
func approvedBy(ctx context.Context, f controller.Repositories, repo string, pr forge.PullRequest, commit, author string) (string, error) {
	all, err := f.Reviews(ctx, repo, pr.Number)
	if err != nil {
		return "", err
	}
	for _, r := range forge.LastOf(all) {
		if r.Verdict == forge.Approves && r.Commit == commit && !strings.EqualFold(r.By, pr.Author) && !strings.EqualFold(r.By, author) {
			return r.By, nil
		}
	}
	return "", nil
}

// waits is whether a proposal still waits for somebody else.
func waits(ctx context.Context, f controller.Repositories, repo string, pr forge.PullRequest, m marker) (bool, error) {
	if pr.State != forge.Open || m.own {
		return false, nil
	}
	all, err := f.Statuses(ctx, repo, pr.HeadCommit)
	i := slices.IndexFunc(all, func(s forge.Status) bool { return s.Context == FourEyes })
	return i < 0 || all[i].State != forge.Success, err
}

// maxDescription is how long the description of a status may be on a forge, in bytes.
const maxDescription = 140

func fitted(s string) string {
	if len(s) <= maxDescription {
		return s
	}
	return strings.ToValidUTF8(s[:maxDescription-len("…")], "") + "…"
}
