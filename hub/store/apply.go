package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Round is what collectors have read. What is nil was not read, and stays.
type Round struct {
	At           time.Time                  // by the hub's clock
	Environments []Environment              // all that there are
	Clusters     []Cluster                  // all that there are
	Placements   map[string][]Placement     // by environment, each list whole
	Policies     map[string]PolicyPositions // by environment, each whole
	Problems     map[string][]Problem       // by environment, "" of the control plane; each whole
	PullRequests map[string][]PullRequest   // by environment, "" of the control plane; each whole
	Changes      []Change                   // that may differ from the round before; others stay
	Sources      []Source                   // all that there are
}

// Apply writes what a round has changed, and returns how many transitions of placements that
// were. What a cluster that cannot be asked has had is kept: its placements become unknown with
// the reason, at the versions that were seen last.
func (s *Store) Apply(ctx context.Context, r Round) (changed int, err error) {
	messages, written := 0, map[string]int{}
	var ended endings
	err = s.write(ctx, func(t tx) error {
		// one round at a time, of other processes, too
		if _, err := t.next("round", 1); err != nil {
			return err
		}
		w := &round{
			tx: t, metrics: s.metrics, at: millis(r.At), dirty: map[string]bool{}, branches: map[branch]int64{},
			rollup: map[rollupKey]int64{}, clusters: map[string]*clusterRow{}, environments: map[string]*environmentRow{},
			clusterRollup: map[clusterRollupKey]int64{}, transitions: map[string]int{},
		}
		for _, step := range []func(Round) error{
			w.load, w.applyEnvironments, w.applyPolicies, w.applyClusters, w.applyPlacements, w.applyProblems, w.applyPullRequests, w.applyChanges, w.findEndings, w.applySources,
		} {
			if err := step(r); err != nil {
				return err
			}
		}
		changed, messages, ended, written = len(w.events), 0, w.ended, map[string]int{}
		for _, m := range w.messages {
			written[m.Topic]++
		}
		written["placement"] = changed
		var err error
		messages, err = w.flush()
		return err
	})
	if err != nil {
		return 0, err
	}
	s.metrics.count(ended, r.Environments)
	s.metrics.countTransitions(written)
	if messages > 0 {
		s.wakeReaders()
	}
	return changed, nil
}

// wakeReaders has those read on who wait for messages.
func (s *Store) wakeReaders() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.woken)
	s.woken = make(chan struct{})
}

// round is the transaction of one Apply.
type round struct {
	tx
	metrics      *metrics
	at           int64
	began        int64 // when the first cluster was seen
	environments map[string]*environmentRow
	clusters     map[string]*clusterRow
	branches     map[branch]int64

	// what flush writes
	rows          [][]any // of placement
	removed       []placementKey
	events        [][]any
	rollup        map[rollupKey]int64
	clusterRollup map[clusterRollupKey]int64
	messages      []Message
	transitions   map[string]int  // by environment
	dirty         map[string]bool // environments whose readers are told
	ended         endings
}

type environmentRow struct {
	id   int64
	gone bool
	Environment
}

type clusterRow struct {
	id            int64
	gone          bool
	labels        string
	subscriptions string
	firstSeen     int64
	Cluster
}

type branch struct{ repo, name string }

// load reads the tables that are small.
func (w *round) load(Round) error {
	err := w.each(func(rows *sql.Rows) error {
		var e environmentRow
		var gone, asOf int64
		err := rows.Scan(&e.id, &e.Name, &e.ControlPlane, &e.ControlPlaneBranch, &e.Commit, &e.GitOpsRepo, &e.GitOpsBranch, &e.GitOpsRoot, &e.GitOpsCommit,
			&e.Position, &e.Plan, &e.Error, &asOf, &gone)
		e.gone, e.AsOf = gone != 0, timeOf(asOf)
		w.environments[e.Name] = &e
		return err
	}, `SELECT id, `+environmentColumns+` FROM environment`)
	if err != nil {
		return err
	}
	err = w.each(func(rows *sql.Rows) error {
		var c clusterRow
		var gone, lastSeen int64
		err := rows.Scan(&c.id, &c.Name, &c.Source, &c.Reconciler, &c.labels, &c.Unknown, &c.Approximate, &c.subscriptions, &c.firstSeen, &lastSeen, &gone)
		c.gone, c.LastSeen = gone != 0, timeOf(lastSeen)
		w.clusters[c.Name] = &c
		if w.began == 0 || c.firstSeen < w.began {
			w.began = c.firstSeen
		}
		return err
	}, `SELECT id, `+clusterColumns+` FROM cluster`)
	if w.began == 0 {
		w.began = w.at
	}
	if err != nil {
		return err
	}
	return w.each(func(rows *sql.Rows) error {
		var id int64
		var b branch
		err := rows.Scan(&id, &b.repo, &b.name)
		w.branches[b] = id
		return err
	}, `SELECT id, repo, name FROM branch`)
}

