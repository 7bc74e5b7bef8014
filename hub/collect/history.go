package collect

import (
	"context"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/kalypso-dev/kalypso/hub/history"
	"github.com/kalypso-dev/kalypso/internal/addresses"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

// historyInterval is how often branches are fetched whose heads no control plane asks for.
const historyInterval = 5 * time.Minute

// keptConfigurations is how many commits' configurations are kept: a list that is read page by
// page asks for the same again.
const keptConfigurations = 8

// historySource reads what git says should run, at every commit.
type historySource struct {
	source    *source
	collector *Collector
	reader    *history.Reader
	whole     time.Time // when all branches were asked for last; only touched by look
	kept      *lru.Cache[keptKey, []history.ConfigValue]

	mu      sync.Mutex
	planned map[string]planned // by environment
}

// planned is the configuration of a plan.
type planned struct {
	history.Configuration
	of *view.Plan
}

type keptKey struct {
	branch model.Reference
	commit string
}

func newHistorySource(c *Collector) *historySource {
	kept, _ := lru.New[keptKey, []history.ConfigValue](keptConfigurations) // fails for a size below 1
	return &historySource{collector: c, kept: kept, planned: map[string]planned{}, reader: &history.Reader{
		Store: c.options.Store, Forge: c.forge, Folder: c.options.Mirrors, Addresses: addresses.NewReplacer(c.options.Scheduler.Addresses), Log: c.log,
	}}
}

func (h *historySource) look(ctx context.Context) error {
	var environments []model.Reference
	ready := true // all environments are known
	for _, p := range h.collector.planes {
		states, read := p.states()
		ready = ready && read
		for _, e := range states {
			ready = ready && (e.plan != nil || e.err != nil)
			if e.plan != nil && e.plan.GitOps.Repo != "" {
				environments = append(environments, e.plan.GitOps)
			}
		}
	}
	whole := time.Since(h.whole) >= historyInterval
	results, err := h.reader.Read(ctx, environments, func(repo, branch string) (string, bool) {
		for _, p := range h.collector.planes {
			if head := p.headKnown(model.Reference{Repo: repo, Branch: branch}); head != "" {
				return head, false
			}
		}
		return "", whole
	})
	for _, r := range results {
		h.collector.metrics.commits.Add(float64(r.New))
		if r.New > 0 {
			notify(h.collector.changes.source.wake)
		}
	}
	switch {
	case err != nil:
		h.whole = time.Time{}
	case whole && ready:
		h.whole = time.Now()
	}
	return err
}

// configuration is that of a commit, which does not change.
func (h *historySource) configuration(ctx context.Context, branch model.Reference, commit string) ([]history.ConfigValue, error) {
	key := keptKey{branch, commit}
	if known, ok := h.kept.Get(key); ok {
		return known, nil
	}
	values, err := h.reader.Configuration(ctx, branch, commit)
	if err == nil {
		h.kept.Add(key, values)
	}
	return values, err
}

// Configuration is the platform configuration of an environment: as it is planned now, or with
// a commit of its GitOps branch as that has it. The error wraps store.ErrNotFound for an
// environment that there is not.
func (c *Collector) Configuration(ctx context.Context, environment, commit string) (history.Configuration, error) {
	made, err := c.planOf(environment)
	if err != nil {
		return history.Configuration{}, err
	}
	found := history.Configuration{}
	if commit != "" {
		found.Values, err = c.history.configuration(ctx, made.GitOps, commit)
		return found, err
	}
	for _, p := range c.planes {
		states, _ := p.states()
		for _, e := range states {
			if e.name == environment && e.err != nil {
				found.Error = redact.Error(e.err).Error()
			}
		}
	}
	for _, p := range made.Problems {
		if p.Severity == model.Error {
			found.Problems++
		}
	}
	planned := c.history.plannedConfiguration(environment, made)
	found.Values, found.Changed = planned.Values, planned.Changed
	return found, nil
}

// plannedConfiguration is what a plan has of the configuration: it is asked for far more often
// than there is another plan.
func (h *historySource) plannedConfiguration(environment string, made *view.Plan) history.Configuration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.planned[environment]; ok && known.of == made {
		return known.Configuration
	}
	found := history.Configuration{Changed: map[string]bool{}}
	for _, change := range made.Changes {
		if _, target, ok := publish.PairOf(made.GitOps.Path, change.Path); ok {
			found.Changed[target] = true
		}
	}
	for _, a := range made.Assignments {
		for _, v := range a.Config {
			found.Values = append(found.Values, history.ConfigValue{
				ClusterType: a.ClusterType, Target: a.Target, Key: v.Key, Value: v.Value, ConfigMap: v.Source.ConfigMap, Position: v.Source.Position,
			})
		}
	}
	h.planned[environment] = planned{found, made}
	return found
}

