package collect

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
	"golang.org/x/sync/errgroup"
)

const repositoriesAtOnce = 4

// The kinds of pull requests.
const (
	kindPlatform    = "platform"    // what the scheduler has planned
	kindPromotion   = "promotion"   // that, and it promotes a commit
	kindApplication = "application" // the manifests of an application
)

// pullSource asks the forge for the pull requests of the GitOps repositories: the
// platform's, and those of the applications.
type pullSource struct {
	source    *source
	collector *Collector
	whole     time.Time // when all repositories were asked for last; only touched by look

	mu      sync.Mutex                     // for what follows
	changed map[string]bool                // clone URLs of webhooks since the last look
	lists   map[string][]forge.PullRequest // by the forge's name of the repository
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
	for _, b := range c.pullBranches() {
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
	found := map[string][]forge.PullRequest{}
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
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
				return nil
			}
			found[name] = list
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
	if len(failed) > 0 {
		p.whole = time.Time{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	lists := map[string][]forge.PullRequest{}
	for name := range names {
		if list, ok := found[name]; ok {
			lists[name] = list
		} else if list, ok := p.lists[name]; ok {
			lists[name] = list
		}
	}
	p.lists = lists
	return errors.Join(failed...)
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
}

// pullBranches are those of all environments.
func (c *Collector) pullBranches() []pullBranch {
	var all []pullBranch
	for _, p := range c.planes {
		states, _ := p.states()
		for _, e := range states {
			if e.plan != nil && e.plan.GitOps.Repo != "" {
				all = append(all, pullBranch{branchKey{e.plan.GitOps.Repo, e.plan.GitOps.Branch}, e.name, true})
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for environment, branches := range c.follows {
		for b := range branches {
			all = append(all, pullBranch{b, environment, false})
		}
	}
	slices.SortFunc(all, func(a, b pullBranch) int {
		return cmp.Or(cmp.Compare(a.environment, b.environment), cmp.Compare(a.repo, b.repo), cmp.Compare(a.branch, b.branch))
	})
	return all
}

// pullRequests are those of each environment; nil before the forge has been asked.
func (p *pullSource) pullRequests() map[string][]store.PullRequest {
	branches := p.collector.pullBranches()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lists == nil {
		return nil
	}
	all := map[string][]store.PullRequest{}
	for _, b := range branches {
		if all[b.environment] == nil {
			all[b.environment] = []store.PullRequest{}
		}
		name, ok := p.collector.forge.Repo(b.repo)
		if !ok {
			continue
		}
		for _, pr := range p.lists[name] {
			if pr.Base != b.branch {
				continue
			}
			one := store.PullRequest{
				Environment: b.environment, Repo: redact.URL(b.repo), Number: pr.Number, Kind: kindApplication, Title: pr.Title, State: string(pr.State),
				Author: pr.Author, URL: pr.URL, Held: pr.Draft && slices.Contains(pr.Labels, forge.LabelMassDelete),
				Opened: pr.Created, Merged: pr.Merged, MergedBy: pr.MergedBy,
			}
			switch {
			case !b.platform:
			case pr.Head == publish.Branch(b.environment) && slices.Contains(pr.Labels, forge.LabelPromoted):
				one.Kind = kindPromotion
			default:
				one.Kind = kindPlatform
			}
			all[b.environment] = append(all[b.environment], one)
		}
	}
	return all
}
