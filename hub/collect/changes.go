package collect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

const (
	// directEach is how many of a branch's newest commits are looked at for those that no pull
	// request has brought.
	directEach = 50
	// treesEach is how many of an application's newest pull requests are read for the commits
	// that they were made of: each is one tree.
	treesEach = 10
)

// changeSource finds out of changes what the forge's lists do not say: what they were made
// of and how much they change. Each commit and each tree is asked for once: the store
// remembers.
type changeSource struct {
	source    *source
	collector *Collector

	mu      sync.Mutex // for what follows
	facts   map[changeKey]*changeFacts
	direct  map[pullBranch][]store.Commit          // that no pull request has brought
	commits *lru.Cache[string, store.SourceCommit] // that were asked for, by their IDs
	pulled  map[changeKey][]forge.CommitHead
	failed  map[pullBranch]bool // whose last look has failed

	progress changeProgress // only touched by the writer
}

// changeKey finds a change: a pull request, or with number 0 a commit.
type changeKey struct {
	environment string
	branchKey
	number int
	sha    string
}

func (b pullBranch) key(number int) changeKey {
	return changeKey{environment: b.environment, branchKey: b.branchKey, number: number}
}

// changeFacts are those of a pull request as it was at one commit and in one state.
type changeFacts struct {
	head         string
	state        forge.State
	size         *store.Size
	clusterTypes []string // whose assignments it changes; nil for all
	planned      time.Time
	sources      []store.SourceCommit
	clusters     int // that it changes something on; of the writer's last round
}

// rememberedCommits bounds how many commits' authors are kept.
const rememberedCommits = 4096

func newChangeSource(c *Collector) *changeSource {
	commits, _ := lru.New[string, store.SourceCommit](rememberedCommits) // fails for a size below 1
	return &changeSource{
		collector: c, facts: map[changeKey]*changeFacts{}, direct: map[pullBranch][]store.Commit{}, commits: commits, pulled: map[changeKey][]forge.CommitHead{}, failed: map[pullBranch]bool{},
		progress: changeProgress{sent: map[changeKey]string{}, settled: map[changeKey]bool{}, sized: map[changeKey]bool{}, orders: map[branchKey]*order{}},
	}
}

// look brings the facts to what the forge has said last. A branch that fails keeps what is
// known of it.
func (s *changeSource) look(ctx context.Context) error {
	histories, err := s.collector.options.Store.Histories(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, b := range s.collector.pullBranches() {
		list, _ := s.collector.pulls.on(b)
		err := s.lookAt(ctx, b, list)
		if err == nil {
			err = s.lookForDirect(ctx, b, list, histories)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.mu.Lock()
		s.failed[b] = err != nil
		s.mu.Unlock()
		if err != nil {
			failed = append(failed, fmt.Errorf("changes of branch %s of %s: %w", b.branch, redact.URL(b.repo), err))
		}
	}
	return errors.Join(failed...)
}

// lookAt looks at the pull requests to a branch, which are the newest first.
func (s *changeSource) lookAt(ctx context.Context, b pullBranch, list []forge.PullRequest) error {
	var known map[int]store.KnownChange // nil before it was needed
	for i, pr := range list {
		key := b.key(pr.Number)
		was, seen := s.factsOf(key)
		if seen && was.head == pr.HeadCommit && was.state == pr.State && (was.size != nil || !b.platform || pr.State == forge.Closed) {
			continue
		}
		if known == nil {
			var err error
			if known, err = s.collector.options.Store.KnownChanges(ctx, b.environment, redact.URL(b.repo), b.branch); err != nil {
				return err
			}
		}
		now := &changeFacts{head: pr.HeadCommit, state: pr.State}
		if k, ok := known[pr.Number]; ok {
			now.planned = k.Planned
			if k.Head == pr.HeadCommit {
				now.size, now.sources = k.Size, k.Sources
			}
		}
		now.clusterTypes, now.clusters = was.clusterTypes, was.clusters
		var err error
		if b.platform {
			err = s.lookAtPlan(ctx, b, pr, list[i+1:], now)
		} else if i < treesEach && len(now.sources) == 0 && pr.State != forge.Closed {
			now.sources, err = s.applicationSources(ctx, b, pr)
		}
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.facts[key] = now
		s.mu.Unlock()
	}
	return nil
}

func (s *changeSource) factsOf(key changeKey) (changeFacts, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.facts[key]; f != nil {
		return *f, true
	}
	return changeFacts{}, false
}

// lookAtPlan looks at a pull request to an environment's own branch. older are those before
// it.
func (s *changeSource) lookAtPlan(ctx context.Context, b pullBranch, pr forge.PullRequest, older []forge.PullRequest, now *changeFacts) error {
	if now.planned.IsZero() && pr.Head == publish.Branch(b.environment) {
		info, err := s.collector.forge.CommitInfo(ctx, b.repo, pr.HeadCommit)
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return err
		}
		now.planned = info.When // the scheduler makes the commit as soon as it has planned
	}
	// a plan names all that it was made of, and most of that was there before
	own, err := s.planSources(ctx, b, pr)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(older, func(one forge.PullRequest) bool {
		all, _ := publish.Sources(one.Body)
		return one.State == forge.Merged && len(all) > 0
	}); i >= 0 {
		before, err := s.planSources(ctx, b, older[i])
		if err != nil {
			return err
		}
		if fresh := slices.DeleteFunc(slices.Clone(own), func(r model.Reference) bool { return slices.Contains(before, r) }); len(fresh) > 0 {
			own = fresh
		}
	}
	for _, r := range own {
		if slices.ContainsFunc(now.sources, func(c store.SourceCommit) bool { return c.SHA == r.Commit }) {
			continue
		}
		commit, err := s.commit(ctx, r.Repo, r.Commit)
		if err != nil {
			return err
		}
		now.sources = append(now.sources, commit)
	}
	switch pr.State {
	case forge.Merged:
		size, clusterTypes, known, err := s.collector.options.Store.DesiredSize(ctx, redact.URL(b.repo), b.branch, s.rootOf(b), pr.MergeCommit)
		if known {
			now.size, now.clusterTypes = &size, clusterTypes
		}
		return err
	case forge.Open:
		return s.measure(ctx, b, pr, now)
	}
	return nil
}

// planSources are the commits that a plan was made of. Where its text has not all of them, its
// commit has; that of a branch that is gone may be gone, too.
func (s *changeSource) planSources(ctx context.Context, b pullBranch, pr forge.PullRequest) ([]model.Reference, error) {
	some, whole := publish.Sources(pr.Body)
	if whole {
		return some, nil
	}
	info, err := s.collector.forge.CommitInfo(ctx, b.repo, pr.HeadCommit)
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return nil, err
	}
	if all := publish.CommitSources(info.Message); len(all) > 0 {
		return all, nil
	}
	return some, nil
}

