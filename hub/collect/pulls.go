package collect

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/hub/propose"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
	"golang.org/x/sync/errgroup"
)

const repositoriesAtOnce = 4

// The kinds of pull requests. Those of control planes are no changes: what the scheduler
// makes of them is.
const (
	kindPlatform     = "platform"      // what the scheduler has planned
	kindPromotion    = "promotion"     // that, and it promotes a commit
	kindApplication  = "application"   // the manifests of an application
	kindControlPlane = "control-plane" // the platform's model
)

// pullSource asks the forge for the pull requests of the GitOps repositories, the
// platform's and those of the applications, and of the control planes.
type pullSource struct {
	source    *source
	collector *Collector
	whole     time.Time // when all repositories were asked for last; only touched by look

	mu      sync.Mutex                     // for what follows
	changed map[string]bool                // clone URLs of webhooks since the last look
	lists   map[string][]forge.PullRequest // by the forge's name of the repository
	checks  map[pullKey]checks             // of those that are open, or were
	tried   map[string]bool                // the repositories that were asked for once, whatever came of it
	asked   map[string]time.Time           // when the repository's were listed last
}

// pullKey finds a pull request, by the forge's name of its repository.
type pullKey struct {
	repo   string
	number int
}

// checks are the statuses of a pull request's newest commit together, and the one that
// decides them; and whether users have approved it. One that is not open has the latter alone.
type checks struct {
	state    forge.StatusState // "" for none
	context  string
	approval forge.Approval
}

// hint has the next look ask about a repository, and no other that is known.
func (p *pullSource) hint(repo string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = map[string]bool{}
	}
	p.changed[repo] = true
}

