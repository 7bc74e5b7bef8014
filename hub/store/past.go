package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// What is said of placements before anything was observed.
const (
	notObserved = "nothing was observed yet: what git asked for then is known, and not which clusters had it"
	notKept     = "what was observed then is not kept any more: what git asked for is known, and not which clusters had it"
)

// PlacementsAt lists placements as they were at a time: desired as git has it, actual and state
// as they were observed. Labels are those of now. Before anything was observed there is one row
// for each assignment, of no cluster and Unknown.
func (s *Store) PlacementsAt(ctx context.Context, scope Scope, f PlacementFilter, at time.Time, p Page) (list List[Placement], err error) {
	by, err := sorted(placementOrders, PlacementSorts, p)
	if err != nil {
		return list, err
	}
	err = s.read(ctx, func(t tx) error {
		environments, err := t.environmentsWith(scope, f.Environments)
		if err != nil {
			return err
		}
		desired := map[string]DesiredState{}
		for _, name := range environments {
			if desired[name], err = t.desired(scope, name, at); err != nil {
				return err
			}
		}
		last, reason, err := t.lastEvent(at)
		switch {
		case err != nil:
			return err
		case reason != "":
			list, err = unobserved(environments, desired, scope, f, at, reason, p)
		default:
			list, err = t.placementsAt(scope, f, at, last, desired, by, p)
		}
		list.AsOf = at
		return err
	})
	return list, err
}

// environmentsWith are the names of environments in scope, of some or all.
func (t tx) environmentsWith(scope Scope, names []string) (all []string, err error) {
	var c condition
	c.in("name", names)
	c.in("name", scope.Environments)
	err = t.each(func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		all = append(all, name)
		return err
	}, `SELECT name FROM environment WHERE `+c.String()+` ORDER BY name`, c.args...)
	return all, err
}

// lastEvent is the last event of placements that was seen at a time or before, by bisection: the
// identities have the order of the times. The reason is why there is none.
func (t tx) lastEvent(at time.Time) (last int64, reason string, err error) {
	var first, end int64
	if err := t.row(`SELECT COALESCE(min(id), 0), COALESCE(max(id), 0) FROM placement_event`).Scan(&first, &end); err != nil {
		return 0, "", err
	}
	low, high := first-1, end // the last is in (first-1, end]
	for low < high {
		middle := low + (high-low+1)/2
		var id, seen int64
		if err := t.row(`SELECT id, seen_at FROM placement_event WHERE id >= ? ORDER BY id LIMIT 1`, middle).Scan(&id, &seen); err != nil {
			return 0, "", err
		}
		if seen <= millis(at) {
			low = max(id, middle)
		} else {
			high = middle - 1
		}
	}
	switch {
	case end == 0, low < first && first <= 1:
		return 0, notObserved, nil
	case low < first:
		return 0, notKept, nil
	}
	return low, "", nil
}

// pastPlacements are all placements after an event, with the columns of the table: from the last
// event of each until then; of those that have none kept, from the first after it, which says what
// was before; and of those without any, as they are.
const pastPlacements = `(SELECT v.cluster_id, v.assignment_id, a.environment_id, v.to_state AS state, v.happened_at AS since, v.to_version AS actual_version, v.to_commit AS actual_commit, v.reason
		FROM (SELECT max(id) AS id FROM placement_event WHERE id <= ? GROUP BY assignment_id, cluster_id) l
		JOIN placement_event v ON v.id = l.id JOIN assignment a ON a.id = v.assignment_id WHERE v.to_state >= 0
	UNION ALL SELECT v.cluster_id, v.assignment_id, a.environment_id, v.from_state, 0, v.from_version, v.from_commit, ''
		FROM (SELECT min(id) AS id FROM placement_event GROUP BY assignment_id, cluster_id HAVING min(id) > ?) l
		JOIN placement_event v ON v.id = l.id JOIN assignment a ON a.id = v.assignment_id WHERE v.from_state >= 0
	UNION ALL SELECT q.cluster_id, q.assignment_id, q.environment_id, q.state, q.since, q.actual_version, q.actual_commit, q.reason
		FROM placement q WHERE NOT EXISTS (SELECT 1 FROM placement_event v WHERE v.assignment_id = q.assignment_id AND v.cluster_id = q.cluster_id))`