// measure counts what an open pull request changes on the branch as it is now.
func (s *changeSource) measure(ctx context.Context, b pullBranch, pr forge.PullRequest, now *changeFacts) error {
	_, before := s.gitOps(b)
	after, err := s.collector.forge.Read(ctx, model.Reference{Repo: b.repo, Branch: pr.Head, Commit: pr.HeadCommit})
	if errors.Is(err, forge.ErrNotFound) {
		return nil // pushed over in the meantime: the next list has the new one
	}
	if err != nil {
		return err
	}
	root := s.rootOf(b)
	was, is := assignmentsIn(root, before), assignmentsIn(root, after.Files)
	size, types := store.Size{}, map[string]bool{}
	for at, files := range is {
		switch old, known := was[at]; {
		case !known:
			size.Added++
		case !maps.EqualFunc(old, files, bytes.Equal):
			size.Changed++
		default:
			continue
		}
		types[at[0]] = true
	}
	for at := range was {
		if _, stays := is[at]; !stays {
			size.Removed++
			types[at[0]] = true
		}
	}
	now.size, now.clusterTypes = &size, slices.Sorted(maps.Keys(types))
	return nil
}

// assignmentsIn are the files of a GitOps branch by cluster type and target.
func assignmentsIn(root string, files map[string][]byte) map[[2]string]map[string][]byte {
	all := map[[2]string]map[string][]byte{}
	for name, content := range files {
		clusterType, target, ok := publish.PairOf(root, name)
		if !ok {
			continue
		}
		at := [2]string{clusterType, target}
		if all[at] == nil {
			all[at] = map[string][]byte{}
		}
		all[at][name] = content
	}
	return all
}

// gitOps is an environment's own branch with its folder, and what is on it.
func (s *changeSource) gitOps(b pullBranch) (model.Reference, map[string][]byte) {
	for _, p := range s.collector.planes {
		states, _ := p.states()
		for _, e := range states {
			if e.name == b.environment && e.plan != nil {
				return e.plan.GitOps, e.plan.Before
			}
		}
	}
	return model.Reference{}, nil
}

func (s *changeSource) rootOf(b pullBranch) string {
	ref, _ := s.gitOps(b)
	return model.CleanFolder(ref.Path)
}

