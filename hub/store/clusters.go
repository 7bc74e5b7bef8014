package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// ClusterFilter chooses clusters: the values of a list are alternatives, and all that is not
// empty must hold.
type ClusterFilter struct {
	Names, Environments, Types, Reconcilers []string
	States                                  []placement.State // of a placement that it has
	Labels                                  string            // selector, as Kubernetes writes them
	Text                                    string            // part of the name, without case
	Unknown                                 *bool             // whether it cannot be asked
}

// ClusterSorts are the orders that Clusters has. "lastSeen" is the one first that was heard of
// the longest ago.
var ClusterSorts = []string{"name", "lastSeen"}

var clusterOrders = map[string][]order{
	"name":     {{column: "c.name", text: true}},
	"lastSeen": {{column: "c.last_seen"}, {column: "c.id"}},
}

// Clusters lists clusters, without their subscriptions.
func (s *Store) Clusters(ctx context.Context, scope Scope, f ClusterFilter, p Page) (list List[Cluster], err error) {
	by, err := sorted(clusterOrders, ClusterSorts, p)
	if err != nil {
		return list, err
	}
	err = s.read(ctx, func(t tx) error {
		where, err := t.ofCluster(scope, f)
		if err != nil {
			return err
		}
		var found []int64
		q := listQuery{of: []any{"clusters", scope, f}, by: by, where: where, text: `SELECT c.id, ` + clusterFields + ` FROM cluster c`}
		list, err = page(t, q, p, func(rows *sql.Rows) (Cluster, []any, error) {
			id, c, lastSeen, err := scanCluster(rows)
			found = append(found, id)
			if p.Sort == "lastSeen" {
				return c, []any{lastSeen, id}, err
			}
			return c, []any{c.Name}, err
		})
		if err != nil {
			return err
		}
		if err := t.complete(scope, found, list.Items); err != nil {
			return err
		}
		if err := t.row(`SELECT count(*) FROM cluster c WHERE `+where.String(), where.args...).Scan(&list.Total); err != nil {
			return err
		}
		list.AsOf, err = t.asOf(scope, f.Environments)
		return err
	})
	return list, err
}

// Cluster is one cluster, with its subscriptions. Those of one that cannot be asked are unknown.
func (s *Store) Cluster(ctx context.Context, scope Scope, name string) (Cluster, error) {
	list, err := s.Clusters(ctx, scope, ClusterFilter{Names: []string{name}}, Page{Limit: 1})
	if err != nil {
		return Cluster{}, err
	}
	if len(list.Items) == 0 {
		return Cluster{}, fmt.Errorf("cluster %s: %w", name, ErrNotFound)
	}
	c := list.Items[0]
	if scope.limited() {
		return c, nil
	}
	var text string
	if err := s.read(ctx, func(t tx) error {
		return t.row(`SELECT subscriptions FROM cluster WHERE name = ?`, name).Scan(&text)
	}); err != nil {
		return Cluster{}, err
	}
	err = json.Unmarshal([]byte(text), &c.Subscriptions)
	if c.Unknown != "" {
		known := fleet.Cluster{Subscriptions: c.Subscriptions}
		known.Forget(c.Unknown)
		c.Subscriptions = known.Subscriptions
	}
	return c, err
}

const clusterFields = `c.name, c.source, c.reconciler, c.labels, c.unknown, c.approximate, c.first_seen, c.last_seen`

func scanCluster(rows *sql.Rows) (id int64, c Cluster, lastSeen int64, err error) {
	var labels string
	var firstSeen int64
	if err := rows.Scan(&id, &c.Name, &c.Source, &c.Reconciler, &labels, &c.Unknown, &c.Approximate, &firstSeen, &lastSeen); err != nil {
		return id, c, lastSeen, err
	}
	c.FirstSeen, c.LastSeen = timeOf(firstSeen), timeOf(lastSeen)
	c.Types, c.Counts = map[string]string{}, map[placement.State]int{}
	return id, c, lastSeen, json.Unmarshal([]byte(labels), &c.Labels)
}

// ofClusterRollup is what chooses rows of the clusters' roll-up m.
func (t tx) ofClusterRollup(s Scope, environments, types []string) (condition, error) {
	var c condition
	c.in("m.workspace", s.Workspaces)
	c.in("m.cluster_type", types)
	return c, t.environments(&c, "m.environment_id", s, environments)
}

func (t tx) ofCluster(s Scope, f ClusterFilter) (condition, error) {
	var c condition
	c.add("c.gone_at = 0")
	c.in("c.name", f.Names)
	if f.Unknown != nil {
		if *f.Unknown {
			c.add("c.unknown <> ''")
		} else {
			c.add("c.unknown = ''")
		}
	}
	if f.Text != "" {
		c.add("lower(c.name) LIKE ? ESCAPE '!'", pattern(f.Text))
	}
	if len(f.Reconcilers) > 0 {
		var texts []string
		var args []any
		for _, r := range f.Reconcilers {
			texts, args = append(texts, "c.reconciler LIKE ? ESCAPE '!'"), append(args, pattern(r))
		}
		c.add(strings.Join(texts, " OR "), args...)
	}
	if scoped, err := t.ofClusterRollup(s, f.Environments, f.Types); err != nil {
		return c, err
	} else if len(scoped.texts) > 0 {
		c.add("c.id IN (SELECT m.cluster_id FROM cluster_rollup m WHERE "+scoped.String()+")", scoped.args...)
	}
	if len(f.States) > 0 {
		of, err := t.ofPlacement(s, PlacementFilter{Environments: f.Environments, ClusterTypes: f.Types, States: f.States}, anyIndex)
		if err != nil {
			return c, err
		}
		c.add("c.id IN (SELECT p.cluster_id FROM placement p WHERE "+of.String()+")", of.args...)
	}
	return c, t.labelled(&c, "c.id", f.Labels)
}

