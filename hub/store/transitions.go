package store

import (
	"cmp"
	"database/sql"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

type placementKey struct{ cluster, assignment int64 }

type rollupKey struct {
	environment, assignment int64
	version                 string
	state                   int64
}

type clusterRollupKey struct {
	environment int64
	assignmentSide
	cluster int64
}

type assignmentSide struct{ clusterType, workspace string }

// assignmentRow is an assignment with the names that events and messages need.
type assignmentRow struct {
	id, environment               int64
	environmentName               string
	clusterType, target           string
	workload, workspace, policies string
}

// row is a placement as the database has it.
type row struct {
	state, since  int64
	desiredBranch int64
	desired       [2]string // commit and version
	actualBranch  int64
	actual        [2]string
	reason, cause string
}

// incoming is what a round says of a placement.
type incoming struct {
	*Placement
	// forget says that all that was known of it stays, and is unknown.
	forget bool
}

// messagesEach is how many placements of an environment a round tells of one by one. Where
// more have changed, readers are told that the environment has.
const messagesEach = 500

// settling is how long a cluster that has come to the fleet may take for what was merged before.
const settling = 10 * time.Minute

func (w *round) applyPlacements(r Round) error {
	for _, name := range slices.Sorted(maps.Keys(r.Placements)) {
		e, err := w.environment(name)
		if err == nil && !e.gone {
			err = w.applyEnvironment(e, r.Placements[name])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *round) applyEnvironment(e *environmentRow, all []Placement) error {
	if _, err := w.exec(`UPDATE environment SET as_of = ? WHERE id = ?`, w.at, e.id); err != nil {
		return err
	}
	digests := map[placementKey]int64{}
	var of map[int64][]placementKey // by cluster
	if err := w.each(func(rows *sql.Rows) error {
		var k placementKey
		var digest int64
		err := rows.Scan(&k.cluster, &k.assignment, &digest)
		digests[k] = digest
		return err
	}, `SELECT cluster_id, assignment_id, digest FROM placement WHERE environment_id = ?`, e.id); err != nil {
		return err
	}
	assignments, err := w.assignments(e, all, digests)
	if err != nil {
		return err
	}
	wanted := make(map[placementKey]incoming, len(all))
	for i := range all {
		p := &all[i]
		c, err := w.cluster(*p)
		if err != nil {
			return err
		}
		if c.gone {
			continue
		}
		p = w.settle(p, c)
		key := placementKey{c.id, assignments[side(p)].id}
		if !isBlank(p) {
			if was, ok := wanted[key]; !ok || stateNumber(p.State) < stateNumber(was.State) {
				wanted[key] = incoming{Placement: p}
			}
			continue
		}
		if of == nil {
			of = map[int64][]placementKey{}
			for k := range digests {
				of[k.cluster] = append(of[k.cluster], k)
			}
		}
		remembered := false
		for _, k := range of[c.id] {
			if k != key {
				remembered = true
				wanted[k] = incoming{p, true}
			}
		}
		if !remembered {
			follows, err := w.followsAnything(c)
			if err != nil {
				return err
			}
			if !follows {
				wanted[key] = incoming{Placement: p}
			}
		}
	}
	byID := make(map[int64]*assignmentRow, len(assignments))
	for _, a := range assignments {
		byID[a.id] = a
	}
	var keys []placementKey
	news := map[placementKey]int64{} // digests of those that differ
	var buffer []byte
	for k, p := range wanted {
		var digest int64
		digest, buffer = p.digest(buffer)
		if was, known := digests[k]; !known || was != digest {
			news[k] = digest
			keys = append(keys, k)
		}
	}
	for k := range digests {
		if _, ok := wanted[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b placementKey) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.assignment, b.assignment))
	})
	was, err := w.stored(keys)
	if err != nil {
		return err
	}
	clusters := make(map[int64]*clusterRow, len(w.clusters))
	for _, c := range w.clusters {
		clusters[c.id] = c
	}
	for _, k := range keys {
		digest, isThere := news[k]
		if !isThere {
			w.remove(k, was[k], byID[k.assignment], clusters[k.cluster].Name, "nothing asks for it any more, and it is not there")
			continue
		}
		now, err := w.merge(was[k], wanted[k], clusters[k.cluster])
		if err != nil {
			return err
		}
		w.put(k, was[k], now, digest, byID[k.assignment], clusters[k.cluster].Name)
	}
	return nil
}

