package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

type subscriptionKey struct {
	branch int64
	name   string
}

type subscriptionRow struct{ sha, state, reason string }

// putSubscriptions writes what a cluster follows where that differs from what is stored: each
// source in the state that it has with all that it has brought, which is what fleet.Judge judges.
func (w *round) putSubscriptions(c *clusterRow) error {
	now := map[subscriptionKey]subscriptionRow{}
	var subscriptions []fleet.Subscription
	if !c.gone {
		// what a cluster that cannot be asked has followed is only stored
		if err := json.Unmarshal([]byte(c.subscriptions), &subscriptions); err != nil {
			return fmt.Errorf("what cluster %s follows: %w", c.Name, err)
		}
	}
	all := fleet.Cluster{Name: c.Name, Subscriptions: subscriptions}
	if c.Unknown != "" {
		all.Forget(c.Unknown)
	}
	followed := map[branch]bool{}
	for _, s := range all.Subscriptions {
		from := branch{s.Repo, s.Branch}
		if s.Repo == "" || followed[from] {
			continue
		}
		followed[from] = true
		id, err := w.branch(redact.URL(s.Repo), s.Branch)
		if err != nil {
			return err
		}
		for _, one := range all.Configurations(fleet.Source{Repo: s.Repo, Branch: s.Branch}) {
			now[subscriptionKey{id, clean(one.Name)}] = subscriptionRow{clean(one.Commit), string(one.State), clean(one.Reason)}
		}
	}
	was := map[subscriptionKey]subscriptionRow{}
	if err := w.each(func(rows *sql.Rows) error {
		var k subscriptionKey
		var r subscriptionRow
		err := rows.Scan(&k.branch, &k.name, &r.sha, &r.state, &r.reason)
		was[k] = r
		return err
	}, `SELECT branch_id, name, sha, state, reason FROM subscription WHERE cluster_id = ?`, c.id); err != nil {
		return err
	}
	var rows [][]any
	for k, r := range now {
		if before, known := was[k]; !known || before != r {
			rows = append(rows, []any{c.id, k.branch, k.name, r.sha, r.state, r.reason})
		}
	}
	for k := range was {
		if _, there := now[k]; there {
			continue
		}
		if _, err := w.exec(`DELETE FROM subscription WHERE cluster_id = ? AND branch_id = ? AND name = ?`, c.id, k.branch, k.name); err != nil {
			return err
		}
	}
	return w.insert("subscription", "cluster_id, branch_id, name, sha, state, reason",
		`ON CONFLICT (cluster_id, branch_id, name) DO UPDATE SET sha = excluded.sha, state = excluded.state, reason = excluded.reason`, rows)
}

// Deployment is how far a commit of a branch has come on the clusters that follow it.
type Deployment struct {
	Repo, Branch, Commit string // as they are stored
	Total, Reached       int    // sources on clusters
	// Those that have not reached it: up to DeploymentNames of each kind are named.
	Waiting, Failed, Unknown []Follower
	NWaiting, NFailed        int
	NUnknown                 int
}

// Follower is a source on a cluster, and why it has not reached a commit.
type Follower struct{ Cluster, Subscription, Reason string }

// DeploymentNames is how many followers of a kind are named at most.
const DeploymentNames = 100

// Deployment says how far a commit has come, by the order of the branch's commits: a cluster that
// has gone on to a later one has it. Where the branch has not been read, only the commit itself is
// known. One that is not healthy has failed when it has the commit or a later one. A cluster that
// cannot be asked is unknown, whatever it had.
//
// The error wraps ErrNotFound for a branch that nothing in scope follows.
func (s *Store) Deployment(ctx context.Context, scope Scope, repo, name, commit string) (d Deployment, err error) {
	err = s.read(ctx, func(t tx) error {
		branches, err := t.followedBranches(scope, repo, name)
		if err != nil {
			return err
		}
		d = Deployment{Repo: repo, Branch: name, Commit: commit}
		var found []int64
		for id, b := range branches {
			found = append(found, id)
			d.Repo = b.repo
		}
		number, known, err := t.commitNumber(found, &d)
		if err != nil {
			return err
		}
		where := ofChangeCluster(scope)
		where.add("x.branch_id IN " + ids(found))
		return t.each(func(rows *sql.Rows) error {
			var f Follower
			var sha, state, reason, unknown string
			var seq int64
			if err := rows.Scan(&f.Cluster, &f.Subscription, &sha, &state, &reason, &unknown, &seq); err != nil {
				return err
			}
			has := strings.HasPrefix(sha, d.Commit) || known && seq >= number
			d.add(f, sha, fleet.State(state), cmp.Or(unknown, reason), has)
			return nil
		}, `SELECT k.name, x.name, x.sha, x.state, x.reason, k.unknown, COALESCE(max(m.seq), 0) FROM subscription x JOIN cluster k ON k.id = x.cluster_id
			LEFT JOIN (SELECT branch_id, max(epoch) AS epoch FROM branch_history WHERE branch_id IN `+ids(found)+` GROUP BY branch_id) h ON 1 = 1
			LEFT JOIN branch_commit m ON m.branch_id = h.branch_id AND m.epoch = h.epoch AND m.sha = x.sha
			WHERE `+where.String()+` GROUP BY x.cluster_id, x.branch_id, x.name, x.sha, x.state, x.reason, k.name, k.unknown ORDER BY k.name, x.name`, where.args...)
	})
	return d, err
}

