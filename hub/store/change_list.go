package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ChangeFilter chooses changes: the values of a list are alternatives.
type ChangeFilter struct {
	Environments, Kinds, States []string
	// Text is a part of the title or of the author, without case, or the beginning of a commit
	// of any repository that a change has, by at least seven digits.
	Text string
}

// ChangeDetail is a change with all that is known of it.
type ChangeDetail struct {
	Change
	// Epoch counts how often the branch has been pushed with force until the change, from 1;
	// 0 where the branch has not been read. EpochBegan is when that was seen, zero of the first.
	Epoch      int
	EpochBegan time.Time
	Lanes      []Lane // by cluster type
	// Next is the promotion of the change to the environment after its own, nil for none.
	Next *Change
}

// Lane is how far a change has come on the clusters of a type.
type Lane struct {
	ClusterType             string
	Total, Reached, Failing int // clusters
	FirstApplied, Applied   time.Time
}

var (
	changeOrder        = []order{{column: "c.began_at", down: true}, {column: "c.id", down: true}}
	changeClusterOrder = []order{{column: "x.state"}, {column: "x.applied_at", down: true}, {column: "k.name", text: true}, {column: "x.subscription", text: true}}
	commitPrefix       = regexp.MustCompile(`^[0-9a-f]{7,40}$`)
)

const changeTables = ` FROM change c JOIN environment e ON e.id = c.environment_id JOIN branch b ON b.id = c.branch_id`

// Changes lists the changes in scope, the newest first.
func (s *Store) Changes(ctx context.Context, scope Scope, f ChangeFilter, p Page) (list List[Change], err error) {
	if p.Sort != "" {
		return list, fmt.Errorf("%w: %q", ErrSort, p.Sort)
	}
	err = s.read(ctx, func(t tx) error {
		where, err := t.ofChange(scope, f.Environments)
		if err != nil {
			return err
		}
		where.in("c.kind", f.Kinds)
		where.in("c.state", f.States)
		if err := t.withChangeText(&where, f.Text); err != nil {
			return err
		}
		q := listQuery{of: []any{"changes", scope, f}, by: changeOrder, where: where, text: `SELECT ` + changeColumns + `, e.name, b.repo, b.name, c.began_at` + changeTables}
		list, err = page(t, q, p, func(rows *sql.Rows) (Change, []any, error) {
			var environment, repo, branch string
			var began int64
			c, err := scanChange(rows.Scan, &environment, &repo, &branch, &began)
			c.Environment, c.Repo, c.Branch = environment, repo, branch
			return c, []any{began, c.ID}, err
		})
		if err != nil {
			return err
		}
		if err := t.fillChanges(scope, list.Items); err != nil {
			return err
		}
		if err := t.row(`SELECT count(*) FROM change c WHERE `+where.String(), where.args...).Scan(&list.Total); err != nil {
			return err
		}
		list.AsOf, err = t.asOf(scope, f.Environments)
		return err
	})
	return list, err
}

// ofChange is what chooses changes c in scope. Those of applications are of the workspaces whose
// placements come from their branch; the platform's are of the whole environment.
func (t tx) ofChange(scope Scope, environments []string) (condition, error) {
	var c condition
	if err := t.environments(&c, "c.environment_id", scope, environments); err != nil || len(scope.Workspaces) == 0 {
		return c, err
	}
	of := ofAssignment(scope, PlacementFilter{})
	branches, err := t.numbers(`SELECT DISTINCT p.desired_branch_id FROM placement p JOIN assignment a ON a.id = p.assignment_id WHERE `+of.String(), of.args...)
	c.add("c.kind <> 'application' OR c.branch_id IN " + ids(branches))
	return c, err
}

