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

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// Environment is an environment of a control plane, and the commits that it was read at.
type Environment struct {
	Name               string
	ControlPlane       string // URL
	ControlPlaneBranch string
	Commit             string // head of that branch
	GitOpsRepo         string // URL
	GitOpsBranch       string
	GitOpsRoot         string
	GitOpsCommit       string
	Position           int    // in the chain of promotions
	Plan               string // "synced", "planning", "error", "" unknown
	Error              string // why it cannot be loaded or planned

	// Counts and AsOf are filled by reads: the placements in scope by state, and when they
	// were compared last.
	Counts map[placement.State]int
	AsOf   time.Time
}

// Cluster is a cluster of the fleet.
type Cluster struct {
	Name       string
	Labels     map[string]string
	Source     string // "kubernetes", "arc", ...
	Reconciler string // "flux", "argocd", "flux, argocd", ""
	LastSeen   time.Time
	// Unknown is why the cluster cannot be asked, "" for one that has answered. What a round
	// does not say of one that cannot be asked stays as it was seen last.
	Unknown     string
	Approximate bool
	// Subscriptions are all that it follows. Reads with a scope leave them out, since they
	// have what others have put on the cluster.
	Subscriptions []fleet.Subscription

	// Filled by reads, of what is in scope. Types are the cluster types by environment;
	// those of one environment are joined by ", ".
	FirstSeen time.Time
	Types     map[string]string
	Counts    map[placement.State]int
}

// Placement is a placement with what its environment's model says about it.
type Placement struct {
	placement.Placement
	Workload, Workspace string
	Policies            []string // that assign it
}

// Event is a transition of a placement. FromState is "" for the first that was seen of it,
// ToState when it is gone.
type Event struct {
	ID                           int64
	At                           time.Time // by the cluster's clock where that is known, else SeenAt
	SeenAt                       time.Time // by the hub's
	Environment, Cluster, Target string
	FromState, ToState           placement.State
	FromVersion, ToVersion       string
	FromCommit, ToCommit         string
	Reason                       string
}

// Problem is something wrong in an environment, or with Environment "" in the control plane.
type Problem struct {
	Environment string
	Severity    string
	Position    string // file:line
	Message     string
	Hint        string
	FirstSeen   time.Time // filled by reads
}

// PullRequest is a pull request of an environment. With Environment "" it is one of the control
// plane's own branch, which all of its environments are made from.
type PullRequest struct {
	Environment, Repo         string
	Number                    int
	Kind                      string // platform, promotion, application or control-plane
	Title, State, Author, URL string
	Held                      bool
	Opened, Merged            time.Time
	MergedBy                  string
	Checks                    string // of the open: success, failure or pending; "" for none
	Clusters                  int    // that it changes something on
	Size                      *Size  // nil where that is not known, or it changes no assignments
	Reason                    string // what an open one waits for
}

// Source is a collector, and how it is.
type Source struct {
	Name            string
	State           string // ok or failing
	Reason          string
	LastOK, LastTry time.Time
	Took            time.Duration
}

// Scope is what may be seen; an empty list is all. It is a predicate of every query.
type Scope struct {
	Workspaces   []string
	Environments []string
}

func (s Scope) limited() bool { return len(s.Workspaces)+len(s.Environments) > 0 }

// Page is a part of a list.
type Page struct {
	Limit int    // 0 is 50
	After string // List.Next of the page before
	Sort  string // one of the list's sorts, "" the first of them
}

const defaultLimit = 50

func (p Page) limit() int {
	if p.Limit <= 0 {
		return defaultLimit
	}
	return p.Limit
}

// List is a page of a list.
type List[T any] struct {
	Items []T
	Next  string    // Page.After of the next page, "" on the last
	Total int       // of all pages, -1 where counting would cost more than the page
	AsOf  time.Time // of the oldest part of it, zero where there is none
}

// stateNumber is a state as the database has it; -1 is none.
func stateNumber(s placement.State) int64 { return int64(slices.Index(placement.States(), s)) }

func stateOf(number int64) placement.State {
	all := placement.States()
	if number < 0 || int(number) >= len(all) {
		return ""
	}
	return all[number]
}

// millis is a time as the database has it.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// textLimit is how much is kept of a text that a cluster has written.
const textLimit = 4 << 10