// add counts a follower.
func (d *Deployment) add(f Follower, sha string, state fleet.State, reason string, has bool) {
	d.Total++
	note := func(list *[]Follower, n *int, why string) {
		*n++
		if f.Reason = why; reason != "" {
			f.Reason += ": " + reason
		}
		if len(*list) < DeploymentNames {
			*list = append(*list, f)
		}
	}
	at := "has fetched nothing yet"
	if has {
		at = "has the commit"
	} else if sha != "" {
		at = fmt.Sprintf("is on %.8s", sha)
	}
	switch {
	case state == fleet.Unknown:
		note(&d.Unknown, &d.NUnknown, "it cannot be asked, and "+at)
	case has && state == fleet.Compliant:
		d.Reached++
	case has && state == fleet.NonCompliant:
		note(&d.Failed, &d.NFailed, "it is "+string(state)+" and "+at)
	default:
		note(&d.Waiting, &d.NWaiting, "it is "+string(state)+" and "+at)
	}
}

// followedBranches are the branches of a name in a repository, which may be written in more than
// one way, that clusters follow or are to follow. One of them must be in scope: the branch of an
// environment, or what placements come from.
func (t tx) followedBranches(scope Scope, repo, name string) (map[int64]branch, error) {
	var of condition
	if scope.limited() {
		where, err := t.ofPlacement(scope, PlacementFilter{}, anyIndex)
		if err != nil {
			return nil, err
		}
		var environments condition
		environments.in("e.name", scope.Environments)
		of.add(`b.id IN (SELECT p.desired_branch_id FROM placement p WHERE `+where.String()+`) OR EXISTS (SELECT 1 FROM environment e WHERE e.gitops_repo = b.repo AND e.gitops_branch = b.name AND `+
			environments.String()+`)`, slices.Concat(where.args, environments.args)...)
	}
	found, isInScope, names := map[int64]branch{}, false, []string{}
	err := t.each(func(rows *sql.Rows) error {
		var id, inScope int64
		var b branch
		err := rows.Scan(&id, &b.repo, &b.name, &inScope)
		switch same := fleet.SameRepository(b.repo, repo); {
		case same && b.name == name:
			found[id] = b
			isInScope = isInScope || inScope == 1
		case inScope == 0:
		case same:
			names = append(names, b.name)
		case b.name == name:
			names = append(names, b.repo)
		}
		return err
	}, `SELECT b.id, b.repo, b.name, CASE WHEN `+of.String()+` THEN 1 ELSE 0 END FROM branch b ORDER BY b.id`, of.args...)
	if err == nil && !isInScope {
		message := fmt.Sprintf("no cluster follows branch %s of %s", name, redact.URL(repo))
		for _, asked := range []string{name, repo} {
			if near := model.Nearest(asked, names); near != "" {
				message += fmt.Sprintf(", did you mean %s?", near)
				break
			}
		}
		err = fmt.Errorf("%s: %w", message, ErrNotFound)
	}
	return found, err
}

// commitNumber is where a commit is in the branch as it is now, and makes a short one whole; false
// where it is not there.
func (t tx) commitNumber(branches []int64, d *Deployment) (number int64, known bool, err error) {
	err = t.each(func(rows *sql.Rows) error {
		known = true
		return rows.Scan(&d.Commit, &number)
	}, `SELECT m.sha, m.seq FROM branch_commit m WHERE m.branch_id IN `+ids(branches)+` AND m.sha >= ? AND m.sha < ?
		AND m.epoch = (SELECT max(h.epoch) FROM branch_history h WHERE h.branch_id = m.branch_id) ORDER BY m.seq LIMIT 1`, d.Commit, d.Commit+"g")
	return number, known, err
}

// changeClusterKey finds a subscription's row of a change.
type changeClusterKey struct {
	cluster      int64
	subscription string
}

type changeClusterRow struct {
	clusterType      string
	state            ChangeState
	fetched, applied int64
	reason           string
}