// withChangeText adds that a change c has a text, or a commit.
func (t tx) withChangeText(c *condition, text string) error {
	if text == "" {
		return nil
	}
	like := pattern(text)
	either := condition{[]string{"lower(c.title) LIKE ? ESCAPE '!'", "lower(c.author) LIKE ? ESCAPE '!'"}, []any{like, like}}
	if prefix := strings.ToLower(text); commitPrefix.MatchString(prefix) {
		// as a range, which an index has; no digit is after g
		args := []any{prefix, prefix + "g"}
		found, err := t.numbers(`SELECT id FROM change WHERE sha >= ? AND sha < ? UNION SELECT id FROM change WHERE head >= ? AND head < ?
			UNION SELECT change_id FROM change_source WHERE sha >= ? AND sha < ?`, slices.Concat(args, args, args)...)
		if err != nil {
			return err
		}
		either.add("c.id IN " + ids(found))
	}
	c.add("("+strings.Join(either.texts, ") OR (")+")", either.args...)
	return nil
}

// fillChanges adds the source commits of changes, and counts the clusters in scope of those who
// may not see all.
func (t tx) fillChanges(scope Scope, all []Change) error {
	at := map[int64]*Change{}
	var found []int64
	for i := range all {
		all[i].Sources = []SourceCommit{}
		at[all[i].ID] = &all[i]
		found = append(found, all[i].ID)
	}
	if err := t.sources(found, func(id int64, s SourceCommit) { at[id].Sources = append(at[id].Sources, s) }); err != nil || len(scope.Workspaces) == 0 {
		return err
	}
	for i := range all {
		all[i].Reached, all[i].Failing, all[i].Total, all[i].Reason = 0, 0, 0, ""
	}
	return t.lanes(scope, found, func(id int64, l Lane) {
		c := at[id]
		c.Reached, c.Failing, c.Total = c.Reached+l.Reached, c.Failing+l.Failing, c.Total+l.Total
	})
}

// ofChangeCluster is what chooses rows of change_cluster x in scope.
func ofChangeCluster(scope Scope) condition {
	var c condition
	if len(scope.Workspaces) > 0 {
		var of condition
		of.in("workspace", scope.Workspaces)
		c.add("x.cluster_id IN (SELECT cluster_id FROM cluster_rollup WHERE "+of.String()+")", of.args...)
	}
	return c
}

// lanes calls take with the clusters in scope of changes, by cluster type. A cluster counts for
// the worst of its subscriptions.
func (t tx) lanes(scope Scope, changes []int64, take func(int64, Lane)) error {
	where := ofChangeCluster(scope)
	where.add("x.change_id IN " + ids(changes))
	return t.each(func(rows *sql.Rows) error {
		var id, first, last, unknown int64
		var l Lane
		err := rows.Scan(&id, &l.ClusterType, &l.Total, &l.Reached, &l.Failing, &first, &last, &unknown)
		if unknown == 0 {
			l.FirstApplied = timeOf(first)
			if l.Reached == l.Total {
				l.Applied = timeOf(last)
			}
		}
		take(id, l)
		return err
	}, `SELECT y.change_id, y.cluster_type, count(*), CAST(sum(CASE WHEN y.state = 4 THEN 1 ELSE 0 END) AS BIGINT), CAST(sum(CASE WHEN y.state = 0 THEN 1 ELSE 0 END) AS BIGINT),
		COALESCE(min(y.first), 0), COALESCE(max(y.last), 0), CAST(sum(y.timeless) AS BIGINT) FROM (
			SELECT x.change_id, x.cluster_type, x.cluster_id, min(x.state) AS state, min(CASE WHEN x.applied_at > 0 THEN x.applied_at END) AS first, max(x.applied_at) AS last,
			max(CASE WHEN x.state = 4 AND x.applied_at = 0 THEN 1 ELSE 0 END) AS timeless
			FROM change_cluster x WHERE `+where.String()+` GROUP BY x.change_id, x.cluster_type, x.cluster_id
		) y GROUP BY y.change_id, y.cluster_type ORDER BY y.change_id, y.cluster_type`, where.args...)
}

