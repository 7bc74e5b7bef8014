package ci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/markdown"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// How long a merge is tried: a forge needs a moment to see that a new pull
// request can be merged.
const (
	mergeTimeout = 30 * time.Second
	mergePace    = 500 * time.Millisecond
)

// PullRequest says what to bring to a GitOps repository.
type PullRequest struct {
	Repo   string // owner/name
	URL    string // the repository's
	Base   string // the branch of the environment
	Head   string // the branch of the pull request, below kalypso/
	Folder string // the generated files

	Title     string
	Body      string // text ahead of the list of changes
	Labels    []string
	AutoMerge bool
	Now       time.Time
}

// Opened is what CreatePullRequest has done.
type Opened struct {
	Changed     bool // false: the branch has all of it already, and there is no pull request
	Number      int
	URL         string
	Merged      bool
	Queued      bool // the forge merges it when it has the reviews and checks that it needs
	MergeCommit string
	Summary     string // the changes, one a line
}

// Head is the branch of the pull request from one repository to an environment.
// There is one at a time: a later run takes it over, so that what waits for a
// review is always the newest.
func Head(source, base string) string {
	return forge.BranchPrefix + source + "-to-" + strings.ReplaceAll(base, "/", "-")
}

// CreatePullRequest opens a pull request with the files of a folder, or brings
// the open one between the same branches up to date. A folder of generated
// files replaces the folder of its name as a whole. With AutoMerge it is merged
// right away, or by the forge as soon as that is possible.
func CreatePullRequest(ctx context.Context, f Forge, p PullRequest) (Opened, error) {
	generated, err := p.check()
	if err != nil {
		return Opened{}, err
	}
	opened, err := p.open(ctx, f, generated)
	return opened, wrap(err, "pull request to branch %s of %s", p.Base, p.Repo)
}

// check reads the generated files and refuses what cannot become a pull
// request.
func (p PullRequest) check() (map[string][]byte, error) {
	switch {
	case p.Base == "":
		return nil, usage.Errorf("a pull request to which branch? Give --base")
	case p.Folder == "":
		return nil, usage.Errorf("a pull request with what? Give --from FOLDER")
	case !forge.OwnBranch(p.Head):
		return nil, usage.Errorf("branch %q is not below %s: a pull request's branch is overwritten", p.Head, forge.BranchPrefix)
	}
	generated, err := readFolder(p.Folder)
	if err != nil {
		return nil, withHint(fmt.Errorf("generated files: %w", err), "run `kalypso ci render` ahead of this step, with the same folder in --to")
	}
	if len(generated) == 0 {
		return nil, withHint(fmt.Errorf("folder %s has no files", p.Folder), "run `kalypso ci render` ahead of this step, with the same folder in --to")
	}
	return generated, nil
}

func (p PullRequest) open(ctx context.Context, f Forge, generated map[string][]byte) (Opened, error) {
	base, err := f.Read(ctx, model.Reference{Repo: p.URL, Branch: p.Base})
	if err != nil {
		if errors.Is(err, forge.ErrNotFound) {
			err = p.absent(ctx, f, err)
		}
		return Opened{}, err
	}
	changes := replacement(base.Files, generated)
	opened := Opened{Changed: len(changes) > 0, Summary: summary(changes)}
	result, head, err := publish.ApplyFiles(ctx, f, p.Repo, publish.Files{
		Base: base, Changes: changes, Now: p.Now,
		PullRequest: forge.PullRequest{Title: markdown.Line(p.Title), Body: p.body(opened.Summary), Head: p.Head, Base: p.Base},
	})
	if err != nil || !opened.Changed {
		return Opened{}, err
	}
	opened.Number, opened.URL = result.PullRequest.Number, result.PullRequest.URL
	if len(p.Labels) > 0 {
		if err := f.Label(ctx, p.Repo, opened.Number, p.Labels); err != nil {
			return opened, fmt.Errorf("labels of pull request %d: %w", opened.Number, err)
		}
	}
	if !p.AutoMerge {
		return opened, nil
	}
	opened.MergeCommit, err = p.merge(ctx, f, opened.Number, head)
	if errors.Is(err, forge.ErrQueued) {
		opened.Queued = true
		return opened, nil
	}
	opened.Merged = err == nil
	return opened, err
}

// absent adds to the error of a base that is not there what to do about it.
func (p PullRequest) absent(ctx context.Context, f Forge, err error) error {
	if _, repo := f.PullRequests(ctx, p.Repo, p.Head, p.Base); errors.Is(repo, forge.ErrNotFound) {
		return withHint(err, "check the name in --repo, and that the token may see the repository")
	}
	return withHint(err, "the branch of each environment must be there before the first deployment: create it, empty but for a README")
}

func (p PullRequest) body(changes string) string {
	text := markdown.Fence(changes)
	if p.Body != "" {
		text = strings.TrimSpace(redact.Text(p.Body)) + "\n\n" + text
	}
	return text
}

// merge merges the pull request and removes its branch.
func (p PullRequest) merge(ctx context.Context, f Forge, number int, head string) (string, error) {
	var commit string
	err := retry.Until(ctx, fmt.Sprintf("merging pull request %d", number), mergeTimeout, func(ctx context.Context) (err error) {
		commit, err = f.Merge(ctx, p.Repo, number, head)
		if errors.Is(err, forge.ErrNotYet) {
			return err
		}
		return retry.Permanent(err)
	}, retry.Backoff(mergePace/10, mergePace))
	if err != nil {
		return "", withHint(err, "the pull request stays open: merge it by hand, or run this step again")
	}
	return commit, f.DeleteBranch(ctx, p.Repo, p.Head)
}

// readFolder reads all regular files at or below a folder, by slash-separated
// path from it. It follows no links: one could lead to the runner's secrets.
func readFolder(folder string) (map[string][]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := map[string][]byte{}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		files[name], err = root.ReadFile(name)
		return err
	})
	return files, err
}

// replacement works out how a branch changes when generated files take their
// place in it: a folder of theirs is replaced as a whole, so that what is
// generated no more goes away; files at the root come beside what is there.
// Sorted by path.
func replacement(branch, generated map[string][]byte) []plan.Change {
	ours := map[string]bool{}
	var changes []plan.Change
	for name, content := range generated {
		if folder, _, ok := strings.Cut(name, "/"); ok {
			ours[folder] = true
		}
		if old, there := branch[name]; !there {
			changes = append(changes, plan.Change{Path: name, Action: plan.Add, Content: content})
		} else if !bytes.Equal(old, content) {
			changes = append(changes, plan.Change{Path: name, Action: plan.Modify, Content: content})
		}
	}
	for name := range branch {
		folder, _, ok := strings.Cut(name, "/")
		if _, stays := generated[name]; ok && ours[folder] && !stays {
			changes = append(changes, plan.Change{Path: name, Action: plan.Remove})
		}
	}
	slices.SortFunc(changes, func(a, b plan.Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}

// summary lists changes for users, one a line.
func summary(changes []plan.Change) string {
	var b strings.Builder
	for _, c := range changes {
		mark := map[plan.Action]string{plan.Add: "+", plan.Modify: "~", plan.Remove: "-"}[c.Action]
		fmt.Fprintf(&b, "%s %s\n", mark, c.Path)
	}
	return b.String()
}
