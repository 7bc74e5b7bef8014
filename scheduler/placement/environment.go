package placement

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Git reads the branches that clusters follow.
type Git interface {
	// History returns the newest commits of a branch, and which of them changed the
	// folders last.
	History(ctx context.Context, repo, branch string, folders []string) (*gitclient.History, error)
	// Versions returns the version of each deployment target that the
	// DeploymentDescriptors of a commit name.
	Versions(ctx context.Context, repo, branch, commit string) (map[string]string, error)
}

// Environment is what an environment's placements are compared with.
type Environment struct {
	Name   string
	GitOps model.Reference   // the branch, and as Path the environment's folder
	Files  map[string][]byte // of the branch
}

// Of are the placements of an environment on the clusters of a fleet, sorted. A branch
// that cannot be read makes those that follow it Unknown, with the reason; the error is
// about the GitOps branch itself.
func Of(ctx context.Context, env Environment, snapshot fleet.Snapshot, git Git) ([]Placement, error) {
	want, err := desiredOf(env.GitOps.Path, env.Files)
	if err != nil {
		return nil, fmt.Errorf("the GitOps branch of environment %s: %w", env.Name, err)
	}
	r := &run{env: env, want: want, git: git, branches: map[branchKey]*branch{}, versions: map[versionKey]map[string]string{}}
	r.readHistories(ctx)
	var all []Placement
	for i := range snapshot.Clusters {
		c := &snapshot.Clusters[i]
		asOf := snapshot.At
		if c.Unknown != "" {
			asOf = c.LastSeen
		}
		common := Placement{Cluster: c.Name, Environment: env.Name, AsOf: asOf, Approximate: c.Approximate, Labels: c.Labels}
		for j := range c.Subscriptions {
			if clusterType, ok := r.typeFollowed(&c.Subscriptions[j]); ok {
				common.ClusterType = clusterType
				all = append(all, r.onCluster(ctx, c, &c.Subscriptions[j], common)...)
			}
		}
		if c.Unknown != "" && len(c.Subscriptions) == 0 {
			common.ClusterType, common.State, common.Reason, common.Since = "", Unknown, c.Unknown, c.LastSeen
			all = append(all, common)
		}
	}
	Sort(all)
	return all, nil
}

// run is one call of Of.
type run struct {
	env      Environment
	want     *desired
	git      Git
	branches map[branchKey]*branch
	versions map[versionKey]map[string]string
}

type (
	branchKey  struct{ repo, branch string }
	versionKey struct{ repo, branch, commit string }
)

// branch is a branch that is followed.
type branch struct {
	folders []string
	history *gitclient.History
	failed  error
}

// atOnce is how many branches are read at a time.
const atOnce = 8

// readHistories reads the branches that the environment names, each once.
func (r *run) readHistories(ctx context.Context) {
	add := func(repo, name, folder string) {
		key := branchKey{repo, name}
		if r.branches[key] == nil {
			r.branches[key] = &branch{}
		}
		if b := r.branches[key]; !slices.Contains(b.folders, folder) {
			b.folders = append(b.folders, folder)
		}
	}
	for p, c := range r.want.carriers {
		add(r.env.GitOps.Repo, r.env.GitOps.Branch, r.want.folder(p.clusterType, p.target))
		add(r.env.GitOps.Repo, r.env.GitOps.Branch, r.want.folder(p.clusterType))
		if c != nil && c.repo != "" {
			add(c.repo, c.branch, model.CleanFolder(c.path))
		}
	}
	var g errgroup.Group
	g.SetLimit(atOnce)
	for key, b := range r.branches {
		g.Go(func() error {
			b.history, b.failed = r.git.History(ctx, key.repo, key.branch, b.folders)
			return nil
		})
	}
	_ = g.Wait() // each branch has its own error
}

// typeFollowed is the cluster type whose folder a subscription follows.
func (r *run) typeFollowed(s *fleet.Subscription) (string, bool) {
	if !s.Follows(fleet.Source{Repo: r.env.GitOps.Repo, Branch: r.env.GitOps.Branch}) {
		return "", false
	}
	rest, ok := model.CleanFolder(s.Path), true
	if r.want.root != "" {
		rest, ok = strings.CutPrefix(rest, r.want.root+"/")
	}
	return rest, ok && rest != "" && !strings.Contains(rest, "/")
}