// clean is a text as both engines take it: valid UTF-8 without zero bytes, and not endless.
func clean(s string) string {
	if len(s) > textLimit {
		s = s[:textLimit]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// encode is a value as JSON, of types that can always be written so.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// PlacementSorts are the orders that Placements has. "state" is the worst first, and of those
// in one state the newest.
var PlacementSorts = []string{"state", "-since", "since", "cluster", "target"}

var (
	byCluster    = order{column: "p.cluster_id"}
	byAssignment = order{column: "p.assignment_id"}

	placementOrders = map[string][]order{
		"state":   {{column: "p.state"}, {column: "p.since", down: true}, byCluster, byAssignment},
		"-since":  {{column: "p.since", down: true}, {column: "p.cluster_id", down: true}, {column: "p.assignment_id", down: true}},
		"since":   {{column: "p.since"}, byCluster, byAssignment},
		"cluster": {{column: "c.name", text: true}, byCluster, byAssignment},
		"target":  {{column: "a.target", text: true}, byAssignment, byCluster},
	}
)

// A placement with all that it names. Of a cluster that cannot be asked it is as of the last
// contact.
const (
	placementFields = `p.cluster_id, p.assignment_id, p.state, p.since, c.name, c.labels, c.approximate, CASE WHEN c.unknown = '' THEN e.as_of ELSE c.last_seen END,
		e.name, a.cluster_type, a.target, a.workload, a.workspace, a.policies,
		COALESCE(d.repo, ''), COALESCE(d.name, ''), p.desired_commit, p.desired_version,
		COALESCE(b.repo, ''), COALESCE(b.name, ''), p.actual_commit, p.actual_version, p.reason`
	placementTables = ` p JOIN cluster c ON c.id = p.cluster_id JOIN assignment a ON a.id = p.assignment_id
		JOIN environment e ON e.id = p.environment_id LEFT JOIN branch d ON d.id = p.desired_branch_id LEFT JOIN branch b ON b.id = p.actual_branch_id`
)

// placementsBy is what placements are read from, where the order is that of a name: SQLite goes
// through the tables of a CROSS JOIN from the left.
var placementsBy = map[string]string{
	"cluster": "cluster c CROSS JOIN placement p",
	"target":  "assignment a CROSS JOIN placement p",
}

// scannedPlacement is a placement with what lists are sorted by.
type scannedPlacement struct {
	Placement
	cluster, assignment, state, since int64
}

// scanPlacement reads placementFields. Labels are the same for all placements of a cluster, so
// they are read once.
func scanPlacement(rows *sql.Rows, labelsOf map[int64]map[string]string) (scannedPlacement, error) {
	var p scannedPlacement
	var labels, policies string
	var asOf int64
	if err := rows.Scan(&p.cluster, &p.assignment, &p.state, &p.since, &p.Cluster, &labels, &p.Approximate, &asOf,
		&p.Environment, &p.ClusterType, &p.Target, &p.Workload, &p.Workspace, &policies,
		&p.Desired.Repo, &p.Desired.Branch, &p.Desired.Commit, &p.Desired.Version,
		&p.Actual.Repo, &p.Actual.Branch, &p.Actual.Commit, &p.Actual.Version, &p.Reason); err != nil {
		return p, err
	}
	p.State, p.Since, p.AsOf = stateOf(p.state), timeOf(p.since), timeOf(asOf)
	if _, known := labelsOf[p.cluster]; !known {
		var set map[string]string
		if err := json.Unmarshal([]byte(labels), &set); err != nil {
			return p, err
		}
		labelsOf[p.cluster] = set
	}
	p.Labels = labelsOf[p.cluster]
	return p, json.Unmarshal([]byte(policies), &p.Policies)
}

// values are those of the order's columns.
func (p scannedPlacement) values(by []order) []any {
	of := map[string]any{"p.cluster_id": p.cluster, "p.assignment_id": p.assignment, "p.state": p.state, "p.since": p.since, "c.name": p.Cluster, "a.target": p.Target}
	values := make([]any, len(by))
	for i, o := range by {
		values[i] = of[o.column]
	}
	return values
}

// Placements lists placements.
func (s *Store) Placements(ctx context.Context, scope Scope, f PlacementFilter, p Page) (list List[Placement], err error) {
	by, err := sorted(placementOrders, PlacementSorts, p)
	if err != nil {
		return list, err
	}
	err = s.read(ctx, func(t tx) error {
		environment := notByEnvironment
		if by[0].column == "p.state" {
			environment = anyIndex
		}
		where, err := t.ofPlacement(scope, f, environment)
		if err != nil {
			return err
		}
		switch p.Sort {
		case "cluster":
			where.add("p.cluster_id = c.id")
		case "target":
			where.add("p.assignment_id = a.id")
		}
		q := listQuery{
			of: []any{"placements", scope, f}, by: by, where: where, outer: `)` + placementTables,
			text: `SELECT ` + placementFields + ` FROM (SELECT p.* FROM ` + cmp.Or(placementsBy[p.Sort], "placement p"),
		}
		labelsOf := map[int64]map[string]string{}
		list, err = page(t, q, p, func(rows *sql.Rows) (Placement, []any, error) {
			p, err := scanPlacement(rows, labelsOf)
			return p.Placement, p.values(by), err
		})
		if err != nil {
			return err
		}
		if !f.ofClusters() {
			if list.Total, err = t.total(scope, f); err != nil {
				return err
			}
		}
		list.AsOf, err = t.asOf(scope, f.Environments)
		return err
	})
	return list, err
}

// total is how many placements there are, by the roll-up.
func (t tx) total(scope Scope, f PlacementFilter) (total int, err error) {
	where, err := t.ofRollup(scope, f)
	if err != nil {
		return 0, err
	}
	err = t.row(`SELECT CAST(COALESCE(sum(r.n), 0) AS BIGINT) FROM rollup r WHERE `+where.String(), where.args...).Scan(&total)
	return total, err
}

// Placement is one placement. Where two cluster types bring a target to a cluster, it is the
// worse of the two.
func (s *Store) Placement(ctx context.Context, scope Scope, environment, cluster, target string) (Placement, error) {
	f := PlacementFilter{Environments: []string{environment}, Clusters: []string{cluster}, Targets: []string{target}}
	list, err := s.Placements(ctx, scope, f, Page{Limit: 1})
	if err != nil {
		return Placement{}, err
	}
	if len(list.Items) == 0 {
		return Placement{}, fmt.Errorf("placement of %s on cluster %s in environment %s: %w", target, cluster, environment, ErrNotFound)
	}
	return list.Items[0], nil
}

// PlacementEvents lists what has happened to a placement, the newest first.
func (s *Store) PlacementEvents(ctx context.Context, scope Scope, environment, cluster, target string, p Page) (list List[Event], err error) {
	if p.Sort != "" {
		return list, fmt.Errorf("%w: %q", ErrSort, p.Sort)
	}
	f := PlacementFilter{Targets: []string{target}}
	err = s.read(ctx, func(t tx) error {
		where := ofAssignment(scope, f)
		if err := t.environments(&where, "a.environment_id", scope, []string{environment}); err != nil {
			return err
		}
		where.add("v.cluster_id = (SELECT id FROM cluster WHERE name = ?)", cluster)
		q := listQuery{
			of: []any{"events", scope, environment, cluster, target}, by: []order{{column: "v.id", down: true}}, where: where,
			text: `SELECT v.id, v.happened_at, v.seen_at, v.from_state, v.to_state, v.from_version, v.to_version, v.from_commit, v.to_commit, v.reason
				FROM placement_event v JOIN assignment a ON a.id = v.assignment_id`,
		}
		list, err = page(t, q, p, func(rows *sql.Rows) (Event, []any, error) {
			e := Event{Environment: environment, Cluster: cluster, Target: target}
			var at, seenAt, from, to int64
			err := rows.Scan(&e.ID, &at, &seenAt, &from, &to, &e.FromVersion, &e.ToVersion, &e.FromCommit, &e.ToCommit, &e.Reason)
			e.At, e.SeenAt, e.FromState, e.ToState = timeOf(at), timeOf(seenAt), stateOf(from), stateOf(to)
			return e, []any{e.ID}, err
		})
		if err != nil {
			return err
		}
		list.AsOf, err = t.asOf(scope, []string{environment})
		return err
	})
	return list, err
}

// asOf is when the placements of environments were compared last: of the one where that is the
// longest ago.
func (t tx) asOf(s Scope, names []string) (time.Time, error) {
	var c condition
	c.add("gone_at = 0 AND as_of > 0")
	c.in("name", names)
	c.in("name", s.Environments)
	var at int64
	err := t.row(`SELECT COALESCE(min(as_of), 0) FROM environment WHERE `+c.String(), c.args...).Scan(&at)
	return timeOf(at), err
}