// complete adds what clusters have in scope: their types and the states of their placements.
func (t tx) complete(s Scope, found []int64, clusters []Cluster) error {
	at := make(map[int64]*Cluster, len(found))
	for i, id := range found {
		at[id] = &clusters[i]
	}
	types, err := t.ofClusterRollup(s, nil, nil)
	if err != nil {
		return err
	}
	if err := t.each(func(rows *sql.Rows) error {
		var id int64
		var environment, clusterType string
		err := rows.Scan(&id, &environment, &clusterType)
		if before := at[id].Types[environment]; before != "" {
			clusterType = before + ", " + clusterType
		}
		at[id].Types[environment] = clusterType
		return err
	}, `SELECT DISTINCT m.cluster_id, e.name, m.cluster_type FROM cluster_rollup m JOIN environment e ON e.id = m.environment_id
		WHERE m.cluster_id IN `+ids(found)+` AND m.cluster_type <> '' AND `+types.String()+` ORDER BY m.cluster_id, e.name, m.cluster_type`, types.args...); err != nil {
		return err
	}
	of, err := t.ofPlacement(s, PlacementFilter{}, notByEnvironment)
	if err != nil {
		return err
	}
	return t.each(func(rows *sql.Rows) error {
		var id, state int64
		var n int
		err := rows.Scan(&id, &state, &n)
		at[id].Counts[stateOf(state)] = n
		return err
	}, `SELECT p.cluster_id, p.state, count(*) FROM placement p WHERE p.cluster_id IN `+ids(found)+` AND `+of.String()+` GROUP BY p.cluster_id, p.state`, of.args...)
}

// Report is what a cluster's agent has said last.
type Report struct {
	fleet.Cluster
	Received time.Time     // by the hub's clock
	Interval time.Duration // in which the next comes at the latest
}

// SaveReport keeps the newest report of a cluster, and is whether it says something new.
func (s *Store) SaveReport(ctx context.Context, r Report) (changed bool, err error) {
	content := encode(r.Cluster)
	sum := sha256.Sum256([]byte(content))
	digest := hex.EncodeToString(sum[:])
	err = s.write(ctx, func(t tx) error {
		done, err := t.exec(`UPDATE report SET received_at = ?, interval_ms = ? WHERE cluster = ? AND digest = ?`, millis(r.Received), r.Interval.Milliseconds(), r.Name, digest)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		changed = true
		return t.insert("report", "cluster, received_at, interval_ms, digest, content",
			`ON CONFLICT (cluster) DO UPDATE SET received_at = excluded.received_at, interval_ms = excluded.interval_ms, digest = excluded.digest, content = excluded.content`,
			[][]any{{r.Name, millis(r.Received), r.Interval.Milliseconds(), digest, content}})
	})
	return changed, err
}

// Reports reads the newest reports of all clusters again and again. It reads the content of those
// alone that have changed.
type Reports struct {
	store *Store
	known map[string]knownReport
}

type knownReport struct {
	digest string
	Report
}

// Reports returns a reader for one goroutine.
func (s *Store) Reports() *Reports { return &Reports{s, map[string]knownReport{}} }

// Read returns the newest report of each cluster, by its name.
func (r *Reports) Read(ctx context.Context) (map[string]Report, error) {
	now := map[string]knownReport{}
	err := r.store.read(ctx, func(t tx) error {
		var changed []string
		if err := t.each(func(rows *sql.Rows) error {
			var name, digest string
			var received, interval int64
			err := rows.Scan(&name, &digest, &received, &interval)
			one := knownReport{digest, Report{Received: timeOf(received), Interval: time.Duration(interval) * time.Millisecond}}
			if last, ok := r.known[name]; ok && last.digest == digest {
				one.Cluster = last.Cluster
			} else {
				changed = append(changed, name)
			}
			now[name] = one
			return err
		}, `SELECT cluster, digest, received_at, interval_ms FROM report`); err != nil {
			return err
		}
		for _, name := range changed {
			one := now[name]
			var content string
			if err := t.row(`SELECT content FROM report WHERE cluster = ?`, name).Scan(&content); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(content), &one.Cluster); err != nil {
				return fmt.Errorf("report of cluster %s: %w", name, err)
			}
			now[name] = one
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.known = now
	all := map[string]Report{}
	for name, one := range now {
		all[name] = one.Report
	}
	return all, nil
}

// ReportingClusters are the clusters that a token was made for, by name. Some may not have
// reported yet.
func (s *Store) ReportingClusters(ctx context.Context) ([]string, error) {
	var all []string
	err := s.read(ctx, func(t tx) error {
		return t.each(func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			all = append(all, name)
			return err
		}, `SELECT DISTINCT cluster FROM api_token WHERE cluster <> '' AND (expires_at = 0 OR expires_at > ?) ORDER BY cluster`, millis(time.Now()))
	})
	return all, err
}
