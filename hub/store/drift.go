package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// DriftGroup is what is wrong for one cause: placements of an environment in one state whose
// reasons differ by numbers and hashes only.
type DriftGroup struct {
	Environment  string
	State        placement.State
	Reason       string // with # for numbers and hashes
	Example      string // one of the reasons
	Clusters     int
	N            int       // placements
	Since        time.Time // the earliest
	Targets      []string  // up to 20
	ClusterNames []string  // up to 20
	Change       *Change   // that it began with; nil where that is not known
}

// driftStates are those of placements that are not as git wants them, without those of which it
// is not known.
var driftStates = []placement.State{placement.Failing, placement.Missing, placement.Extra, placement.Edited, placement.Late}

// groupNames is how many clusters and targets of a group are named.
const groupNames = 20

var driftOrder = []order{{}, {}, {text: true}} // state, environment and cause

type driftKey struct {
	state, environment int64
	cause              string
}

func (k driftKey) values() []any { return []any{k.state, k.environment, k.cause} }

func (k driftKey) compare(other driftKey) int {
	return cmp.Or(cmp.Compare(k.state, other.state), cmp.Compare(k.environment, other.environment), cmp.Compare(k.cause, other.cause))
}

// driftMembers are the placements of a group.
type driftMembers struct {
	first             placementKey
	n                 int
	since             int64
	clusters, targets map[int64]bool // these of assignments
}

// Drift groups what is wrong by its cause, the worst states first. Without States it is all that
// counts as drift; others, such as unknown, can be asked for.
func (s *Store) Drift(ctx context.Context, scope Scope, f PlacementFilter, p Page) (list List[DriftGroup], err error) {
	if p.Sort != "" {
		return list, fmt.Errorf("%w: %q", ErrSort, p.Sort)
	}
	if len(f.States) == 0 {
		f.States = driftStates
	}
	digest := digestOf("drift", scope, f)
	from, err := valuesOf(digest, p.After, driftOrder)
	if err != nil {
		return list, err
	}
	list.Items = []DriftGroup{}
	err = s.read(ctx, func(t tx) error {
		groups, err := t.drift(scope, f)
		if err != nil {
			return err
		}
		keys := slices.SortedFunc(maps.Keys(groups), driftKey.compare)
		list.Total = len(keys)
		if from != nil {
			after := driftKey{from[0].(int64), from[1].(int64), from[2].(string)}
			keys = slices.DeleteFunc(keys, func(k driftKey) bool { return k.compare(after) <= 0 })
		}
		if limit := p.limit(); len(keys) > limit {
			keys = keys[:limit]
			list.Next = cursorOf(digest, keys[limit-1].values())
		}
		for _, k := range keys {
			g, err := t.driftGroup(scope, k, groups[k])
			if err != nil {
				return err
			}
			list.Items = append(list.Items, g)
		}
		list.AsOf, err = t.asOf(scope, f.Environments)
		return err
	})
	return list, err
}

// drift reads what is wrong. It is put together here: a database would go through it once for the
// numbers, and again for the names.
func (t tx) drift(scope Scope, f PlacementFilter) (map[driftKey]*driftMembers, error) {
	where, err := t.ofPlacement(scope, f, anyIndex)
	if err != nil {
		return nil, err
	}
	groups := map[driftKey]*driftMembers{}
	return groups, t.each(func(rows *sql.Rows) error {
		var k driftKey
		var p placementKey
		var since int64
		if err := rows.Scan(&k.state, &k.environment, &k.cause, &p.cluster, &p.assignment, &since); err != nil {
			return err
		}
		g := groups[k]
		if g == nil {
			g = &driftMembers{first: p, since: since, clusters: map[int64]bool{}, targets: map[int64]bool{}}
			groups[k] = g
		}
		g.n++
		g.since = min(g.since, since)
		g.clusters[p.cluster] = true
		g.targets[p.assignment] = true
		return nil
	}, `SELECT p.state, p.environment_id, p.cause, p.cluster_id, p.assignment_id, p.since FROM placement p WHERE `+where.String(), where.args...)
}