// Change is one change. The error wraps ErrNotFound for one that is not there, or not in scope.
func (s *Store) Change(ctx context.Context, scope Scope, id int64) (d ChangeDetail, err error) {
	err = s.read(ctx, func(t tx) error {
		var environment, branch int64
		if d.Change, environment, branch, err = t.change(scope, id); err != nil {
			return err
		}
		one := []Change{d.Change}
		if err := t.fillChanges(scope, one); err != nil {
			return err
		}
		d.Change = one[0]
		d.Lanes = []Lane{}
		if err := t.lanes(scope, []int64{id}, func(_ int64, l Lane) { d.Lanes = append(d.Lanes, l) }); err != nil {
			return err
		}
		var began int64
		// a commit that a later epoch has, too, came in the first of them
		err = t.row(`SELECT h.epoch, h.began_at FROM branch_commit m JOIN branch_history h ON h.branch_id = m.branch_id AND h.epoch = m.epoch
			WHERE m.branch_id = ? AND m.sha = ? ORDER BY m.epoch LIMIT 1`, branch, d.SHA).Scan(&d.Epoch, &began)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		d.EpochBegan = timeOf(began)
		d.Next, err = t.promotion(scope, id, environment)
		return err
	})
	return d, err
}

// change is one change in scope, with the numbers of its environment and its branch.
func (t tx) change(scope Scope, id int64) (c Change, environment, branch int64, err error) {
	where, err := t.ofChange(scope, nil)
	if err != nil {
		return c, 0, 0, err
	}
	where.add("c.id = ?", id)
	var names [3]string
	c, err = scanChange(t.row(`SELECT `+changeColumns+`, c.environment_id, c.branch_id, e.name, b.repo, b.name`+changeTables+` WHERE `+where.String(), where.args...).Scan,
		&environment, &branch, &names[0], &names[1], &names[2])
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("there is no change %d: %w", id, ErrNotFound)
	}
	c.Environment, c.Repo, c.Branch = names[0], names[1], names[2]
	return c, environment, branch, err
}

// promotion is the newest change that takes a commit of a change to the environment after its
// own.
func (t tx) promotion(scope Scope, id, environment int64) (*Change, error) {
	where, err := t.ofChange(scope, nil)
	if err != nil {
		return nil, err
	}
	where.add(`c.environment_id = (SELECT n.id FROM environment n, environment o WHERE o.id = ? AND n.gone_at = 0 AND n.chain_position > o.chain_position ORDER BY n.chain_position, n.name LIMIT 1)`, environment)
	where.add(`c.id IN (SELECT t.change_id FROM change_source f JOIN change_source t ON t.sha = f.sha AND t.repo = f.repo WHERE f.change_id = ?)`, id)
	var names [3]string
	c, err := scanChange(t.row(`SELECT `+changeColumns+`, e.name, b.repo, b.name`+changeTables+` WHERE `+where.String()+` ORDER BY c.began_at DESC, c.id DESC LIMIT 1`, where.args...).Scan,
		&names[0], &names[1], &names[2])
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	c.Environment, c.Repo, c.Branch = names[0], names[1], names[2]
	return &c, err
}

// ChangeClusters lists the subscriptions that a change goes to: those that fail and then those
// that it takes the longest on first. The error wraps ErrNotFound for a change that is not there,
// or not in scope.
func (s *Store) ChangeClusters(ctx context.Context, scope Scope, id int64, clusterTypes []string, p Page) (list List[ChangeCluster], err error) {
	if p.Sort != "" {
		return list, fmt.Errorf("%w: %q", ErrSort, p.Sort)
	}
	err = s.read(ctx, func(t tx) error {
		c, _, _, err := t.change(scope, id)
		if err != nil {
			return err
		}
		where := ofChangeCluster(scope)
		where.add("x.change_id = ?", id)
		where.in("x.cluster_type", clusterTypes)
		q := listQuery{
			of: []any{"change-clusters", scope, id, clusterTypes}, by: changeClusterOrder, where: where,
			text: `SELECT k.name, x.cluster_type, x.subscription, x.state, x.reason, x.fetched_at, x.applied_at FROM change_cluster x JOIN cluster k ON k.id = x.cluster_id`,
		}
		list, err = page(t, q, p, func(rows *sql.Rows) (ChangeCluster, []any, error) {
			var c ChangeCluster
			var fetched, applied int64
			err := rows.Scan(&c.Cluster, &c.ClusterType, &c.Subscription, &c.State, &c.Reason, &fetched, &applied)
			c.Fetched, c.Applied = timeOf(fetched), timeOf(applied)
			return c, []any{int64(c.State), applied, c.Cluster, c.Subscription}, err
		})
		if err != nil {
			return err
		}
		if err := t.row(`SELECT count(*) FROM change_cluster x WHERE `+where.String(), where.args...).Scan(&list.Total); err != nil {
			return err
		}
		list.AsOf, err = t.asOf(scope, []string{c.Environment})
		return err
	})
	return list, err
}

