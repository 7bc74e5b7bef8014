package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"slices"
	"time"
)

// Change is a pull request to a branch that placements follow, or a commit of it that no pull
// request has brought.
type Change struct {
	ID                        int64 // given by the store
	Environment, Repo, Branch string
	Kind                      string // platform, promotion or application
	PullRequest               int    // 0 for a commit that none has brought
	// SHA is the commit on the branch; of a pull request that is not merged it is Head, the
	// newest commit of its own branch.
	SHA, Head                    string
	Title, Author, MergedBy, URL string
	ApprovedBy                   string // with the last approval that stands; "" for none
	// State is open, held or closed of a pull request that is not merged. A round leaves it
	// empty for what is merged: then the clusters decide, and reads have rolling, failing,
	// applied, or none where no cluster follows the branch.
	State  string
	Reason string
	Stages
	Size    *Size // nil where it is not known, or no assignments are changed by such a change
	Sources []SourceCommit
	// Clusters are the subscriptions that it goes to, all of them; a round leaves them nil
	// where it has not looked. Reads of a change leave them out.
	Clusters []ChangeCluster

	// Filled by reads, in clusters.
	Reached, Failing, Total int
}

// The states of a change.
const (
	ChangeOpen    = "open"
	ChangeHeld    = "held"
	ChangeClosed  = "closed"
	ChangeRolling = "rolling"
	ChangeFailing = "failing"
	ChangeApplied = "applied"
	ChangeNone    = "none"
)

// Stages are when a change has come how far, zero where that is not known or has not
// happened. They are in this order, whatever clocks have said.
type Stages struct {
	Pushed, Planned, Opened, Approved, Merged, FirstApplied, Applied time.Time
}

// Size counts the assignments that a change adds, changes and removes.
type Size struct{ Added, Changed, Removed int }

// SourceCommit is a commit that a change was made of.
type SourceCommit struct {
	Repo, SHA, Author, Subject string
	At                         time.Time // by the committer's clock
	URL                        string    // for a browser
}

// ChangeCluster is how far a change has come on a subscription of a cluster.
type ChangeCluster struct {
	Cluster, ClusterType, Subscription string
	State                              ChangeState
	Reason                             string
	// Fetched and Applied are filled by reads, zero where that is not known.
	Fetched, Applied time.Time
	// Since is when the subscription came into its state, by the cluster's clock; only of
	// rounds, as is Passed: it has a later commit, so that it could have this one before.
	Since  time.Time
	Passed bool
}

// ChangeState is how far a change has come on a cluster.
type ChangeState int

// The states, the one first that needs a user most.
const (
	ClusterFailing ChangeState = iota
	ClusterUnknown
	ClusterWaiting
	ClusterFetched
	ClusterApplied
)

// String is the state's word.
func (s ChangeState) String() string {
	return [...]string{"failing", "unknown", "waiting", "fetched", "applied"}[s]
}

// changeRow is a change as the database has it, with what it is found by.
type changeRow struct {
	Change
	digest int64
}

const changeColumns = `c.id, c.pull_request, c.sha, c.head, c.kind, c.title, c.author, c.merged_by, c.url, c.state, c.reason, c.pushed_at, c.planned_at, c.opened_at, c.merged_at,
	c.first_applied_at, c.applied_at, c.reached, c.failing, c.total, c.added, c.altered, c.removed, c.approved_at, c.approved_by`

// scanChange reads changeColumns, and into more what comes after.
func scanChange(scan func(...any) error, more ...any) (c Change, err error) {
	var times [7]int64
	var size [3]int64
	err = scan(append([]any{&c.ID, &c.PullRequest, &c.SHA, &c.Head, &c.Kind, &c.Title, &c.Author, &c.MergedBy, &c.URL, &c.State, &c.Reason,
		&times[0], &times[1], &times[2], &times[3], &times[4], &times[5], &c.Reached, &c.Failing, &c.Total, &size[0], &size[1], &size[2],
		&times[6], &c.ApprovedBy}, more...)...)
	c.Stages = Stages{timeOf(times[0]), timeOf(times[1]), timeOf(times[2]), timeOf(times[6]), timeOf(times[3]), timeOf(times[4]), timeOf(times[5])}
	c.Size = sizeOf(size)
	return c, err
}

func sizeOf(n [3]int64) *Size {
	if n[0] < 0 {
		return nil
	}
	return &Size{int(n[0]), int(n[1]), int(n[2])}
}