// onCluster are the placements of a cluster that a subscription brings.
func (r *run) onCluster(ctx context.Context, c *fleet.Cluster, root *fleet.Subscription, common Placement) []Placement {
	var all []Placement
	for at, carried := range r.want.carriers {
		if at.clusterType == common.ClusterType {
			p := common
			p.Target = at.target
			r.judge(ctx, c, root, carried, &p)
			all = append(all, p)
		}
	}
	for i := range c.Subscriptions {
		s := &c.Subscriptions[i]
		if s.Parent == nil || *s.Parent != root.Ref || s.Kind == fleet.GitRepository || root.Kind != s.Kind || r.want.asksFor(common.ClusterType, *s) {
			continue
		}
		p := common
		p.Target, p.Actual = s.Name, r.actual(ctx, s, s.Repo, s.Branch, s.Name)
		removal := r.compare(branchKey{r.env.GitOps.Repo, r.env.GitOps.Branch}, r.want.folder(common.ClusterType), root.Applied)
		switch {
		case c.Unknown != "":
			p.State, p.Reason, p.Since = Unknown, c.Unknown, c.LastSeen
		case removal.unknown != "":
			p.State, p.Reason = Unknown, removal.unknown
		case !removal.has:
			p.State, p.Reason, p.Since = Rolling, cmp.Or(waitsForWave(root, removal), "it is to be removed"), removal.when
		default:
			p.State, p.Reason, p.Since = Extra, fmt.Sprintf("%s %s/%s is there, and branch %s does not ask for it", s.Kind, s.Namespace, s.Name, r.env.GitOps.Branch), root.At
		}
		if removal.has || waitsForWave(root, removal) == "" {
			r.settle(&p, max(root.Interval, s.Interval))
		}
		all = append(all, p)
	}
	return all
}

// judge says how one placement is.
func (r *run) judge(ctx context.Context, c *fleet.Cluster, root *fleet.Subscription, carried *carrier, p *Placement) {
	platform := branchKey{r.env.GitOps.Repo, r.env.GitOps.Branch}
	there := r.compare(platform, r.want.folder(p.ClusterType, p.Target), root.Applied)
	interval := root.Interval
	var s *fleet.Subscription
	if carried == nil {
		p.Desired = Revision{Repo: platform.repo, Branch: platform.branch, Commit: there.commit}
		p.Actual = Revision{Repo: platform.repo, Branch: platform.branch, Commit: root.Applied}
	} else {
		if i := slices.IndexFunc(c.Subscriptions, func(one fleet.Subscription) bool { return carried.is(one) }); i >= 0 {
			s = &c.Subscriptions[i]
		}
		repo, name := carried.repo, carried.branch
		if s != nil && repo == "" {
			repo, name = s.Repo, s.Branch
		}
		content := r.compare(branchKey{repo, name}, model.CleanFolder(carried.path), "")
		p.Desired = Revision{Repo: repo, Branch: name, Commit: content.commit, Version: r.version(ctx, repo, name, cmp.Or(content.commit, content.head), p.Target)}
		if s != nil {
			p.Actual = r.actual(ctx, s, repo, name, p.Target)
			interval = max(interval, s.Interval)
		}
	}
	set := func(state State, reason string, since time.Time) { p.State, p.Reason, p.Since = state, reason, since }
	defer func() {
		if there.has || waitsForWave(root, there) == "" {
			r.settle(p, interval)
		}
	}()
	switch {
	case c.Unknown != "":
		set(Unknown, c.Unknown, c.LastSeen)
	case there.unknown != "":
		set(Unknown, there.unknown, root.At)
	case !there.has || carried == nil:
		r.byState(p, root, there, there.when)
	case s == nil && c.Approximate && carried.kind == fleet.Application:
		set(Unknown, "Azure does not know "+carried.String(), c.LastSeen)
	case s == nil:
		set(Missing, carried.String()+" is not there", root.At)
	default:
		r.byState(p, s, r.compare(branchKey{p.Desired.Repo, p.Desired.Branch}, model.CleanFolder(carried.path), s.Applied), there.when)
	}
}