var fullID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// applicationSources are the commits of applications' repositories that the descriptors of a
// pull request name for the environment.
func (s *changeSource) applicationSources(ctx context.Context, b pullBranch, pr forge.PullRequest) ([]store.SourceCommit, error) {
	at := cmp.Or(pr.MergeCommit, pr.HeadCommit)
	tree, err := s.collector.forge.Read(ctx, model.Reference{Repo: b.repo, Branch: b.branch, Commit: at})
	if errors.Is(err, forge.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	descriptors, err := ci.Descriptors(tree)
	if err != nil {
		return nil, nil // it is an application's to mend, and its placements say so
	}
	repos := map[string]string{} // by workload
	for _, p := range s.collector.planes {
		states, _ := p.states()
		for _, e := range states {
			if e.name == b.environment && e.plan != nil {
				for _, w := range e.plan.Model.Workloads {
					repos[w.Name] = w.Registration.Spec.Workload.Repo
				}
			}
		}
	}
	var all []store.SourceCommit
	for _, d := range descriptors {
		repo := repos[d.Workload]
		if d.Environment != b.environment || repo == "" || !fullID.MatchString(d.Version.Commit) ||
			slices.ContainsFunc(all, func(c store.SourceCommit) bool { return c.SHA == d.Version.Commit }) {
			continue
		}
		commit, err := s.commit(ctx, repo, d.Version.Commit)
		if err != nil {
			return nil, err
		}
		all = append(all, commit)
	}
	return all, nil
}

// commit asks who has made a commit, once. Of one that the repository does not give any more
// no more is known than its ID.
func (s *changeSource) commit(ctx context.Context, repo, sha string) (store.SourceCommit, error) {
	if known, ok := s.commits.Get(sha); ok {
		return known, nil
	}
	one := store.SourceCommit{Repo: strings.TrimSuffix(redact.URL(repo), ".git"), SHA: sha}
	one.URL, _ = s.collector.forge.CommitURL(repo, sha)
	info, err := s.collector.forge.CommitInfo(ctx, repo, sha)
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return one, err
	}
	one.Author, one.Subject, one.At = info.Author, redact.Text(info.Subject()), credibleTime(info.When, time.Now().UTC())
	s.commits.Add(sha, one)
	return one, nil
}

// lookForDirect finds the newest commits of a branch that no pull request has brought. A
// commit that names one was brought by it, also where the forge does not list that any more.
func (s *changeSource) lookForDirect(ctx context.Context, b pullBranch, list []forge.PullRequest, histories []store.History) error {
	i := slices.IndexFunc(histories, func(h store.History) bool { return h.Repo == redact.URL(b.repo) && h.Branch == b.branch })
	if i < 0 {
		return nil
	}
	if !s.collector.pulls.askedSince(b, histories[i].Read) {
		return nil // a merge that is not in the list yet would look like a push
	}
	to := histories[i].Length
	all, err := s.collector.options.Store.Commits(ctx, redact.URL(b.repo), b.branch, max(1, to-directEach+1), to)
	if err != nil {
		return err
	}
	brought := map[string]bool{}
	for _, pr := range list {
		brought[pr.MergeCommit], brought[pr.HeadCommit] = true, true
	}
	if err := s.addRebased(ctx, b, list, all, brought); err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(c store.Commit) bool { return c.PullRequest != 0 || brought[c.SHA] })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.direct[b] = all
	return nil
}

// addRebased adds the commits of a branch that the merge of a pull request has put there one by
// one, by a rebase or a fast-forward: they are those that it was made of. all are in order.
func (s *changeSource) addRebased(ctx context.Context, b pullBranch, list []forge.PullRequest, all []store.Commit, brought map[string]bool) error {
	for _, pr := range list {
		last := slices.IndexFunc(all, func(c store.Commit) bool { return pr.State == forge.Merged && c.SHA == pr.MergeCommit })
		if last < 1 || all[last-1].PullRequest != 0 || brought[all[last-1].SHA] {
			continue
		}
		key := b.key(pr.Number)
		s.mu.Lock()
		commits, known := s.pulled[key]
		s.mu.Unlock()
		if !known {
			name, _ := s.collector.forge.Repo(b.repo)
			var err error
			if commits, err = s.collector.forge.PullRequestCommits(ctx, name, pr.Number); err != nil && !errors.Is(err, forge.ErrNotFound) {
				return err
			}
			s.mu.Lock()
			s.pulled[key] = commits
			s.mu.Unlock()
		}
		matching := 0
		for matching < len(commits) && matching <= last && sameCommit(commits[matching], all[last-matching]) {
			matching++
		}
		if matching < 2 || matching < len(commits) && matching <= last {
			continue // they were made one, or brought by a commit of their own
		}
		s.mu.Lock()
		for _, c := range all[last-matching+1 : last+1] {
			brought[c.SHA] = true
			facts := s.facts[key]
			if facts == nil || slices.ContainsFunc(facts.sources, func(one store.SourceCommit) bool { return one.SHA == c.SHA }) {
				continue
			}
			one := store.SourceCommit{Repo: strings.TrimSuffix(redact.URL(b.repo), ".git"), SHA: c.SHA, Author: c.Author, Subject: redact.Text(c.Subject), At: c.Committed}
			one.URL, _ = s.collector.forge.CommitURL(b.repo, c.SHA)
			facts.sources = append(slices.Clone(facts.sources), one)
		}
		s.mu.Unlock()
	}
	return nil
}

// sameCommit is whether a commit of a pull request is one of the branch, maybe after a rebase.
func sameCommit(a forge.CommitHead, b store.Commit) bool {
	return a.ID == b.SHA || a.Subject != "" && a.Subject == b.Subject && a.Author == b.Author
}

// reachOf is how much a pull request changes, on how many clusters; not known for one that was
// not looked at yet.
func (s *changeSource) reachOf(b pullBranch, number int) (size *store.Size, clusters int, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.facts[b.key(number)]; f != nil {
		return f.size, f.clusters, true
	}
	return nil, 0, s.failed[b]
}