func (s *Size) values() []any {
	if s == nil {
		return []any{int64(-1), int64(-1), int64(-1)}
	}
	return []any{int64(s.Added), int64(s.Changed), int64(s.Removed)}
}

func (w *round) applyChanges(r Round) error {
	for i := range r.Changes {
		if err := w.applyChange(&r.Changes[i]); err != nil {
			return err
		}
	}
	return nil
}

// applyChange writes what is new of a change. What has been known of it stays: times that
// were seen once, sources that a later plan does not name, and clusters that have applied it.
func (w *round) applyChange(c *Change) error {
	e, err := w.environment(c.Environment)
	if err != nil {
		return err
	}
	branch, err := w.branch(c.Repo, c.Branch)
	if err != nil {
		return err
	}
	digest := c.digest()
	was, err := w.storedChange(e.id, branch, c)
	if err != nil || was != nil && was.digest == digest {
		return err
	}
	now := *c
	now.Title, now.Author, now.MergedBy, now.Reason = clean(c.Title), clean(c.Author), clean(c.MergedBy), clean(c.Reason)
	now.ApprovedBy = clean(c.ApprovedBy)
	if was == nil {
		if now.ID, err = w.next("change", 1); err != nil {
			return err
		}
	} else {
		now.ID, now.Reached, now.Failing, now.Total = was.ID, was.Reached, was.Failing, was.Total
		now.Stages = was.Stages.with(c.Stages)
		if c.Approved.IsZero() && c.State != ChangeOpen && c.State != ChangeHeld {
			now.Approved, now.ApprovedBy = was.Approved, was.ApprovedBy // the forge is asked no more
		}
		now.Size = cmp.Or(c.Size, was.Size)
		now.MergedBy = cmp.Or(now.MergedBy, was.MergedBy)
	}
	now.order(timeOf(w.at))
	var clusters [][]any
	switch {
	case was != nil && was.State == ChangeApplied && (c.Clusters == nil || was.Size != nil || c.Size == nil):
		// it has arrived, and clusters that come later do not take that back; but those count only
		// that it changes something on, once that is known
		now.State, now.Reason = was.State, was.Reason
	case c.State == "" && c.Clusters != nil:
		if clusters, err = w.changeClusters(&now, c.Clusters); err != nil {
			return err
		}
	case c.State == "":
		now.State = ChangeRolling
		if was != nil && was.Total > 0 {
			now.State, now.Reason = was.State, was.Reason
		}
	}
	began := millis(now.Opened)
	if c.PullRequest == 0 {
		began = millis(now.Merged)
	}
	row := []any{now.ID, e.id, branch, int64(c.PullRequest), c.SHA, c.Head, c.Kind, now.Title, now.Author, now.MergedBy, c.URL, now.State, now.Reason, began,
		millis(now.Pushed), millis(now.Planned), millis(now.Opened), millis(now.Merged), millis(now.FirstApplied), millis(now.Applied),
		int64(now.Reached), int64(now.Failing), int64(now.Total)}
	err = w.insert("change", `id, environment_id, branch_id, pull_request, sha, head, kind, title, author, merged_by, url, state, reason, began_at,
		pushed_at, planned_at, opened_at, merged_at, first_applied_at, applied_at, reached, failing, total, added, altered, removed, digest, approved_at, approved_by`,
		`ON CONFLICT (id) DO UPDATE SET sha = excluded.sha, head = excluded.head, kind = excluded.kind, title = excluded.title, author = excluded.author,
		merged_by = excluded.merged_by, url = excluded.url, state = excluded.state, reason = excluded.reason, began_at = excluded.began_at, pushed_at = excluded.pushed_at,
		planned_at = excluded.planned_at, opened_at = excluded.opened_at, merged_at = excluded.merged_at, first_applied_at = excluded.first_applied_at,
		applied_at = excluded.applied_at, reached = excluded.reached, failing = excluded.failing, total = excluded.total, added = excluded.added,
		altered = excluded.altered, removed = excluded.removed, digest = excluded.digest,
		approved_at = excluded.approved_at, approved_by = excluded.approved_by`,
		[][]any{append(append(row, now.Size.values()...), digest, millis(now.Approved), now.ApprovedBy)})
	if err != nil {
		return err
	}
	if err := w.insert("change_cluster", "change_id, cluster_id, subscription, cluster_type, state, fetched_at, applied_at, reason",
		`ON CONFLICT (change_id, cluster_id, subscription) DO UPDATE SET cluster_type = excluded.cluster_type, state = excluded.state,
		fetched_at = excluded.fetched_at, applied_at = excluded.applied_at, reason = excluded.reason`, clusters); err != nil {
		return err
	}
	var sources [][]any
	for _, s := range slices.CompactFunc(slices.SortedFunc(slices.Values(c.Sources), SourceCommit.compare), func(a, b SourceCommit) bool { return a.compare(b) == 0 }) {
		sources = append(sources, []any{now.ID, s.Repo, s.SHA, clean(s.Author), clean(s.Subject), millis(s.At), s.URL})
	}
	if err := w.insert("change_source", "change_id, repo, sha, author, subject, committed_at, url", `ON CONFLICT (change_id, repo, sha) DO UPDATE SET
		author = excluded.author, subject = excluded.subject, committed_at = excluded.committed_at, url = excluded.url`, sources); err != nil {
		return err
	}
	if was == nil || len(clusters) > 0 || !was.looksAs(now) {
		w.message("change", c.Environment, "", map[string]any{"environment": c.Environment, "change": now.ID, "state": now.State})
	}
	return nil
}

