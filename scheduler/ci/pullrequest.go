package ci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
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
// right away.
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
	all, err := f.PullRequests(ctx, p.Repo, p.Head, p.Base)
	if err != nil {
		return Opened{}, err
	}
	open := slices.IndexFunc(all, func(pr forge.PullRequest) bool { return pr.State == forge.Open })
	if len(changes) == 0 {
		if open >= 0 { // it would change nothing any more
			stale := all[open]
			stale.State = forge.Closed
			if _, err := f.SavePullRequest(ctx, p.Repo, stale); err != nil {
				return Opened{}, err
			}
		}
		return Opened{}, nil
	}
	opened := Opened{Changed: true, Summary: summary(base.Files, changes)}
	head, err := p.push(ctx, f, base, changes)
	if err != nil {
		return opened, err
	}
	wanted := forge.PullRequest{Head: p.Head, Base: p.Base, State: forge.Open}
	if open >= 0 {
		wanted = all[open]
	}
	wanted.Title, wanted.Body, wanted.Draft = p.Title, p.body(opened.Summary), false
	saved, err := f.SavePullRequest(ctx, p.Repo, wanted)
	if err != nil {
		return opened, err
	}
	opened.Number, opened.URL = saved.Number, saved.URL
	if len(p.Labels) > 0 {
		if err := f.Label(ctx, p.Repo, saved.Number, p.Labels); err != nil {
			return opened, fmt.Errorf("labels of pull request %d: %w", saved.Number, err)
		}
	}
	if !p.AutoMerge {
		return opened, nil
	}
	opened.MergeCommit, err = p.merge(ctx, f, saved.Number, head)
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

// push makes the branch of the pull request hold the changes on top of the
// base's head; a branch that does already stays, and so do the reviews of it.
func (p PullRequest) push(ctx context.Context, f Forge, base *model.Tree, changes []forge.Change) (head string, err error) {
	now, err := f.Read(ctx, model.Reference{Repo: p.URL, Branch: p.Head})
	switch {
	case errors.Is(err, forge.ErrNotFound):
	case err != nil:
		return "", err
	case applied(now.Files, base.Files, changes):
		return now.Commit, nil
	}
	return f.Commit(ctx, p.Repo, forge.CommitRequest{
		Branch: p.Head, Parent: base.Commit, Message: p.Title + "\n", When: p.Now.UTC().Truncate(time.Second), Changes: changes,
	})
}

func (p PullRequest) body(changes string) string {
	text := "```\n" + changes + "```\n"
	if p.Body != "" {
		text = strings.TrimSpace(p.Body) + "\n\n" + text
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
func replacement(branch, generated map[string][]byte) []forge.Change {
	ours := map[string]bool{}
	for name := range generated {
		if folder, _, ok := strings.Cut(name, "/"); ok {
			ours[folder] = true
		}
	}
	var changes []forge.Change
	for _, name := range slices.Sorted(maps.Keys(generated)) {
		if old, there := branch[name]; !there || !bytes.Equal(old, generated[name]) {
			changes = append(changes, forge.Change{Path: name, Content: append([]byte{}, generated[name]...)})
		}
	}
	for name := range branch {
		folder, _, ok := strings.Cut(name, "/")
		if _, stays := generated[name]; ok && ours[folder] && !stays {
			changes = append(changes, forge.Change{Path: name})
		}
	}
	slices.SortFunc(changes, func(a, b forge.Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}

// applied reports whether a tree is what another one becomes by the changes.
func applied(tree, before map[string][]byte, changes []forge.Change) bool {
	after := maps.Clone(before)
	for _, c := range changes {
		if c.Content == nil {
			delete(after, c.Path)
			continue
		}
		after[c.Path] = c.Content
	}
	return maps.EqualFunc(tree, after, bytes.Equal)
}

// summary lists changes for users, one a line.
func summary(before map[string][]byte, changes []forge.Change) string {
	var b strings.Builder
	for _, c := range changes {
		mark := "~"
		if _, there := before[c.Path]; !there {
			mark = "+"
		} else if c.Content == nil {
			mark = "-"
		}
		fmt.Fprintf(&b, "%s %s\n", mark, c.Path)
	}
	return b.String()
}
