package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// put notes that a placement is now so.
func (w *round) put(k placementKey, was, now *row, digest int64, a *assignmentRow, cluster string) {
	w.rows = append(w.rows, []any{k.cluster, k.assignment, a.environment, now.state, now.since, digest, now.desiredBranch, now.desired[0], now.desired[1],
		now.actualBranch, now.actual[0], now.actual[1], now.reason, now.cause})
	if was == nil {
		w.clusterRollup[a.rollupOn(k.cluster)]++
	}
	if was == nil || was.version() != now.version() || was.state != now.state {
		w.rollup[rollupKey{a.environment, k.assignment, now.version(), now.state}]++
		if was != nil {
			w.rollup[rollupKey{a.environment, k.assignment, was.version(), was.state}]--
		}
	}
	isEvent := was == nil || was.state != now.state || was.actual != now.actual || was.cause != now.cause
	if isEvent {
		w.event(k, was, now, now.reason)
	}
	if was != nil && was.state == stateNumber(placement.Failing) && now.state == stateNumber(placement.OK) && was.since > 0 && now.since > was.since {
		w.ended.restored = append(w.ended.restored, restoration{a.environmentName, time.Duration(now.since-was.since) * time.Millisecond})
	}
	if isEvent || was.desired != now.desired || was.desiredBranch != now.desiredBranch {
		w.changed(was, now, a, cluster)
	}
}

// remove notes that a placement is gone.
func (w *round) remove(k placementKey, was *row, a *assignmentRow, cluster, reason string) {
	w.removed = append(w.removed, k)
	w.clusterRollup[a.rollupOn(k.cluster)]--
	w.rollup[rollupKey{a.environment, k.assignment, was.version(), was.state}]--
	w.event(k, was, nil, reason)
	w.changed(was, nil, a, cluster)
}

// removeWhere notes that the placements that a condition is true of are gone.
func (w *round) removeWhere(reason, condition string, args ...any) error {
	err := w.each(func(rows *sql.Rows) error {
		var k placementKey
		var a assignmentRow
		var r row
		var cluster string
		err := rows.Scan(append([]any{&k.cluster, &k.assignment, &cluster, &a.environment, &a.environmentName, &a.clusterType, &a.target, &a.workload, &a.workspace}, r.fields()...)...)
		if err == nil {
			w.remove(k, &r, &a, cluster, reason)
		}
		return err
	}, `SELECT p.cluster_id, p.assignment_id, c.name, e.id, e.name, a.cluster_type, a.target, a.workload, a.workspace, `+rowColumns+`
		FROM (SELECT * FROM placement WHERE `+condition+`) p JOIN assignment a ON a.id = p.assignment_id JOIN environment e ON e.id = p.environment_id
		JOIN cluster c ON c.id = p.cluster_id`, args...)
	if err != nil {
		return err
	}
	// what comes later in the round must not find them
	return w.deletePlacements()
}

// event notes a transition; now is nil for what is gone, was for what is new.
func (w *round) event(k placementKey, was, now *row, reason string) {
	from, to := &row{state: -1}, &row{state: -1}
	at := w.at
	if was != nil {
		from = was
	}
	if now != nil {
		to = now
		// clocks of clusters may be ahead
		if (was == nil || now.since != was.since) && now.since < at {
			at = now.since
		}
	}
	w.events = append(w.events, []any{k.cluster, k.assignment, at, w.at, from.state, to.state, from.actual[1], to.actual[1], from.actual[0], to.actual[0], reason})
}

// changed notes what readers are told.
func (w *round) changed(was, now *row, a *assignmentRow, cluster string) {
	w.dirty[a.environmentName] = true
	w.transitions[a.environmentName]++
	if w.transitions[a.environmentName] > messagesEach {
		return
	}
	payload := map[string]any{
		"environment": a.environmentName, "cluster": cluster, "clusterType": a.clusterType, "target": a.target, "workload": a.workload, "workspace": a.workspace,
	}
	add := func(r *row, state, version string) {
		if r != nil {
			payload[state], payload[version] = stateOf(r.state), r.version()
		}
	}
	add(was, "fromState", "fromVersion")
	add(now, "state", "version")
	if now != nil {
		payload["reason"], payload["since"] = now.reason, timeOf(now.since)
	}
	w.message("placement", a.environmentName, a.workspace, payload)
}

// flush writes what was noted, and returns how many messages that are.
func (w *round) flush() (messages int, err error) {
	for _, name := range slices.Sorted(maps.Keys(w.dirty)) {
		w.message("environment", name, "", map[string]any{"environment": name, "transitions": w.transitions[name]})
	}
	if err := w.deletePlacements(); err != nil {
		return 0, err
	}
	if err := w.insert("placement", placementColumns, `ON CONFLICT (cluster_id, assignment_id) DO UPDATE SET state = excluded.state, since = excluded.since,
		digest = excluded.digest, desired_branch_id = excluded.desired_branch_id, desired_commit = excluded.desired_commit, desired_version = excluded.desired_version,
		actual_branch_id = excluded.actual_branch_id, actual_commit = excluded.actual_commit, actual_version = excluded.actual_version,
		reason = excluded.reason, cause = excluded.cause`, w.rows); err != nil {
		return 0, err
	}
	if err := w.flushRollups(); err != nil {
		return 0, err
	}
	if len(w.events) > 0 {
		id, err := w.next("placement_event", len(w.events))
		if err != nil {
			return 0, err
		}
		for i := range w.events {
			w.events[i] = append([]any{id + int64(i)}, w.events[i]...)
		}
	}
	if err := w.insert("placement_event", `id, cluster_id, assignment_id, happened_at, seen_at, from_state, to_state, from_version, to_version, from_commit, to_commit, reason`,
		"", w.events); err != nil {
		return 0, err
	}
	if len(w.messages) == 0 {
		return 0, nil
	}
	id, err := w.next("outbox", len(w.messages))
	if err != nil {
		return 0, err
	}
	rows := make([][]any, len(w.messages))
	for i, m := range w.messages {
		rows[i] = []any{id + int64(i), w.at, m.Topic, m.Environment, m.Workspace, string(m.Payload)}
	}
	return len(rows), w.insert("outbox", "id, at, topic, environment, workspace, payload", "", rows)
}