// looksAs is whether readers see nothing new in a change.
func (c changeRow) looksAs(now Change) bool {
	was := c.Change
	was.Environment, was.Repo, was.Branch, was.Clusters, now.Clusters = now.Environment, now.Repo, now.Branch, nil, nil
	for _, s := range now.Sources {
		if !slices.Contains(was.Sources, s) {
			return false
		}
	}
	was.Sources, now.Sources = nil, nil
	return encode(was) == encode(now)
}

func (s SourceCommit) compare(other SourceCommit) int {
	return cmp.Or(cmp.Compare(s.Repo, other.Repo), cmp.Compare(s.SHA, other.SHA))
}

// storedChange is what is known of a change, nil for nothing.
func (w *round) storedChange(environment, branch int64, c *Change) (*changeRow, error) {
	of := condition{[]string{"c.branch_id = ?", "c.environment_id = ?", "c.pull_request = ?"}, []any{branch, environment, int64(c.PullRequest)}}
	if c.PullRequest == 0 {
		of.add("c.sha = ?", c.SHA)
	}
	var was changeRow
	var err error
	was.Change, err = scanChange(w.row(`SELECT `+changeColumns+`, c.digest FROM change c WHERE `+of.String(), of.args...).Scan, &was.digest)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = w.sources([]int64{was.ID}, func(_ int64, s SourceCommit) { was.Sources = append(was.Sources, s) })
	}
	return &was, err
}

// digest is of all that a round says of a change.
func (c *Change) digest() int64 {
	h := fnv.New64a()
	h.Write([]byte(encode(c)))
	return int64(h.Sum64())
}

// with are the stages with what is known of them now. The first time that something was seen
// is when it happened.
func (s Stages) with(now Stages) Stages {
	first := func(was, now time.Time) time.Time {
		if was.IsZero() {
			return now
		}
		return was
	}
	if now.Pushed.IsZero() || !s.Pushed.IsZero() && s.Pushed.Before(now.Pushed) {
		now.Pushed = s.Pushed
	}
	now.Planned, now.Opened, now.Merged = first(s.Planned, now.Planned), first(now.Opened, s.Opened), first(now.Merged, s.Merged)
	now.FirstApplied, now.Applied = s.FirstApplied, s.Applied
	return now
}

// order brings stages into their order: they are by the clocks of users' machines, of the
// scheduler, of the forge and of clusters, which differ. The forge's times stand, since it has
// said them of each change; what came before is not later, and what comes after is not earlier.
func (s *Stages) order(now time.Time) {
	limit := now
	for _, at := range []*time.Time{&s.Merged, &s.Approved, &s.Opened, &s.Planned, &s.Pushed} {
		if at.After(limit) {
			*at = limit
		}
		if !at.IsZero() {
			limit = *at
		}
	}
}

// KnownChange is what need not be asked for again.
type KnownChange struct {
	Head    string
	State   string
	Size    *Size
	Planned time.Time
	Sources []SourceCommit
}