// causeOf is the change that a placement is as it is since: the newest that fails on the cluster,
// of its own branch or of the platform's, and else the one that has brought the commit that it
// should have; nil where neither is known.
func (t tx) causeOf(scope Scope, k placementKey) (*Change, error) {
	for _, of := range []string{
		`SELECT c.id FROM placement p JOIN change_cluster x ON x.cluster_id = p.cluster_id AND x.state = 0 JOIN change c ON c.id = x.change_id
			WHERE p.cluster_id = ? AND p.assignment_id = ? AND c.environment_id = p.environment_id AND (c.kind <> 'application' OR c.branch_id = p.desired_branch_id)`,
		`SELECT c.id FROM placement p JOIN change c ON c.branch_id = p.desired_branch_id AND c.environment_id = p.environment_id AND c.sha = p.desired_commit
			WHERE p.cluster_id = ? AND p.assignment_id = ?`,
	} {
		found, err := t.numbers(of, k.cluster, k.assignment)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			continue
		}
		c, _, _, err := t.change(scope, slices.Max(found))
		if errors.Is(err, ErrNotFound) {
			return nil, nil
		}
		return &c, err
	}
	return nil, nil
}

// DesiredSize counts the assignments that a commit of a GitOps branch has added, changed and
// removed below an environment's folder, and names their cluster types; false where the branch
// has not been read so far.
func (s *Store) DesiredSize(ctx context.Context, repo, branch, root, sha string) (size Size, clusterTypes []string, known bool, err error) {
	err = s.read(ctx, func(t tx) error {
		var id, epoch, seq int64
		err := t.row(`SELECT m.branch_id, m.epoch, m.seq FROM branch b JOIN branch_commit m ON m.branch_id = b.id JOIN branch_root r ON r.branch_id = m.branch_id AND r.epoch = m.epoch
			AND r.length >= m.seq WHERE b.repo = ? AND b.name = ? AND m.sha = ? AND r.root = ? ORDER BY m.epoch LIMIT 1`, repo, branch, sha, root).Scan(&id, &epoch, &seq)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		known = true
		type pair struct{ clusterType, target string }
		became, was := map[pair]bool{}, map[pair]bool{}
		types := map[string]bool{}
		err = t.each(func(rows *sql.Rows) error {
			var p pair
			var from, to int64
			err := rows.Scan(&p.clusterType, &p.target, &from, &to)
			types[p.clusterType] = true
			became[p] = became[p] || from == seq
			was[p] = was[p] || to == seq
			return err
		}, `SELECT cluster_type, target, from_seq, to_seq FROM desired_assignment WHERE branch_id = ? AND epoch = ? AND root = ? AND (from_seq = ? OR to_seq = ?)`, id, epoch, root, seq, seq)
		for p := range became {
			switch {
			case became[p] && was[p]:
				size.Changed++
			case became[p]:
				size.Added++
			default:
				size.Removed++
			}
		}
		for name := range types {
			clusterTypes = append(clusterTypes, name)
		}
		slices.Sort(clusterTypes)
		return err
	})
	return size, clusterTypes, known, err
}

// pruneChanges removes changes that are older than is kept, some in each transaction.
func (s *Store) pruneChanges(ctx context.Context, before int64) error {
	for more := before > 0; more; {
		err := s.write(ctx, func(t tx) error {
			old, err := t.numbers(`SELECT id FROM change WHERE began_at < ? ORDER BY began_at LIMIT ?`, before, pruneEach/1000)
			more = len(old) > 0
			for _, table := range []string{"change_cluster WHERE change_id", "change_source WHERE change_id", "exported_change WHERE change_id", "change WHERE id"} {
				if err == nil && more {
					_, err = t.exec(`DELETE FROM ` + table + ` IN ` + ids(old))
				}
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("removing old changes: %w", err)
		}
	}
	return nil
}