func (t tx) driftGroup(scope Scope, k driftKey, members *driftMembers) (DriftGroup, error) {
	g := DriftGroup{State: stateOf(k.state), Reason: k.cause, Clusters: len(members.clusters), N: members.n, Since: timeOf(members.since)}
	err := t.row(`SELECT e.name, p.reason FROM placement p JOIN environment e ON e.id = p.environment_id WHERE p.cluster_id = ? AND p.assignment_id = ?`,
		members.first.cluster, members.first.assignment).Scan(&g.Environment, &g.Example)
	if err == nil {
		g.ClusterNames, err = t.names(`SELECT name FROM cluster WHERE id IN`, members.clusters)
	}
	if err == nil {
		g.Targets, err = t.names(`SELECT DISTINCT target FROM assignment WHERE id IN`, members.targets)
	}
	if err == nil {
		g.Change, err = t.causeOf(scope, members.first)
	}
	return g, err
}

// names are the first of those that have some numbers.
func (t tx) names(query string, of map[int64]bool) (names []string, err error) {
	err = t.each(func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	}, query+ids(slices.Collect(maps.Keys(of)))+` ORDER BY 1 LIMIT ?`, groupNames)
	return names, err
}

// Outlier is a placement at another version than nearly all others of its assignment.
type Outlier struct {
	Environment, Cluster, ClusterType, Target string
	Version, Usual                            string  // as shown
	Share                                     float64 // of the assignment's other placements, those at Usual
	Since                                     time.Time
}

const (
	// outlierShare is how many of the others must agree.
	outlierShare = 0.9
	// outlierClusters is how many placements an assignment must have, so that one can differ
	// from the others.
	outlierClusters = 3
)

var outlierOrder = []order{{column: "p.since"}, {column: "p.cluster_id"}, {column: "p.assignment_id"}}

// Outliers lists the placements in scope whose version is another than that of 90 % of the other
// clusters of their type, those that are so the longest first. What is still rolling, or has
// what git asks for, is none.
func (s *Store) Outliers(ctx context.Context, scope Scope, environments []string, p Page) (list List[Outlier], err error) {
	if p.Sort != "" {
		return list, fmt.Errorf("%w: %q", ErrSort, p.Sort)
	}
	err = s.read(ctx, func(t tx) error {
		type usual struct {
			version  string
			n, total int64
		}
		versions := map[int64]*usual{}
		of, err := t.ofRollup(scope, PlacementFilter{Environments: environments})
		if err != nil {
			return err
		}
		if err := t.each(func(rows *sql.Rows) error {
			var assignment, n int64
			var version string
			err := rows.Scan(&assignment, &version, &n)
			u := versions[assignment]
			if u == nil {
				u = &usual{}
				versions[assignment] = u
			}
			if u.total += n; n > u.n {
				u.version, u.n = version, n
			}
			return err
		}, `SELECT r.assignment_id, r.version, CAST(sum(r.n) AS BIGINT) FROM rollup r WHERE r.version <> '' AND `+of.String()+` GROUP BY r.assignment_id, r.version ORDER BY r.assignment_id, r.version`, of.args...); err != nil {
			return err
		}
		var where condition
		for _, id := range slices.Sorted(maps.Keys(versions)) {
			if u := versions[id]; u.total >= outlierClusters && u.n < u.total && float64(u.n) >= outlierShare*float64(u.total-1) {
				where.add("p.assignment_id = ? AND "+versionColumn+" <> ?", id, u.version)
			}
		}
		either := where
		where = condition{}
		if len(either.texts) == 0 {
			where.add("1 = 0")
		} else {
			where.add("("+strings.Join(either.texts, ") OR (")+")", either.args...)
		}
		where.add("p.state <> ? AND p.actual_commit <> '' AND (p.actual_version <> p.desired_version OR p.actual_version = '')", stateNumber(placement.Rolling))
		q := listQuery{
			of: []any{"outliers", scope, environments}, by: outlierOrder, where: where,
			text: `SELECT e.name, c.name, a.cluster_type, a.target, ` + versionColumn + `, p.since, p.cluster_id, p.assignment_id
				FROM placement p JOIN cluster c ON c.id = p.cluster_id JOIN assignment a ON a.id = p.assignment_id JOIN environment e ON e.id = p.environment_id`,
		}
		list, err = page(t, q, p, func(rows *sql.Rows) (Outlier, []any, error) {
			var o Outlier
			var since, cluster, assignment int64
			err := rows.Scan(&o.Environment, &o.Cluster, &o.ClusterType, &o.Target, &o.Version, &since, &cluster, &assignment)
			o.Since = timeOf(since)
			if u := versions[assignment]; u != nil {
				o.Usual, o.Share = u.version, float64(u.n)/float64(u.total-1)
			}
			return o, []any{since, cluster, assignment}, err
		})
		if err != nil {
			return err
		}
		list.AsOf, err = t.asOf(scope, environments)
		return err
	})
	return list, err
}