// KnownChanges are the pull requests to a branch that are known, by number, the newest of them.
func (s *Store) KnownChanges(ctx context.Context, environment, repo, branch string) (map[int]KnownChange, error) {
	known := map[int]KnownChange{}
	err := s.read(ctx, func(t tx) error {
		byID := map[int64]int{}
		var found []int64
		if err := t.each(func(rows *sql.Rows) error {
			c, err := scanChange(rows.Scan)
			known[c.PullRequest] = KnownChange{Head: c.Head, State: c.State, Size: c.Size, Planned: c.Planned}
			byID[c.ID] = c.PullRequest
			found = append(found, c.ID)
			return err
		}, `SELECT `+changeColumns+` FROM change c JOIN environment e ON e.id = c.environment_id JOIN branch b ON b.id = c.branch_id
			WHERE e.name = ? AND b.repo = ? AND b.name = ? AND c.pull_request > 0 ORDER BY c.pull_request DESC LIMIT ?`, environment, repo, branch, knownEach); err != nil {
			return err
		}
		return t.sources(found, func(id int64, commit SourceCommit) {
			k := known[byID[id]]
			k.Sources = append(k.Sources, commit)
			known[byID[id]] = k
		})
	})
	return known, err
}

// knownEach is how many pull requests of a branch are read at once: more than a forge lists.
const knownEach = 200

// sources calls take with the commits that changes were made of.
func (t tx) sources(changes []int64, take func(int64, SourceCommit)) error {
	return t.each(func(rows *sql.Rows) error {
		var id, at int64
		var s SourceCommit
		err := rows.Scan(&id, &s.Repo, &s.SHA, &s.Author, &s.Subject, &at, &s.URL)
		s.At = timeOf(at)
		take(id, s)
		return err
	}, `SELECT change_id, repo, sha, author, subject, committed_at, url FROM change_source WHERE change_id IN `+ids(changes)+` ORDER BY change_id, committed_at DESC, repo, sha`)
}

// UnexportedQuery says which changes have arrived.
type UnexportedQuery struct {
	Since   time.Time // when they began at the earliest
	Settled time.Time // until when one was merged that no cluster follows
	Late    time.Time // until when one was merged that some clusters still have not
	Now     time.Time
	Most    int
}

// claimLimit is for how long an export is its hub's: one that has ended in the middle leaves it to
// another, and what is exported twice is the same twice.
const claimLimit = 5 * time.Minute

// UnexportedChanges are those that have arrived, or are late, and whose trace was not exported, the
// oldest first.
func (s *Store) UnexportedChanges(ctx context.Context, q UnexportedQuery) (found []int64, err error) {
	err = s.read(ctx, func(t tx) error {
		found, err = t.numbers(`SELECT c.id FROM change c WHERE c.began_at >= ? AND c.merged_at > 0
			AND (c.state = 'applied' OR c.state = 'none' AND c.merged_at <= ? OR c.merged_at <= ?)
			AND NOT EXISTS (SELECT 1 FROM exported_change x WHERE x.change_id = c.id AND (x.at > 0 OR x.at < ?)) ORDER BY c.began_at, c.id LIMIT ?`,
			millis(q.Since), millis(q.Settled), millis(q.Late), -millis(q.Now.Add(-claimLimit)), int64(q.Most))
		return err
	})
	return found, err
}

// ClaimExport is whether the caller is to export a change's trace: nobody has yet, or is about to.
func (s *Store) ClaimExport(ctx context.Context, change int64, now time.Time) (claimed bool, err error) {
	err = s.write(ctx, func(t tx) error { // a time below zero is that of a claim
		done, err := t.exec(`INSERT INTO exported_change (change_id, at) VALUES (?, ?) ON CONFLICT (change_id) DO UPDATE SET at = excluded.at
			WHERE exported_change.at < 0 AND exported_change.at >= ?`, change, -millis(now), -millis(now.Add(-claimLimit)))
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		claimed = n > 0
		return err
	})
	return claimed, err
}

// Exported says that a trace was exported that the caller has claimed.
func (s *Store) Exported(ctx context.Context, change int64) error {
	return s.write(ctx, func(t tx) error {
		_, err := t.exec(`UPDATE exported_change SET at = ? WHERE change_id = ?`, millis(time.Now()), change)
		return err
	})
}

// UndoExport says that a trace was not exported after all.
func (s *Store) UndoExport(ctx context.Context, change int64) error {
	return s.write(ctx, func(t tx) error {
		_, err := t.exec(`DELETE FROM exported_change WHERE change_id = ?`, change)
		return err
	})
}
