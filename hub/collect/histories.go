package collect

import (
	"context"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

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