const (
	// rememberedVersions bounds how many commits' versions are kept.
	rememberedVersions = 4096
	// failureKept is for how long a branch that cannot be read is not read again.
	failureKept = 30 * time.Second
)

// histories keeps what was read of the branches that clusters follow: clusters are asked
// far more often than branches move.
type histories struct {
	forge    controller.Repositories
	versions *lru.Cache[versionKey, versions]

	mu  sync.Mutex
	all map[branchKey]*branchHistory
}

type (
	branchKey  struct{ repo, branch string }
	versionKey struct {
		environment string
		branchKey
		commit string
	}
	// versions are those of a commit by target; until says when they are read again, zero
	// for never.
	versions struct {
		all   map[string]string
		err   error
		until time.Time
	}
)

// branchHistory is that of a branch, or why it could not be read.
type branchHistory struct {
	*gitclient.History
	folders []string // that it says something about
	err     error
	read    time.Time
}

func newHistories(forge controller.Repositories) *histories {
	kept, _ := lru.New[versionKey, versions](rememberedVersions) // fails for a size below 1
	return &histories{forge: forge, versions: kept, all: map[branchKey]*branchHistory{}}
}

// of is the Git of an environment.
func (h *histories) of(environment string) placement.Git {
	return remembered{h, placement.Platform{Repositories: h.forge, Environment: environment}}
}

// remembered is a placement.Git that reads each thing once.
type remembered struct {
	*histories
	git placement.Platform
}

// History implements placement.Git.
func (r remembered) History(ctx context.Context, repo, branch string, folders []string) (*gitclient.History, error) {
	key := branchKey{repo, branch}
	r.mu.Lock()
	known := r.all[key]
	r.mu.Unlock()
	now := &branchHistory{folders: slices.Clone(folders), read: time.Now()}
	if known != nil {
		lacks := slices.ContainsFunc(folders, func(f string) bool { return !slices.Contains(known.folders, f) })
		if known.err == nil && !lacks || known.err != nil && time.Since(known.read) < failureKept {
			return known.History, known.err
		}
		// environments may follow one branch
		now.folders = slices.Compact(slices.Sorted(slices.Values(append(now.folders, known.folders...))))
	}
	now.History, now.err = r.git.History(ctx, repo, branch, now.folders)
	if now.err != nil && ctx.Err() != nil {
		return nil, now.err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[key] = now
	return now.History, now.err
}

// Versions implements placement.Git.
func (r remembered) Versions(ctx context.Context, repo, branch, commit string) (map[string]string, error) {
	key := versionKey{r.git.Environment, branchKey{repo, branch}, commit}
	if known, ok := r.versions.Get(key); ok && (known.until.IsZero() || time.Now().Before(known.until)) {
		return known.all, known.err
	}
	all, err := r.git.Versions(ctx, repo, branch, commit)
	now := versions{all: all, err: err}
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		now.until = time.Now().Add(failureKept)
	}
	r.versions.Add(key, now)
	return all, err
}

// heads are the newest commits of the branches that were read.
func (h *histories) heads() map[branchKey]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[branchKey]string{}
	for key, one := range h.all {
		if one.err == nil {
			all[key] = one.Commits[0].ID
		}
	}
	return all
}

// known is what was read of a branch, nil where it was not or could not be read.
func (h *histories) known(branch branchKey) *gitclient.History {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.all[branch]; one != nil && one.err == nil {
		return one.History
	}
	return nil
}

// forget has a branch read again.
func (h *histories) forget(branch branchKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, branch)
}