func (p *pullSource) look(ctx context.Context) error {
	c := p.collector
	names := map[string]bool{} // of the repositories to ask for
	for _, b := range append(c.pullBranches(), c.controlBranches()...) {
		if name, ok := c.forge.Repo(b.repo); ok {
			names[name] = true
		}
	}
	p.mu.Lock()
	changed := map[string]bool{}
	for url := range p.changed {
		if name, ok := c.forge.Repo(url); ok {
			changed[name] = true
		}
	}
	p.changed = nil
	whole := time.Since(p.whole) >= pullRequestsInterval
	asked := maps.Clone(names)
	maps.DeleteFunc(asked, func(name string, _ bool) bool {
		_, known := p.lists[name]
		return known && !whole && !changed[name]
	})
	p.mu.Unlock()
	if whole {
		p.whole = time.Now()
	}
	began := time.Now()
	found, statuses := map[string][]forge.PullRequest{}, map[pullKey]checks{}
	var failed []error
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(repositoriesAtOnce)
	for name := range asked {
		group.Go(func() error {
			list, err := c.forge.LatestPullRequests(ctx, name)
			if err == nil {
				err = p.addMergers(ctx, name, list)
			}
			var of map[pullKey]checks
			if err == nil {
				of, err = p.checksOf(ctx, name, list)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
				return nil
			}
			found[name] = list
			maps.Copy(statuses, of)
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
	if len(failed) > 0 {
		p.whole = time.Time{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range asked {
		p.tried[name] = true
	}
	lists := map[string][]forge.PullRequest{}
	for name := range names {
		if list, ok := found[name]; ok {
			lists[name], p.asked[name] = list, began
		} else if list, ok := p.lists[name]; ok {
			lists[name] = list
		}
	}
	for k, one := range p.checks {
		if _, asked := found[k.repo]; !asked {
			statuses[k] = one
		}
	}
	p.lists, p.checks = lists, statuses
	notify(c.changes.source.wake)
	return errors.Join(failed...)
}

// approvalsEach is how many of a repository's newest pull requests that are merged are asked for
// who has approved them, unless they were open before: each is a request.
const approvalsEach = 10

// checksOf asks for the statuses and the approvals of those that are open, and once for the
// approvals of those that are merged.
func (p *pullSource) checksOf(ctx context.Context, repo string, list []forge.PullRequest) (map[pullKey]checks, error) {
	found := map[pullKey]checks{}
	p.mu.Lock()
	before := map[int]forge.State{}
	for _, pr := range p.lists[repo] {
		before[pr.Number] = pr.State
	}
	known := maps.Clone(p.checks)
	p.mu.Unlock()
	for i, pr := range list {
		key := pullKey{repo, pr.Number}
		was, asked := known[key]
		open := pr.State == forge.Open && pr.HeadCommit != ""
		if !open && (pr.State != forge.Merged || asked && before[pr.Number] == forge.Merged || !asked && i >= approvalsEach) {
			if asked {
				found[key] = checks{approval: was.approval}
			}
			continue
		}
		var now checks
		if open {
			if err := propose.Watch(ctx, p.collector.forge, p.collector.Key(), repo, pr); err != nil {
				return nil, err
			}
			all, err := p.collector.forge.Checks(ctx, repo, pr.HeadCommit)
			if err != nil && !errors.Is(err, forge.ErrNotFound) {
				return nil, err
			}
			now = together(all)
		}
		reviews, err := p.collector.forge.Reviews(ctx, repo, pr.Number)
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return nil, err
		}
		now.approval = forge.ApprovalOf(reviews)
		found[key] = now
	}
	return found, nil
}

// together are several statuses as one: what fails goes before what is not done.
func together(all []forge.Status) checks {
	for _, state := range []forge.StatusState{forge.Failure, forge.Pending, forge.Success} {
		if i := slices.IndexFunc(all, func(s forge.Status) bool { return s.State == state }); i >= 0 {
			return checks{state: state, context: all[i].Context}
		}
	}
	return checks{}
}

// addMergers adds who has merged the pull requests of a repository. The forge is asked about
// each once.
func (p *pullSource) addMergers(ctx context.Context, repo string, list []forge.PullRequest) error {
	p.mu.Lock()
	known := map[int]string{}
	for _, pr := range p.lists[repo] {
		known[pr.Number] = pr.MergedBy
	}
	p.mu.Unlock()
	for i := range list {
		pr := &list[i]
		if pr.State != forge.Merged || pr.MergedBy != "" {
			continue
		}
		if pr.MergedBy = known[pr.Number]; pr.MergedBy != "" {
			continue
		}
		var err error
		if pr.MergedBy, err = p.collector.forge.MergedBy(ctx, repo, pr.Number); err != nil {
			return err
		}
	}
	return nil
}

// pullBranch is a branch that pull requests of an environment go to.
type pullBranch struct {
	branchKey
	environment string
	platform    bool // it is the environment's own
	control     bool // it is one of a control plane: the environment's, or with environment "" of all
}

// controlBranches are those of the control planes.
func (c *Collector) controlBranches() []pullBranch {
	var all []pullBranch
	for _, p := range c.planes {
		states, _ := p.states()
		own := branchKey{p.ref.Repo, p.ref.Branch}
		all = append(all, pullBranch{branchKey: own, control: true})
		for _, e := range states {
			if b := (branchKey{e.ref.Repo, e.ref.Branch}); b != own {
				all = append(all, pullBranch{branchKey: b, environment: e.name, control: true})
			}
		}
	}
	return all
}

// pullBranches are those of all environments that placements come from.
func (c *Collector) pullBranches() []pullBranch {
	var all []pullBranch
	for _, p := range c.planes {
		states, _ := p.states()
		for _, e := range states {
			if e.plan != nil && e.plan.GitOps.Repo != "" {
				all = append(all, pullBranch{branchKey: branchKey{e.plan.GitOps.Repo, e.plan.GitOps.Branch}, environment: e.name, platform: true})
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for environment, branches := range c.follows {
		for b := range branches {
			all = append(all, pullBranch{branchKey: b, environment: environment})
		}
	}
	slices.SortFunc(all, func(a, b pullBranch) int {
		return cmp.Or(cmp.Compare(a.environment, b.environment), cmp.Compare(a.repo, b.repo), cmp.Compare(a.branch, b.branch))
	})
	return all
}

// pullRequests are those of each environment that the forge has been asked about; nil before
// it has been asked.
func (p *pullSource) pullRequests() map[string][]store.PullRequest {
	branches := append(p.collector.pullBranches(), p.collector.controlBranches()...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lists == nil {
		return nil
	}
	all, untried, unknown := map[string][]store.PullRequest{}, map[string]bool{}, map[string]bool{}
	for _, b := range branches {
		if all[b.environment] == nil {
			all[b.environment] = []store.PullRequest{}
		}
		name, ok := p.collector.forge.Repo(b.repo)
		if ok && !p.tried[name] {
			untried[b.environment] = true
		}
		for _, pr := range p.lists[name] {
			if pr.Base != b.branch {
				continue
			}
			one := store.PullRequest{
				Environment: b.environment, Repo: redact.URL(b.repo), Number: pr.Number, Kind: b.kindOf(pr), Title: pr.Title, State: string(pr.State),
				Author: pr.Author, URL: pr.URL, Held: isHeld(pr), Opened: pr.Created, Merged: pr.Merged, MergedBy: pr.MergedBy,
			}
			if pr.State == forge.Open {
				of := p.checks[pullKey{name, pr.Number}]
				one.Checks, one.Reason = string(of.state), waitsFor(pr, of)
			}
			if !b.control {
				var known bool
				one.Size, one.Clusters, known = p.collector.changes.reachOf(b, pr.Number)
				unknown[b.environment] = unknown[b.environment] || !known
			}
			all[b.environment] = append(all[b.environment], one)
		}
	}
	for _, plane := range p.collector.planes {
		states, _ := plane.states()
		for _, e := range states {
			// to which branch they go is not known, or what they change
			if e.plan == nil || unknown[e.name] {
				delete(all, e.name)
			}
		}
	}
	for environment := range untried { // what was known of it stays until then
		delete(all, environment)
		notify(p.source.wake)
	}
	return all
}

// on are the pull requests to a branch, and the checks of those that are open.
func (p *pullSource) on(b pullBranch) ([]forge.PullRequest, map[pullKey]checks) {
	name, ok := p.collector.forge.Repo(b.repo)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok {
		return nil, nil
	}
	var all []forge.PullRequest
	for _, pr := range p.lists[name] {
		if pr.Base == b.branch {
			all = append(all, pr)
		}
	}
	return all, p.checks
}

// askedSince is whether the pull requests to a branch were asked for after a time. If not,
// they are asked for again; a forge that does not answer is left to its own pace.
func (p *pullSource) askedSince(b pullBranch, at time.Time) bool {
	name, ok := p.collector.forge.Repo(b.repo)
	p.mu.Lock()
	since := !ok || p.asked[name].After(at)
	p.mu.Unlock()
	if !since && !p.collector.fails(p.source) {
		p.hint(b.repo)
		notify(p.source.wake)
	}
	return since
}

// kindOf is the kind of a pull request to the branch.
func (b pullBranch) kindOf(pr forge.PullRequest) string {
	switch {
	case b.control:
		return kindControlPlane
	case !b.platform:
		return kindApplication
	case pr.Head == publish.Branch(b.environment) && slices.Contains(pr.Labels, forge.LabelPromoted):
		return kindPromotion
	}
	return kindPlatform
}

func isHeld(pr forge.PullRequest) bool {
	return pr.Draft && slices.Contains(pr.Labels, forge.LabelMassDelete)
}

// waitsFor is what an open pull request waits for.
func waitsFor(pr forge.PullRequest, of checks) string {
	switch {
	case isHeld(pr):
		return "it removes much: it is held until a user takes off the label " + forge.LabelMassDelete
	case pr.Draft:
		return "it is a draft"
	case of.state == forge.Failure:
		return "check " + of.context + " has failed"
	case of.state == forge.Pending:
		return "waits for check " + of.context
	}
	if of.approval.By != "" {
		return of.approval.By + " has approved it: it waits for the merge"
	}
	return "waits for a review and the merge"
}