// changeClusters are the rows that say where a change is now, without those that say so already,
// and decides its state by them. What it does not go to any more is removed.
func (w *round) changeClusters(c *Change, all []ChangeCluster) ([][]any, error) {
	was := map[changeClusterKey]changeClusterRow{}
	if err := w.each(func(rows *sql.Rows) error {
		var k changeClusterKey
		var r changeClusterRow
		err := rows.Scan(&k.cluster, &k.subscription, &r.clusterType, &r.state, &r.fetched, &r.applied, &r.reason)
		was[k] = r
		return err
	}, `SELECT cluster_id, subscription, cluster_type, state, fetched_at, applied_at, reason FROM change_cluster WHERE change_id = ?`, c.ID); err != nil {
		return nil, err
	}
	now := map[changeClusterKey]changeClusterRow{}
	names := map[int64]string{}
	var rows [][]any
	for i := range all {
		cluster := w.clusters[all[i].Cluster]
		if cluster == nil || cluster.gone {
			continue
		}
		names[cluster.id] = cluster.Name
		k := changeClusterKey{cluster.id, clean(all[i].Subscription)}
		before, known := was[k]
		r := w.onCluster(c, before, &all[i], cluster.firstSeen)
		now[k] = r
		if !known || before != r {
			rows = append(rows, []any{c.ID, k.cluster, k.subscription, r.clusterType, int64(r.state), r.fetched, r.applied, r.reason})
		}
	}
	for k, r := range was {
		if _, there := now[k]; there {
			continue
		}
		if w.isGone(k.cluster) && r.state == ClusterApplied {
			now[k] = r // it has had it
			continue
		}
		if _, err := w.exec(`DELETE FROM change_cluster WHERE change_id = ? AND cluster_id = ? AND subscription = ?`, c.ID, k.cluster, k.subscription); err != nil {
			return nil, err
		}
	}
	c.settle(now, names)
	return rows, nil
}

func (w *round) isGone(cluster int64) bool {
	for _, c := range w.clusters {
		if c.id == cluster {
			return c.gone
		}
	}
	return true
}

// onCluster is how far a change is on a subscription. What the clock of a cluster says counts
// from the merge until now: no cluster can have it earlier or later.
func (w *round) onCluster(c *Change, was changeClusterRow, is *ChangeCluster, firstSeen int64) changeClusterRow {
	if was.state == ClusterApplied {
		return was
	}
	r := changeClusterRow{clusterType: clean(is.ClusterType), state: is.State, fetched: was.fetched, reason: clean(is.Reason)}
	merged := millis(c.Merged)
	at := w.at
	if since := millis(is.Since); since > 0 {
		at = min(max(since, merged), w.at)
	}
	switch {
	case is.State == ClusterApplied && is.Passed && firstSeen > merged:
		// it has gone on to a later commit before anybody has looked: when it had this one is not known
		return r
	case is.State == ClusterApplied:
		r.applied = at
		if r.fetched == 0 || r.fetched > at {
			r.fetched = at
		}
	case r.fetched == 0 && (is.State == ClusterFetched || is.State == ClusterFailing):
		r.fetched = max(w.at, merged)
	}
	return r
}

// settle counts clusters, and says what state that is.
func (c *Change) settle(rows map[changeClusterKey]changeClusterRow, names map[int64]string) {
	worst := map[int64]changeClusterRow{}
	var first, last int64
	timesKnown := true
	for k, r := range rows {
		if was, known := worst[k.cluster]; !known || r.state < was.state || r.state == was.state && r.reason < was.reason {
			worst[k.cluster] = r
		}
		if r.state != ClusterApplied {
			continue
		}
		timesKnown = timesKnown && r.applied > 0
		if first == 0 || r.applied < first {
			first = r.applied
		}
		last = max(last, r.applied)
	}
	c.Reached, c.Failing, c.Total = 0, 0, len(worst)
	var example, name string // of the cluster that is the farthest from having it
	state := ClusterApplied
	for id, r := range worst {
		switch r.state {
		case ClusterApplied:
			c.Reached++
			continue
		case ClusterFailing:
			c.Failing++
		}
		if r.state < state || r.state == state && names[id] < name {
			state, example, name = r.state, r.reason, names[id]
		}
	}
	c.FirstApplied, c.Applied, c.Reason = time.Time{}, time.Time{}, ""
	if timesKnown {
		c.FirstApplied = timeOf(first)
	}
	switch {
	case c.Total == 0:
		c.State, c.Reason = ChangeNone, "it changes nothing on a cluster that follows branch "+c.Branch
		return
	case c.Reached == c.Total:
		c.State = ChangeApplied
		if timesKnown {
			c.Applied = timeOf(last)
		}
		return
	case c.Failing > 0:
		c.State = ChangeFailing
	default:
		c.State = ChangeRolling
	}
	c.Reason = clean(fmt.Sprintf("%d of %d clusters have it; %s: %s", c.Reached, c.Total, name, cmp.Or(example, state.String())))
}