func (t tx) placementsAt(scope Scope, f PlacementFilter, at time.Time, last int64, desired map[string]DesiredState, by []order, p Page) (List[Placement], error) {
	where, err := t.ofPast(scope, f)
	if err != nil {
		return List[Placement]{}, err
	}
	where.args = append([]any{last, last}, where.args...)
	revisions := map[[3]string]Desired{}
	for name, state := range desired {
		for _, d := range state.Items {
			revisions[[3]string{name, d.ClusterType, d.Target}] = d
		}
	}
	q := listQuery{
		of: []any{"placements at", scope, f, at}, by: by, where: where,
		text: `SELECT p.cluster_id, p.assignment_id, p.state, p.since, c.name, c.labels, c.approximate, e.name, a.cluster_type, a.target, a.workload, a.workspace, a.policies,
			p.actual_commit, p.actual_version, p.reason FROM ` + pastPlacements + ` p JOIN cluster c ON c.id = p.cluster_id JOIN assignment a ON a.id = p.assignment_id
			JOIN environment e ON e.id = p.environment_id`,
	}
	return page(t, q, p, func(rows *sql.Rows) (Placement, []any, error) {
		var p scannedPlacement
		var labels, policies string
		err := rows.Scan(&p.cluster, &p.assignment, &p.state, &p.since, &p.Cluster, &labels, &p.Approximate, &p.Environment, &p.ClusterType, &p.Target, &p.Workload, &p.Workspace, &policies,
			&p.Actual.Commit, &p.Actual.Version, &p.Reason)
		if err == nil {
			err = json.Unmarshal([]byte(labels), &p.Labels)
		}
		if err == nil {
			err = json.Unmarshal([]byte(policies), &p.Policies)
		}
		p.State, p.Since, p.AsOf = stateOf(p.state), timeOf(p.since), at
		if d, ok := revisions[[3]string{p.Environment, p.ClusterType, p.Target}]; ok {
			p.Desired = d.Revision
			p.Actual.Repo, p.Actual.Branch = d.Repo, d.Branch
		}
		return p.Placement, p.values(by), err
	})
}

// ofPast is what chooses placements p of the past: the roll-up is of now.
func (t tx) ofPast(scope Scope, f PlacementFilter) (condition, error) {
	text, versions := f.Text, f.Versions
	f.Text, f.Versions = "", nil
	c, err := t.ofPlacement(scope, f, anyIndex)
	if err != nil {
		return c, err
	}
	c.in(versionColumn, versions)
	if text != "" {
		like := pattern(text)
		c.add(`lower(c.name) LIKE ? ESCAPE '!' OR lower(a.target) LIKE ? ESCAPE '!' OR lower(`+versionColumn+`) LIKE ? ESCAPE '!' OR lower(p.reason) LIKE ? ESCAPE '!'`, like, like, like, like)
	}
	return c, nil
}

// unobserved are the assignments of then, of no cluster.
func unobserved(environments []string, desired map[string]DesiredState, scope Scope, f PlacementFilter, at time.Time, reason string, p Page) (List[Placement], error) {
	one := func(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
	all := []Placement{}
	for _, name := range environments {
		for _, d := range desired[name].Items {
			version := d.ShownVersion()
			text := strings.ToLower(f.Text)
			if !one(f.ClusterTypes, d.ClusterType) || !one(f.Targets, d.Target) || !one(f.Workloads, d.Workload) || !one(f.Workspaces, d.Workspace) || !one(f.Versions, version) ||
				len(f.States) > 0 && !slices.Contains(f.States, placement.Unknown) || len(f.Clusters) > 0 || f.Labels != "" ||
				!strings.Contains(strings.ToLower(d.Target), text) && !strings.Contains(reason, text) {
				continue
			}
			all = append(all, Placement{
				Placement: placement.Placement{Environment: name, ClusterType: d.ClusterType, Target: d.Target, Desired: d.Revision, State: placement.Unknown, Reason: reason, AsOf: at},
				Workload:  d.Workload, Workspace: d.Workspace, Policies: d.Policies,
			})
		}
	}
	return PageOf(all, func(p Placement) string { return fmt.Sprintf("%s\x00%s\x00%s", p.Environment, p.ClusterType, p.Target) }, p, "unobserved", scope, f, at)
}

// PageOf is a page of a list that is whole, sorted by a key that each item has another of. of is
// the list's name, and all that its items depend on.
func PageOf[T any](all []T, key func(T) string, p Page, of ...any) (List[T], error) {
	list := List[T]{Items: []T{}, Total: len(all)}
	digest := digestOf(append(of, p.Sort)...)
	from, err := valuesOf(digest, p.After, []order{{text: true}})
	if err != nil {
		return list, err
	}
	if from != nil {
		after := slices.IndexFunc(all, func(one T) bool { return key(one) > from[0].(string) })
		if after < 0 {
			after = len(all)
		}
		all = all[after:]
	}
	list.Items = append(list.Items, all[:min(p.limit(), len(all))]...)
	if len(all) > p.limit() {
		list.Next = cursorOf(digest, []any{key(list.Items[len(list.Items)-1])})
	}
	return list, nil
}

// TargetCount is how many placements of a deployment target run a version.
type TargetCount struct {
	Target, Workload, Workspace string
	Version                     string // as shown: short commits where there are no versions
	N                           int
}

// TargetCounts are the versions that placements of an environment ran at a time, zero for now, by
// target and version. There are none of a time of which nothing was observed.
func (s *Store) TargetCounts(ctx context.Context, scope Scope, environment string, at time.Time) (all []TargetCount, err error) {
	err = s.read(ctx, func(t tx) error {
		where := ofAssignment(scope, PlacementFilter{})
		if err := t.environments(&where, "a.environment_id", scope, []string{environment}); err != nil {
			return err
		}
		text := `SELECT a.target, a.workload, a.workspace, r.version, CAST(sum(r.n) AS BIGINT) FROM rollup r JOIN assignment a ON a.id = r.assignment_id WHERE ` + where.String() +
			` GROUP BY a.target, a.workload, a.workspace, r.version ORDER BY a.target, r.version`
		if !at.IsZero() {
			last, reason, err := t.lastEvent(at)
			if err != nil || reason != "" {
				return err
			}
			text = `SELECT a.target, a.workload, a.workspace, ` + versionColumn + `, count(*) FROM ` + pastPlacements + ` p JOIN assignment a ON a.id = p.assignment_id WHERE ` + where.String() +
				` GROUP BY a.target, a.workload, a.workspace, ` + versionColumn + ` ORDER BY a.target, ` + versionColumn
			where.args = append([]any{last, last}, where.args...)
		}
		return t.each(func(rows *sql.Rows) error {
			var c TargetCount
			err := rows.Scan(&c.Target, &c.Workload, &c.Workspace, &c.Version, &c.N)
			all = append(all, c)
			return err
		}, text, where.args...)
	})
	return all, err
}

// TargetNames are the deployment targets in scope that there are, or were.
func (s *Store) TargetNames(ctx context.Context, scope Scope) (names []string, err error) {
	err = s.read(ctx, func(t tx) error {
		where := ofAssignment(scope, PlacementFilter{})
		where.add("a.target <> ''")
		if err := t.environments(&where, "a.environment_id", scope, nil); err != nil {
			return err
		}
		return t.each(func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			names = append(names, name)
			return err
		}, `SELECT DISTINCT a.target FROM assignment a WHERE `+where.String()+` ORDER BY a.target`, where.args...)
	})
	return names, err
}