// isBlank is whether it only says that a cluster, of which it is not known what it follows,
// cannot be asked.
func isBlank(p *Placement) bool {
	return p.State == placement.Unknown && p.ClusterType == "" && p.Target == ""
}

type pair struct{ clusterType, target string }

func side(p *Placement) pair { return pair{clean(p.ClusterType), clean(p.Target)} }

// settle takes into account when a cluster has come to the fleet: what was merged before is not
// late on it. That is not known of clusters that the first round has seen.
func (w *round) settle(p *Placement, c *clusterRow) *Placement {
	if p.State != placement.Late || c.firstSeen <= w.began || millis(p.Since) >= c.firstSeen {
		return p
	}
	settled := *p
	settled.Since = timeOf(c.firstSeen)
	if w.at-c.firstSeen < settling.Milliseconds() {
		settled.State = placement.Rolling
	}
	return &settled
}

// followsAnything is whether it is remembered what a cluster follows.
func (w *round) followsAnything(c *clusterRow) (bool, error) {
	if c.subscriptions != "[]" {
		return true, nil
	}
	var n int64
	err := w.row(`SELECT count(*) FROM cluster_rollup WHERE cluster_id = ? AND cluster_type <> ''`, c.id).Scan(&n)
	return n > 0, err
}

// assignments are those of an environment, and after that also the ones that a round brings.
// An assignment that has changed its workspace takes its placements along in the roll-up.
func (w *round) assignments(e *environmentRow, all []Placement, stored map[placementKey]int64) (map[pair]*assignmentRow, error) {
	known := map[pair]*assignmentRow{}
	if err := w.each(func(rows *sql.Rows) error {
		a := assignmentRow{environment: e.id, environmentName: e.Name}
		err := rows.Scan(&a.id, &a.clusterType, &a.target, &a.workload, &a.workspace, &a.policies)
		known[pair{a.clusterType, a.target}] = &a
		return err
	}, `SELECT id, cluster_type, target, workload, workspace, policies FROM assignment WHERE environment_id = ?`, e.id); err != nil {
		return nil, err
	}
	var last int64
	if err := w.row(`SELECT COALESCE(max(id), 0) FROM assignment`).Scan(&last); err != nil {
		return nil, err
	}
	done := map[pair]bool{}
	moved := map[int64][2]*assignmentRow{}
	var rows, policies [][]any
	for i := range all {
		p := &all[i]
		at := side(p)
		if done[at] {
			continue
		}
		done[at] = true
		now := assignmentRow{
			environment: e.id, environmentName: e.Name, clusterType: at.clusterType, target: at.target,
			workload: clean(p.Workload), workspace: clean(p.Workspace), policies: encode(slices.Sorted(slices.Values(p.Policies))),
		}
		if p.Policies == nil {
			now.policies = "[]"
		}
		was := known[at]
		if was == nil {
			last++
			now.id = last
		} else {
			now.id = was.id
			if *was == now {
				continue
			}
			if was.workspace != now.workspace {
				moved[now.id] = [2]*assignmentRow{was, &now}
			}
		}
		known[at] = &now
		rows = append(rows, []any{now.id, e.id, now.clusterType, now.target, now.workload, now.workspace, now.policies})
		if was == nil || was.policies != now.policies {
			policies = append(policies, []any{now.id, w.at, now.policies})
		}
	}
	if len(rows) > 0 {
		w.dirty[e.Name] = true
		if _, err := w.next(desiredCounter, 1); err != nil {
			return nil, err
		}
	}
	if len(moved) > 0 {
		for k := range stored {
			if m, ok := moved[k.assignment]; ok {
				w.clusterRollup[m[0].rollupOn(k.cluster)]--
				w.clusterRollup[m[1].rollupOn(k.cluster)]++
			}
		}
	}
	if err := w.insert("assignment", "id, environment_id, cluster_type, target, workload, workspace, policies",
		`ON CONFLICT (id) DO UPDATE SET workload = excluded.workload, workspace = excluded.workspace, policies = excluded.policies`, rows); err != nil {
		return nil, err
	}
	return known, w.insert("assignment_policies", "assignment_id, from_at, policies", `ON CONFLICT (assignment_id, from_at) DO UPDATE SET policies = excluded.policies`, policies)
}