func (w *round) deletePlacements() error {
	for part := range slices.Chunk(w.removed, storedEach) {
		var list []string
		for _, k := range part {
			list = append(list, "("+strconv.FormatInt(k.cluster, 10)+","+strconv.FormatInt(k.assignment, 10)+")")
		}
		if _, err := w.exec(`DELETE FROM placement WHERE (cluster_id, assignment_id) IN (VALUES ` + strings.Join(list, ",") + `)`); err != nil {
			return err
		}
	}
	w.removed = nil
	return nil
}

// flushRollups adds the differences, and removes what nothing is left of.
func (w *round) flushRollups() error {
	var rows, clusterRows [][]any
	fewer, fewerOn := map[int64]bool{}, map[int64]bool{} // assignments and clusters
	for k, n := range w.rollup {
		if n != 0 {
			rows = append(rows, []any{k.environment, k.assignment, k.version, k.state, n})
		}
		if n < 0 {
			fewer[k.assignment] = true
		}
	}
	for k, n := range w.clusterRollup {
		if n != 0 {
			clusterRows = append(clusterRows, []any{k.environment, k.clusterType, k.workspace, k.cluster, n})
		}
		if n < 0 {
			fewerOn[k.cluster] = true
		}
	}
	if err := w.insert("rollup", "environment_id, assignment_id, version, state, n", `ON CONFLICT (environment_id, assignment_id, version, state) DO UPDATE SET n = rollup.n + excluded.n`, rows); err != nil {
		return err
	}
	if err := w.insert("cluster_rollup", "environment_id, cluster_type, workspace, cluster_id, n",
		`ON CONFLICT (environment_id, cluster_type, workspace, cluster_id) DO UPDATE SET n = cluster_rollup.n + excluded.n`, clusterRows); err != nil {
		return err
	}
	for part := range slices.Chunk(slices.Collect(maps.Keys(fewer)), storedEach) {
		if _, err := w.exec(`DELETE FROM rollup WHERE n = 0 AND environment_id IN (SELECT environment_id FROM assignment WHERE id IN ` + ids(part) + `) AND assignment_id IN ` + ids(part)); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(slices.Collect(maps.Keys(fewerOn)), storedEach) {
		if _, err := w.exec(`DELETE FROM cluster_rollup WHERE n = 0 AND cluster_id IN ` + ids(part)); err != nil {
			return err
		}
	}
	return nil
}

// Message is one of the live events that readers are sent. Identities grow in the order in which
// the messages can be seen.
type Message struct {
	ID          int64
	At          time.Time
	Topic       string // placement, environment, cluster, problem, pull-request, change or source
	Environment string // "" for what belongs to none
	Workspace   string // "" for what belongs to none
	Payload     json.RawMessage
}

// Outbox returns the messages after an identity, the oldest first. The error is ErrGone where some
// of them are not kept any more, or the identity is of another database.
func (s *Store) Outbox(ctx context.Context, after int64, limit int) ([]Message, error) {
	all := []Message{}
	err := s.read(ctx, func(t tx) error {
		last, err := t.lastMessage()
		if err != nil || after == last {
			return err
		}
		if after > last {
			return ErrGone
		}
		if err := t.each(func(rows *sql.Rows) error {
			var m Message
			var at int64
			var payload string
			err := rows.Scan(&m.ID, &at, &m.Topic, &m.Environment, &m.Workspace, &payload)
			m.At, m.Payload = timeOf(at), json.RawMessage(payload)
			all = append(all, m)
			return err
		}, `SELECT id, at, topic, environment, workspace, payload FROM outbox WHERE id > ? ORDER BY id LIMIT ?`, after, limit); err != nil {
			return err
		}
		if len(all) == 0 || all[0].ID != after+1 {
			return ErrGone
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// LastMessage is the identity of the newest message, 0 before the first.
func (s *Store) LastMessage(ctx context.Context) (last int64, err error) {
	err = s.read(ctx, func(t tx) error {
		last, err = t.lastMessage()
		return err
	})
	return last, err
}

func (t tx) lastMessage() (last int64, err error) {
	err = t.row(`SELECT value FROM counter WHERE name = 'outbox'`).Scan(&last)
	return last, err
}

// Wait returns a channel that is closed when Apply has written messages next. Ask for it before
// Outbox, so that nothing is missed between the two. It knows of this process only.
func (s *Store) Wait(ctx context.Context) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.woken
}