const (
	environmentColumns = `name, control_plane, control_plane_branch, head, gitops_repo, gitops_branch, gitops_root, gitops_commit, chain_position, plan, error, as_of, gone_at`
	clusterColumns     = `name, source, reconciler, labels, unknown, approximate, subscriptions, first_seen, last_seen, gone_at`
)

func (w *round) applyEnvironments(r Round) error {
	if r.Environments == nil {
		return nil
	}
	there := map[string]bool{}
	for _, e := range r.Environments {
		e.Error = clean(e.Error)
		there[e.Name] = true
		row, known := w.environments[e.Name]
		if known {
			e.AsOf = row.AsOf
		}
		e.Counts = nil
		if known && !row.gone && equalEnvironments(row.Environment, e) {
			continue
		}
		if !known {
			row = &environmentRow{id: int64(len(w.environments) + 1)}
			w.environments[e.Name] = row
		}
		row.Environment, row.gone = e, false
		if err := w.putEnvironment(row); err != nil {
			return err
		}
	}
	for name, row := range w.environments {
		if there[name] || row.gone {
			continue
		}
		row.gone = true
		if err := w.putEnvironment(row); err != nil {
			return err
		}
		if err := w.removeWhere("it is not an environment any more", `environment_id = ?`, row.id); err != nil {
			return err
		}
		for _, table := range []string{"problem", "pull_request"} {
			if _, err := w.exec(`DELETE FROM `+table+` WHERE environment = ?`, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func equalEnvironments(a, b Environment) bool {
	return a.Name == b.Name && a.ControlPlane == b.ControlPlane && a.ControlPlaneBranch == b.ControlPlaneBranch && a.Commit == b.Commit &&
		a.GitOpsRepo == b.GitOpsRepo && a.GitOpsBranch == b.GitOpsBranch && a.GitOpsRoot == b.GitOpsRoot && a.GitOpsCommit == b.GitOpsCommit &&
		a.Position == b.Position && a.Plan == b.Plan && a.Error == b.Error
}

// putEnvironment writes an environment, and tells its readers.
func (w *round) putEnvironment(e *environmentRow) error {
	w.dirty[e.Name] = true
	var gone int64
	if e.gone {
		gone = w.at
	}
	return w.insert("environment", "id, "+environmentColumns, `ON CONFLICT (id) DO UPDATE SET control_plane = excluded.control_plane,
		control_plane_branch = excluded.control_plane_branch, head = excluded.head, gitops_repo = excluded.gitops_repo, gitops_branch = excluded.gitops_branch,
		gitops_root = excluded.gitops_root, gitops_commit = excluded.gitops_commit, chain_position = excluded.chain_position, plan = excluded.plan,
		error = excluded.error, gone_at = excluded.gone_at`,
		[][]any{{e.id, e.Name, e.ControlPlane, e.ControlPlaneBranch, e.Commit, e.GitOpsRepo, e.GitOpsBranch, e.GitOpsRoot, e.GitOpsCommit,
			int64(e.Position), e.Plan, e.Error, millis(e.AsOf), gone}})
}

// environment is a row of an environment, made where there is none.
func (w *round) environment(name string) (*environmentRow, error) {
	if row, known := w.environments[name]; known {
		return row, nil
	}
	row := &environmentRow{id: int64(len(w.environments) + 1), Environment: Environment{Name: name}}
	w.environments[name] = row
	return row, w.putEnvironment(row)
}

func (w *round) applyClusters(r Round) error {
	if r.Clusters == nil {
		return nil
	}
	there := map[string]bool{}
	var rows [][]any
	var followers []*clusterRow // that follow something else now, or in another state
	for _, c := range r.Clusters {
		if there[c.Name] {
			continue
		}
		there[c.Name] = true
		c.Unknown = clean(c.Unknown)
		row, known := w.clusters[c.Name]
		if !known {
			row = w.newCluster(c.Name)
		}
		labels, subscriptions := encode(c.Labels), encode(c.Subscriptions)
		if c.Labels == nil {
			labels = "{}"
		}
		if c.Subscriptions == nil {
			subscriptions = "[]"
		}
		if known && c.Unknown != "" {
			c.Source, c.Reconciler = cmp.Or(c.Source, row.Source), cmp.Or(c.Reconciler, row.Reconciler)
			if c.LastSeen.IsZero() {
				c.LastSeen = row.LastSeen
			}
			if len(c.Labels) == 0 {
				labels = row.labels
			}
			if len(c.Subscriptions) == 0 {
				subscriptions = row.subscriptions
			}
		}
		same := known && !row.gone && row.Source == c.Source && row.Reconciler == c.Reconciler && row.labels == labels && row.Unknown == c.Unknown &&
			row.Approximate == c.Approximate && row.subscriptions == subscriptions
		if same && row.LastSeen.Equal(timeOf(millis(c.LastSeen))) {
			continue
		}
		if !same {
			w.message("cluster", "", "", map[string]any{"cluster": c.Name, "unknown": c.Unknown})
		}
		row.Cluster, row.labels, row.subscriptions, row.gone = c, labels, subscriptions, false
		rows = append(rows, row.values(0))
		if !same {
			followers = append(followers, row)
		}
	}
	for name, row := range w.clusters {
		if there[name] || row.gone {
			continue
		}
		row.gone = true
		rows = append(rows, row.values(w.at))
		followers = append(followers, row)
		w.message("cluster", "", "", map[string]any{"cluster": name, "gone": true})
		if err := w.removeWhere("the cluster is not in the fleet any more", `cluster_id = ?`, row.id); err != nil {
			return err
		}
	}
	if err := w.putClusters(rows); err != nil {
		return err
	}
	for _, c := range followers {
		if err := w.putSubscriptions(c); err != nil {
			return err
		}
	}
	return nil
}

func (w *round) newCluster(name string) *clusterRow {
	row := &clusterRow{id: int64(len(w.clusters) + 1), firstSeen: w.at, labels: "{}", subscriptions: "[]", Cluster: Cluster{Name: name}}
	w.clusters[name] = row
	return row
}

func (c *clusterRow) values(gone int64) []any {
	return []any{c.id, c.Name, c.Source, c.Reconciler, c.labels, c.Unknown, number(c.Approximate), c.subscriptions, c.firstSeen, millis(c.LastSeen), gone}
}

func (w *round) putClusters(rows [][]any) error {
	return w.insert("cluster", "id, "+clusterColumns, `ON CONFLICT (id) DO UPDATE SET source = excluded.source, reconciler = excluded.reconciler,
		labels = excluded.labels, unknown = excluded.unknown, approximate = excluded.approximate, subscriptions = excluded.subscriptions,
		last_seen = excluded.last_seen, gone_at = excluded.gone_at`, rows)
}

// cluster is a row of a cluster, made where there is none.
func (w *round) cluster(p Placement) (*clusterRow, error) {
	if row, known := w.clusters[p.Cluster]; known {
		return row, nil
	}
	row := w.newCluster(p.Cluster)
	row.LastSeen, row.Approximate = p.AsOf, p.Approximate
	if p.Labels != nil {
		row.labels = encode(p.Labels)
	}
	return row, w.putClusters([][]any{row.values(0)})
}

// branch is the number of a branch, 0 for none.
func (w *round) branch(repo, name string) (int64, error) {
	b := branch{clean(repo), clean(name)}
	if b == (branch{}) {
		return 0, nil
	}
	if id, known := w.branches[b]; known {
		return id, nil
	}
	id := int64(len(w.branches) + 1)
	w.branches[b] = id
	return id, w.insert("branch", "id, repo, name", "", [][]any{{id, b.repo, b.name}})
}

func (w *round) message(topic, environment, workspace string, payload map[string]any) {
	w.messages = append(w.messages, Message{Topic: topic, Environment: environment, Workspace: workspace, Payload: json.RawMessage(encode(payload))})
}

// digestOf is the SHA-256 of values, in hex.
func digestOf(values ...any) string {
	sum := sha256.Sum256([]byte(encode(values)))
	return hex.EncodeToString(sum[:])
}
