package ci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
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

// How long a pull request is brought to its branch again when another run has
// changed what it goes to meanwhile.
const (
	overtakenTimeout = 3 * time.Minute
	overtakenPace    = 2 * time.Second
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
	Run       Run
}

// Run is the run of a workflow that brings the files, the zero value for none.
type Run struct {
	Workflow string // in one line, with its repository
	Number   int    // counts up by workflow
	Attempt  int    // from 1; a user has started a later one
}

var runMarker = regexp.MustCompile(`<!-- kalypso-run: (.*) (\d+) -->`)

func (r Run) marker() string {
	if r.Number == 0 {
		return ""
	}
	return fmt.Sprintf("\n\n<!-- kalypso-run: %s %d -->", r.Workflow, r.Number)
}

// newer returns the pull request of a later run of the same workflow, nil when there
// is none. A run that a user has started again is later than all others.
func (r Run) newer(list []forge.PullRequest) *forge.PullRequest {
	for i, pr := range list {
		m := runMarker.FindStringSubmatch(pr.Body)
		if m == nil || m[1] != r.Workflow || r.Number == 0 || r.Attempt > 1 || pr.State == forge.Closed {
			continue
		}
		if n, err := strconv.Atoi(m[2]); err == nil && n > r.Number {
			return &list[i]
		}
	}
	return nil
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
	Overtaken   bool   // a later run has brought its files: Number and URL are those of its pull request
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
	var opened Opened
	var moved bool
	err = retry.Until(ctx, "bringing the files to the branch", overtakenTimeout, func(ctx context.Context) error {
		if opened, moved, err = p.attempt(ctx, f, generated, moved); moved {
			return err
		}
		return retry.Permanent(err)
	}, retry.Backoff(overtakenPace/40, overtakenPace))
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

// attempt brings the files to the branch once. Where that fails it says whether
// another run has changed the branches or the pull request meanwhile, so that
// another attempt begins with something else; it is to make a commit anew.
func (p PullRequest) attempt(ctx context.Context, f Forge, generated map[string][]byte, anew bool) (opened Opened, moved bool, err error) {
	before, err := p.look(ctx, f)
	if err != nil {
		return Opened{}, false, err
	}
	head := before.head
	if pr := p.Run.newer(before.list); pr != nil {
		opened = Opened{Overtaken: true, Number: pr.Number, URL: pr.URL}
		err = p.giveWay(ctx, f, before, pr)
	} else {
		opened, head, err = p.open(ctx, f, before.base, generated, anew)
	}
	if err == nil && (p.AutoMerge || !opened.Changed || p.Run.Number == 0) {
		return opened, false, nil
	}
	after, failed := p.look(ctx, f)
	if err == nil && failed == nil && after.head != head {
		return opened, true, fmt.Errorf("branch %s of %s: %w", p.Head, p.Repo, forge.ErrMoved)
	}
	return opened, err != nil && failed == nil && (errors.Is(err, forge.ErrMoved) || after.isAnother(before, head)), err
}

// surroundings are what several runs write to.
type surroundings struct {
	base, head string // commits, "" for a branch that is not there
	list       []forge.PullRequest
}

func (p PullRequest) look(ctx context.Context, f Forge) (s surroundings, err error) {
	commit := func(branch string) (string, error) {
		at, err := f.Head(ctx, model.Reference{Repo: p.URL, Branch: branch})
		if errors.Is(err, forge.ErrNotFound) {
			return "", nil
		}
		return at, err
	}
	if s.base, err = commit(p.Base); err != nil {
		return s, err
	}
	if s.head, err = commit(p.Head); err != nil {
		return s, err
	}
	if s.list, err = f.PullRequests(ctx, p.Repo, p.Head, p.Base); errors.Is(err, forge.ErrNotFound) {
		err = nil // opening it says so
	}
	return s, err
}

// isAnother says whether others than a run that has pushed the commit own have
// changed anything.
func (s surroundings) isAnother(before surroundings, own string) bool {
	return s.base != before.base || s.head != before.head && s.head != own ||
		!slices.EqualFunc(s.list, before.list, func(a, b forge.PullRequest) bool { return a.Number == b.Number && a.State == b.State })
}

// giveWay closes what is still open of a run that a later one has overtaken.
func (p PullRequest) giveWay(ctx context.Context, f Forge, found surroundings, newer *forge.PullRequest) error {
	for _, pr := range found.list {
		m := runMarker.FindStringSubmatch(pr.Body)
		if pr.State != forge.Open || m == nil || m[1] != p.Run.Workflow || m[2] != strconv.Itoa(p.Run.Number) {
			continue
		}
		if err := f.Comment(ctx, p.Repo, pr.Number, fmt.Sprintf("A later run has brought newer files, see %s. Closing.", newer.URL)); err != nil {
			return err
		}
		pr.State = forge.Closed
		if _, err := f.SavePullRequest(ctx, p.Repo, pr); err != nil {
			return err
		}
		return p.removeBranch(ctx, f, pr.HeadCommit)
	}
	return nil
}

// removeBranch removes the pull request's branch, unless another run has pushed to
// it.
func (p PullRequest) removeBranch(ctx context.Context, f Forge, head string) error {
	at, err := f.Head(ctx, model.Reference{Repo: p.URL, Branch: p.Head})
	if errors.Is(err, forge.ErrNotFound) || err == nil && at != head {
		return nil
	}
	if err != nil {
		return err
	}
	return f.DeleteBranch(ctx, p.Repo, p.Head)
}

// open opens the pull request or brings it up to date, and returns the commit of its
// branch as well. What is changed is what a commit of the base lacks: a run that was
// not in the list of pull requests with that commit conflicts with this one then.
func (p PullRequest) open(ctx context.Context, f Forge, at string, generated map[string][]byte, anew bool) (opened Opened, head string, err error) {
	base, err := f.Read(ctx, model.Reference{Repo: p.URL, Branch: p.Base, Commit: at})
	if err != nil {
		if errors.Is(err, forge.ErrNotFound) {
			err = p.absent(ctx, f, err)
		}
		return Opened{}, "", err
	}
	changes := replacement(base.Files, generated)
	opened = Opened{Changed: len(changes) > 0, Summary: summary(changes)}
	result, head, err := publish.ApplyFiles(ctx, f, p.Repo, publish.Files{
		Base: base, Changes: changes, Now: p.Now, Anew: anew,
		PullRequest: forge.PullRequest{Title: markdown.Line(p.Title), Body: p.body(opened.Summary), Head: p.Head, Base: p.Base},
	})
	if err != nil || !opened.Changed {
		return Opened{}, head, err
	}
	opened.Number, opened.URL = result.PullRequest.Number, result.PullRequest.URL
	if len(p.Labels) > 0 {
		if err := f.Label(ctx, p.Repo, opened.Number, p.Labels); err != nil {
			return opened, head, fmt.Errorf("labels of pull request %d: %w", opened.Number, err)
		}
	}
	if !p.AutoMerge {
		return opened, head, nil
	}
	opened.MergeCommit, err = p.merge(ctx, f, opened.Number, head)
	if errors.Is(err, forge.ErrQueued) {
		opened.Queued = true
		return opened, head, nil
	}
	opened.Merged = err == nil
	return opened, head, err
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
	return text + p.Run.marker()
}

// merge merges the pull request and removes its branch.
func (p PullRequest) merge(ctx context.Context, f Forge, number int, head string) (string, error) {
	var commit string
	err := retry.Until(ctx, fmt.Sprintf("merging pull request %d", number), mergeTimeout, func(context.Context) (err error) { // a merge that is under way is not cut off
		commit, err = f.Merge(ctx, p.Repo, number, head)
		if errors.Is(err, forge.ErrNotYet) && !p.isOvertaken(ctx, f, number, head) {
			return err
		}
		return retry.Permanent(err)
	}, retry.Backoff(mergePace/10, mergePace))
	if err != nil {
		return "", withHint(err, "the pull request stays open: merge it by hand, or run this step again")
	}
	return commit, p.removeBranch(ctx, f, head)
}

// isOvertaken says whether waiting for a merge is in vain, since another run has
// pushed to the branch or removed it.
func (p PullRequest) isOvertaken(ctx context.Context, f Forge, number int, head string) bool {
	list, err := f.PullRequests(ctx, p.Repo, p.Head, p.Base)
	return err == nil && !slices.ContainsFunc(list, func(pr forge.PullRequest) bool {
		return pr.Number == number && pr.State != forge.Closed && pr.HeadCommit == head
	})
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