// TargetHistory lists what has happened to a deployment target on all clusters, and the versions
// that git asked for, the newest first. A version is an event without a Cluster: ToVersion by
// ToCommit of the branch, At the time of that commit. Of the filter it takes Environments and Clusters; with
// Clusters it has the transitions of these only.
func (s *Store) TargetHistory(ctx context.Context, scope Scope, target string, f PlacementFilter, p Page) (list List[Event], err error) {
	if p.Sort != "" {
		return list, fmt.Errorf("%w: %q", ErrSort, p.Sort)
	}
	of := []any{"target history", scope, target, f.Environments, f.Clusters}
	f = PlacementFilter{Environments: f.Environments, Clusters: f.Clusters, Targets: []string{target}}
	err = s.read(ctx, func(t tx) error {
		events := ofAssignment(scope, f)
		events.in("c.name", f.Clusters)
		events.in("e.name", f.Environments)
		events.in("e.name", scope.Environments)
		text := `SELECT * FROM (SELECT v.happened_at AS happened, v.id AS number, 0 AS branch, 0 AS epoch, v.seen_at, e.name AS environment, c.name AS cluster,
			v.from_state, v.to_state, v.from_version, v.to_version, v.from_commit, v.to_commit, v.reason
			FROM placement_event v JOIN assignment a ON a.id = v.assignment_id JOIN environment e ON e.id = a.environment_id JOIN cluster c ON c.id = v.cluster_id
			WHERE ` + events.String()
		args := events.args
		if len(f.Clusters) == 0 {
			var versions condition
			versions.in("d.target", f.Targets)
			versions.in("d.environment", f.Environments)
			versions.in("d.environment", scope.Environments)
			if len(scope.Workspaces) > 0 {
				of := ofAssignment(scope, f)
				versions.add("EXISTS (SELECT 1 FROM assignment a WHERE "+of.String()+")", of.args...)
			}
			text += ` UNION ALL SELECT bc.committed_at, d.from_seq, d.branch_id, d.epoch, bc.committed_at, d.environment, '', -1, -1, '', d.version, '', bc.sha, ''
				FROM target_version d JOIN branch_commit bc ON bc.branch_id = d.branch_id AND bc.epoch = d.epoch AND bc.seq = d.from_seq WHERE ` + versions.String()
			args = append(args, versions.args...)
		}
		q := listQuery{
			of: of, text: text + `) h`, where: condition{args: args},
			by: []order{{column: "happened", down: true}, {column: "branch"}, {column: "epoch", down: true}, {column: "number", down: true}, {column: "environment", text: true}},
		}
		list, err = page(t, q, p, func(rows *sql.Rows) (Event, []any, error) {
			e := Event{Target: target}
			var at, branch, epoch, seenAt, from, to int64
			err := rows.Scan(&at, &e.ID, &branch, &epoch, &seenAt, &e.Environment, &e.Cluster, &from, &to, &e.FromVersion, &e.ToVersion, &e.FromCommit, &e.ToCommit, &e.Reason)
			e.At, e.SeenAt, e.FromState, e.ToState = timeOf(at), timeOf(seenAt), stateOf(from), stateOf(to)
			return e, []any{at, branch, epoch, e.ID, e.Environment}, err
		})
		if err != nil {
			return err
		}
		list.AsOf, err = t.asOf(scope, f.Environments)
		return err
	})
	return list, err
}