// byState is the state of a placement by that of the subscription that carries it, and
// whether that has the commit. assigned is when the platform has asked for it last: what is
// older than that, or than the subscription itself, could not come before.
func (r *run) byState(p *Placement, s *fleet.Subscription, there comparison, assigned time.Time) {
	p.Reason, p.Since = s.Reason, s.At
	outOfSync := slices.IndexFunc(s.Objects, func(o fleet.Object) bool { return o.OutOfSync })
	switch {
	case s.State == fleet.NonCompliant:
		p.State = Failing
	case s.State == fleet.Suspended:
		p.State = Suspended
	case s.State == fleet.Unknown:
		p.State = Unknown
	case there.unknown != "":
		p.State, p.Reason = Unknown, there.unknown
	case outOfSync >= 0 && s.Commit != "" && s.Applied == s.Commit:
		o := s.Objects[outOfSync]
		p.State, p.Reason = Edited, fmt.Sprintf("%s %s differs from commit %.8s", o.Kind, strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"), s.Applied)
	case s.Edited != "":
		p.State, p.Reason, p.Since = Edited, s.Edited, s.EditedAt
	case !there.has:
		p.State, p.Since = Rolling, there.when
		if assigned.After(p.Since) {
			p.Since = assigned
		}
		if s.Applied == "" && s.At.After(p.Since) {
			p.Since = s.At
		}
		p.Reason = cmp.Or(s.Reason, waitsForWave(s, there), fmt.Sprintf("commit %.8s is not applied yet", cmp.Or(there.commit, there.head)))
	case s.State == fleet.Compliant, s.State == fleet.Pending && s.Commit != s.Applied:
		// what is pending is a later commit, which did not change this
		p.State, p.Reason = OK, ""
	default:
		p.State = Rolling
	}
}

// waitsForWave says for which wave of a rollout a subscription waits: it has what its wave has. It is
// "" for one that waits for nothing but its reconciler.
func waitsForWave(s *fleet.Subscription, there comparison) string {
	if s.Wave == "" || s.State != fleet.Compliant || s.Applied != s.Commit {
		return ""
	}
	return fmt.Sprintf("wave %s of its rollout does not have commit %.8s yet", s.Wave, cmp.Or(there.commit, there.head))
}

const (
	// lateIntervals is how many intervals of its reconciler a placement may be rolling, and
	// lateAfter the least that it may.
	lateIntervals = 3
	lateAfter     = 10 * time.Minute
)

// settle makes late what has been rolling for long; interval is in seconds.
func (r *run) settle(p *Placement, interval int64) {
	limit := max(lateAfter, lateIntervals*time.Duration(interval)*time.Second)
	if p.State == Rolling && !p.Since.IsZero() && p.AsOf.Sub(p.Since) > limit {
		p.State = Late
	}
}

func (r *run) actual(ctx context.Context, s *fleet.Subscription, repo, branch, target string) Revision {
	return Revision{Repo: repo, Branch: branch, Commit: s.Applied, Version: r.version(ctx, repo, branch, s.Applied, target)}
}

// comparison is whether a commit is one of a branch that has a folder as it is now.
type comparison struct {
	commit  string    // that changed the folder last, "" for one before the history
	head    string    // the newest of the branch
	when    time.Time // that of commit
	has     bool
	unknown string // why it is not known
}

// compare compares by the order of the branch's commits.
func (r *run) compare(key branchKey, folder, has string) comparison {
	b := r.branches[key]
	switch {
	case b == nil:
		return comparison{unknown: "it is not known which branch it follows"}
	case b.failed != nil:
		return comparison{unknown: b.failed.Error()}
	}
	var c comparison
	h := b.history
	c.head = h.Commits[0].ID
	changed := h.Changed[folder]
	if changed < len(h.Commits) {
		c.commit, c.when = h.Commits[changed].ID, h.Commits[changed].When
	}
	if has == "" {
		return c
	}
	at := h.Index(has)
	c.has = at >= 0 && at <= changed
	if at < 0 {
		c.unknown = fmt.Sprintf("commit %.8s is none of the newest %d of branch %s, which may have been pushed over", has, len(h.Commits), key.branch)
	}
	return c
}

// version is that of a target at a commit, "" where it is not known.
func (r *run) version(ctx context.Context, repo, branch, commit, target string) string {
	if repo == "" || commit == "" {
		return ""
	}
	key := versionKey{repo, branch, commit}
	all, known := r.versions[key]
	if !known {
		// what has no descriptors, or is gone, has no version
		all, _ = r.git.Versions(ctx, repo, branch, commit)
		r.versions[key] = all
	}
	return all[target]
}