func (a *assignmentRow) rollupOn(cluster int64) clusterRollupKey {
	return clusterRollupKey{a.environment, assignmentSide{a.clusterType, a.workspace}, cluster}
}

// digest is of all that a round says of a placement. The buffer is for the next one, too.
func (p incoming) digest(buffer []byte) (int64, []byte) {
	buffer = binary.LittleEndian.AppendUint64(buffer[:0], uint64(millis(p.Since)))
	add := func(texts ...string) {
		for _, text := range texts {
			buffer = append(append(buffer, text...), 0)
		}
	}
	add(string(p.State), p.Reason)
	if p.forget {
		add("forget")
	} else {
		for _, r := range []*placement.Revision{&p.Desired, &p.Actual} {
			add(r.Repo, r.Branch, r.Commit, r.Version)
		}
	}
	h := fnv.New64a()
	h.Write(buffer)
	return int64(h.Sum64()), buffer
}

const placementColumns = `cluster_id, assignment_id, environment_id, state, since, digest, desired_branch_id, desired_commit, desired_version,
	actual_branch_id, actual_commit, actual_version, reason, cause`

const rowColumns = `state, since, desired_branch_id, desired_commit, desired_version, actual_branch_id, actual_commit, actual_version, reason, cause`

func (r *row) fields() []any {
	return []any{&r.state, &r.since, &r.desiredBranch, &r.desired[0], &r.desired[1], &r.actualBranch, &r.actual[0], &r.actual[1], &r.reason, &r.cause}
}

// storedEach is how many placements are asked for by their keys at a time.
const storedEach = 500

// stored are the rows of placements as they are before the round.
func (w *round) stored(keys []placementKey) (map[placementKey]*row, error) {
	all := map[placementKey]*row{}
	for part := range slices.Chunk(keys, storedEach) {
		var list strings.Builder
		for i, k := range part {
			if i > 0 {
				list.WriteByte(',')
			}
			list.WriteString("(" + strconv.FormatInt(k.cluster, 10) + "," + strconv.FormatInt(k.assignment, 10) + ")")
		}
		if err := w.each(func(rows *sql.Rows) error {
			var k placementKey
			var r row
			err := rows.Scan(append([]any{&k.cluster, &k.assignment}, r.fields()...)...)
			all[k] = &r
			return err
		}, `SELECT cluster_id, assignment_id, `+rowColumns+` FROM placement WHERE (cluster_id, assignment_id) IN (VALUES `+list.String()+`)`); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// merge is a placement as it is now: what a round says, and what it does not say as it was.
func (w *round) merge(was *row, p incoming, c *clusterRow) (*row, error) {
	now := &row{state: stateNumber(p.State), since: millis(p.Since), reason: clean(p.Reason)}
	if p.State == placement.Unknown && now.since == 0 && c.Unknown != "" {
		now.since = millis(c.LastSeen)
	}
	now.cause = placement.Cause(now.reason)
	if was != nil && now.since == 0 && now.state == was.state {
		now.since = was.since
	}
	if now.since == 0 {
		now.since = w.at
	}
	var err error
	if p.forget {
		now.desiredBranch, now.desired = was.desiredBranch, was.desired
	} else {
		now.desired = [2]string{clean(p.Desired.Commit), clean(p.Desired.Version)}
		if now.desiredBranch, err = w.branch(p.Desired.Repo, p.Desired.Branch); err != nil {
			return nil, err
		}
	}
	if was != nil && (p.forget || p.State == placement.Unknown && p.Actual.Commit == "" && p.Actual.Version == "") {
		now.actualBranch, now.actual = was.actualBranch, was.actual
		return now, nil
	}
	now.actual = [2]string{clean(p.Actual.Commit), clean(p.Actual.Version)}
	now.actualBranch, err = w.branch(p.Actual.Repo, p.Actual.Branch)
	return now, err
}

// version is what is shown of what runs: the short commit where no version is known.
func (r *row) version() string { return shownVersion(r.actual[1], r.actual[0]) }

func shownVersion(version, commit string) string {
	if version != "" || len(commit) <= shortCommit {
		return cmp.Or(version, commit)
	}
	return commit[:shortCommit]
}

const shortCommit = 8

// versionColumn is shownVersion of a placement p in SQL.
const versionColumn = `CASE WHEN p.actual_version <> '' THEN p.actual_version ELSE substr(p.actual_commit, 1, 8) END`
