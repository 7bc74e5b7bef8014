package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// DesiredAssignment is an assignment of a GitOps branch for as long as it did not change.
type DesiredAssignment struct {
	Root                string // the environment's folder
	ClusterType, Target string
	From, To            int    // the commit that brought it, and the one that ended it; 0 for none
	Digest              string // git's of its folder
	Repo, Branch, Path  string // that its Kustomization or Application follows, "" where the files do not say
}

// TargetVersion is the version of a deployment target for as long as it did not change, as the
// DeploymentDescriptors of a branch have it.
type TargetVersion struct {
	Environment, Target string
	From, To            int // as those of DesiredAssignment
	Version             string
	SourceCommit        string // of the application's repository

	// Filled by reads: the branch, and when it came, by the clock of who has committed it.
	Repo, Branch string
	Epoch        int
	Began        time.Time
}

const (
	desiredColumns       = `branch_id, epoch, root, cluster_type, target, from_seq, to_seq, digest, repo, branch, path`
	targetVersionColumns = `branch_id, epoch, environment, target, from_seq, to_seq, version, source_commit`
)

// desiredCounter grows with what [Store.Desired] reads.
const desiredCounter = "desired"

// putDesired writes what a part of a history changes of assignments and versions.
func (t tx) putDesired(id, epoch int64, p HistoryPart) error {
	if _, err := t.next(desiredCounter, 1); err != nil {
		return err
	}
	rows := make([][]any, len(p.Desired))
	for i, d := range p.Desired {
		rows[i] = []any{id, epoch, clean(d.Root), clean(d.ClusterType), clean(d.Target), int64(d.From), int64(d.To), d.Digest, clean(d.Repo), clean(d.Branch), clean(d.Path)}
	}
	if err := t.insert("desired_assignment", desiredColumns, `ON CONFLICT (branch_id, epoch, root, cluster_type, target, from_seq) DO UPDATE SET to_seq = excluded.to_seq`, rows); err != nil {
		return err
	}
	rows = make([][]any, len(p.Versions))
	for i, v := range p.Versions {
		rows[i] = []any{id, epoch, clean(v.Environment), clean(v.Target), int64(v.From), int64(v.To), clean(v.Version), clean(v.SourceCommit)}
	}
	if err := t.insert("target_version", targetVersionColumns, `ON CONFLICT (branch_id, epoch, environment, target, from_seq) DO UPDATE SET to_seq = excluded.to_seq`, rows); err != nil {
		return err
	}
	rows = nil
	for _, root := range slices.Sorted(maps.Keys(p.Roots)) {
		rows = append(rows, []any{id, epoch, clean(root), int64(p.Roots[root])})
	}
	return t.insert("branch_root", "branch_id, epoch, root, length", `ON CONFLICT (branch_id, epoch, root) DO UPDATE SET length = excluded.length`, rows)
}

// DesiredAssignments are those of a branch in its newest epoch: all that there ever were, or
// those that there still are.
func (s *Store) DesiredAssignments(ctx context.Context, repo, branch string, still bool) ([]DesiredAssignment, error) {
	all := []DesiredAssignment{}
	err := s.read(ctx, func(t tx) error {
		return t.each(func(rows *sql.Rows) error {
			var d DesiredAssignment
			err := rows.Scan(&d.Root, &d.ClusterType, &d.Target, &d.From, &d.To, &d.Digest, &d.Repo, &d.Branch, &d.Path)
			all = append(all, d)
			return err
		}, `SELECT root, cluster_type, target, from_seq, to_seq, digest, repo, branch, path FROM desired_assignment d WHERE `+ofNewestEpoch+ended(still)+
			` ORDER BY root, cluster_type, target, from_seq`, clean(repo), clean(branch))
	})
	return all, err
}

// ofNewestEpoch is true of the rows d of a branch in its newest epoch.
const ofNewestEpoch = `d.branch_id = ` + branchID + ` AND d.epoch = (SELECT max(epoch) FROM branch_history h WHERE h.branch_id = d.branch_id)`

func ended(still bool) string {
	if still {
		return ` AND d.to_seq = 0`
	}
	return ""
}

// FollowedBranches are the branches, by repository and name, that assignments of a branch in its
// newest epoch follow or did, and whether they still do.
func (s *Store) FollowedBranches(ctx context.Context, repo, branch string) (map[[2]string]bool, error) {
	all := map[[2]string]bool{}
	err := s.read(ctx, func(t tx) error {
		return t.each(func(rows *sql.Rows) error {
			var key [2]string
			var first int64
			err := rows.Scan(&key[0], &key[1], &first)
			all[key] = first == 0
			return err
		}, `SELECT repo, branch, min(to_seq) FROM desired_assignment d WHERE repo <> '' AND `+ofNewestEpoch+` GROUP BY repo, branch`, clean(repo), clean(branch))
	})
	return all, err
}

// BranchVersions are the versions of a branch in its newest epoch: all that there ever were, or
// those that there still are.
func (s *Store) BranchVersions(ctx context.Context, repo, branch string, still bool) ([]TargetVersion, error) {
	return s.versions(ctx, ofNewestEpoch+ended(still)+` ORDER BY d.environment, d.target, d.from_seq`, clean(repo), clean(branch))
}

// TargetVersions are the versions that a deployment target was to have in environments in scope,
// the newest first.
func (s *Store) TargetVersions(ctx context.Context, scope Scope, target string) ([]TargetVersion, error) {
	var c condition
	c.add("d.target = ?", clean(target))
	c.in("d.environment", scope.Environments)
	if len(scope.Workspaces) > 0 {
		var of condition
		of.add("a.target = d.target")
		of.in("a.workspace", scope.Workspaces)
		c.add("EXISTS (SELECT 1 FROM assignment a WHERE "+of.String()+")", of.args...)
	}
	return s.versions(ctx, c.String()+` ORDER BY c.committed_at DESC, d.epoch DESC, d.from_seq DESC, b.repo, b.name, d.environment`, c.args...)
}

func (s *Store) versions(ctx context.Context, where string, args ...any) ([]TargetVersion, error) {
	all := []TargetVersion{}
	err := s.read(ctx, func(t tx) error {
		return t.each(func(rows *sql.Rows) error {
			var v TargetVersion
			var began int64
			err := rows.Scan(&v.Repo, &v.Branch, &v.Epoch, &v.Environment, &v.Target, &v.From, &v.To, &v.Version, &v.SourceCommit, &began)
			v.Began = timeOf(began)
			all = append(all, v)
			return err
		}, `SELECT b.repo, b.name, d.epoch, d.environment, d.target, d.from_seq, d.to_seq, d.version, d.source_commit, c.committed_at
			FROM target_version d JOIN branch b ON b.id = d.branch_id JOIN branch_commit c ON c.branch_id = d.branch_id AND c.epoch = d.epoch AND c.seq = d.from_seq WHERE `+where, args...)
	})
	return all, err
}

// Desired is an assignment as git asked for it at one moment.
type Desired struct {
	ClusterType, Target string
	placement.Revision         // what it follows
	Workload, Workspace string // as known last
	// Policies are the names of those that assign it; nil of a moment before they were known.
	Policies []string
}

// ShownVersion is the version, or the short commit where none is known.
func (d Desired) ShownVersion() string { return shownVersion(d.Version, d.Commit) }

// DesiredState is what an environment asked for at one moment.
type DesiredState struct {
	Commit    string    // of its GitOps branch, "" where none is known
	Committed time.Time // when that was
	Error     string    // why the branch cannot be read now
	Items     []Desired // in scope, by cluster type and target
}

// desiredKept is how many answers of Desired are kept: pages ask for the same again and again, also
// for one moment of the past, and a large environment has thousands of rows.
const desiredKept = 8

// desiredKey is what an answer for those who may see everything depends on.
type desiredKey struct {
	environment, counter int64
	branch
	root string
	at   time.Time
}

// Desired is what git asked for in an environment at a time, zero for now. The items are not to
// be changed.
func (s *Store) Desired(ctx context.Context, scope Scope, environment string, at time.Time) (state DesiredState, err error) {
	err = s.read(ctx, func(t tx) error {
		key, failed, err := t.desiredKey(environment, at)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		var known bool
		if state, known = s.desired.Get(key); !known {
			if state, err = t.desired(Scope{}, environment, at); err != nil {
				return err
			}
			s.desired.Add(key, state)
		}
		state.Error = failed
		return nil
	})
	if len(scope.Workspaces) > 0 {
		var seen []Desired
		for _, d := range state.Items {
			if slices.Contains(scope.Workspaces, d.Workspace) {
				seen = append(seen, d)
			}
		}
		state.Items = seen
	}
	return state, err
}

// desiredKey is that of an environment, and why its branch cannot be read now. The error wraps
// sql.ErrNoRows for an environment that there is not.
func (t tx) desiredKey(environment string, at time.Time) (key desiredKey, failed string, err error) {
	key.at = at.UTC()
	err = t.row(`SELECT e.id, e.gitops_repo, e.gitops_branch, e.gitops_root, c.value FROM environment e, counter c WHERE e.name = ? AND c.name = ?`, clean(environment), desiredCounter).
		Scan(&key.environment, &key.repo, &key.name, &key.root, &key.counter)
	if err != nil {
		return key, "", err
	}
	failed, err = t.historyError(key.branch)
	return key, failed, err
}

// historyError is why a branch cannot be read now, "" when it can.
func (t tx) historyError(b branch) (failed string, err error) {
	err = t.row(`SELECT h.error FROM branch_history h WHERE h.branch_id = `+branchID+` ORDER BY h.epoch DESC LIMIT 1`, b.repo, b.name).Scan(&failed)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return failed, err
}

// moments has of each branch the newest epoch that had begun at a time, and in it the newest
// commit of then. Clocks of committers differ: a commit is not newer than the one after it.
func moments(at time.Time) (text string, args []any) {
	if at.IsZero() {
		return `SELECT h.branch_id, h.epoch, h.length AS seq FROM ` + newestEpochs + ` n JOIN branch_history h ON h.branch_id = n.branch_id AND h.epoch = n.epoch`, nil
	}
	return `SELECT c.branch_id, c.epoch, max(c.seq) AS seq FROM (SELECT branch_id, max(epoch) AS epoch FROM branch_history WHERE began_at <= ? GROUP BY branch_id) n
		JOIN branch_commit c ON c.branch_id = n.branch_id AND c.epoch = n.epoch WHERE c.committed_at <= ? GROUP BY c.branch_id, c.epoch`, []any{millis(at), millis(at)}
}

func (t tx) desired(scope Scope, environment string, at time.Time) (DesiredState, error) {
	var state DesiredState
	var repo, name, root string
	var environmentID int64
	err := t.row(`SELECT id, gitops_repo, gitops_branch, gitops_root FROM environment WHERE name = ?`, clean(environment)).Scan(&environmentID, &repo, &name, &root)
	if errors.Is(err, sql.ErrNoRows) {
		return state, nil
	}
	if err != nil {
		return state, err
	}
	if state.Error, err = t.historyError(branch{repo, name}); err != nil {
		return state, err
	}
	from, args := moments(at)
	type commit struct {
		sha  string
		when int64
	}
	heads := map[branch]commit{}
	if err := t.each(func(rows *sql.Rows) error {
		var b branch
		var c commit
		err := rows.Scan(&b.repo, &b.name, &c.sha, &c.when)
		heads[b] = c
		return err
	}, `SELECT b.repo, b.name, c.sha, c.committed_at FROM (`+from+`) m JOIN branch_commit c ON c.branch_id = m.branch_id AND c.epoch = m.epoch AND c.seq = m.seq
		JOIN branch b ON b.id = m.branch_id`, args...); err != nil {
		return state, err
	}
	head := heads[branch{repo, name}]
	state.Commit, state.Committed = head.sha, timeOf(head.when)

	type versionKey struct {
		branch
		target string
	}
	versions := map[versionKey]string{}
	if err := t.each(func(rows *sql.Rows) error {
		var k versionKey
		var version string
		err := rows.Scan(&k.repo, &k.name, &k.target, &version)
		versions[k] = version
		return err
	}, `SELECT b.repo, b.name, v.target, v.version FROM (`+from+`) m JOIN target_version v ON v.branch_id = m.branch_id AND v.epoch = m.epoch AND v.from_seq <= m.seq AND (v.to_seq = 0 OR v.to_seq > m.seq)
		JOIN branch b ON b.id = m.branch_id WHERE v.environment = ?`, append(slices.Clone(args), clean(environment))...); err != nil {
		return state, err
	}

	policiesOf := map[string][]string{"": nil} // few, of very many assignments
	policies, policyArgs := `a.policies`, []any(nil)
	if !at.IsZero() {
		policies = `(SELECT y.policies FROM assignment_policies y WHERE y.assignment_id = a.id AND y.from_at <= ? ORDER BY y.from_at DESC LIMIT 1)`
		policyArgs = []any{millis(at)}
	}
	where := ofAssignment(scope, PlacementFilter{})
	where.add("d.root = ? AND m.branch_id = "+branchID, root, repo, name)
	err = t.each(func(rows *sql.Rows) error {
		var d Desired
		var policies string
		if err := rows.Scan(&d.ClusterType, &d.Target, &d.Repo, &d.Branch, &d.Workload, &d.Workspace, &policies); err != nil {
			return err
		}
		if d.Repo == "" { // nothing but the platform's files
			d.Repo, d.Branch = repo, name
		} else {
			d.Version = versions[versionKey{branch{d.Repo, d.Branch}, d.Target}]
		}
		d.Commit = heads[branch{d.Repo, d.Branch}].sha
		if _, known := policiesOf[policies]; !known {
			var all []string
			if err := json.Unmarshal([]byte(policies), &all); err != nil {
				return err
			}
			policiesOf[policies] = all
		}
		d.Policies = policiesOf[policies]
		state.Items = append(state.Items, d)
		return nil
	}, `SELECT d.cluster_type, d.target, d.repo, d.branch, COALESCE(a.workload, ''), COALESCE(a.workspace, ''), COALESCE(`+policies+`, '') FROM (`+from+`) m
		JOIN desired_assignment d ON d.branch_id = m.branch_id AND d.epoch = m.epoch AND d.from_seq <= m.seq AND (d.to_seq = 0 OR d.to_seq > m.seq)
		LEFT JOIN assignment a ON a.environment_id = ? AND a.cluster_type = d.cluster_type AND a.target = d.target WHERE `+where.String()+` ORDER BY d.cluster_type, d.target`,
		slices.Concat(policyArgs, args, []any{environmentID}, where.args)...)
	return state, err
}

// PolicyPositions are where the policies of an environment are, by name: file and line.
type PolicyPositions map[string]string

// PolicyPositions are those of an environment at a time, zero for now; of a moment before they were
// known there are none.
func (s *Store) PolicyPositions(ctx context.Context, environment string, at time.Time) (positions PolicyPositions, err error) {
	err = s.read(ctx, func(t tx) error {
		var id int64
		err := t.row(`SELECT id FROM environment WHERE name = ?`, clean(environment)).Scan(&id)
		if err == nil {
			positions, err = t.policyPositions(id, at)
		}
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return positions, err
}

func (t tx) policyPositions(environment int64, at time.Time) (PolicyPositions, error) {
	positions := PolicyPositions{}
	var where condition
	where.add("environment_id = ?", environment)
	if !at.IsZero() {
		where.add("from_at <= ?", millis(at))
	}
	return positions, t.each(func(rows *sql.Rows) error {
		var name, position string
		err := rows.Scan(&name, &position)
		positions[name] = position
		return err
	}, `SELECT name, position FROM policy_position WHERE `+where.String()+` ORDER BY name, from_at`, where.args...)
}

// applyPolicies notes where policies are that were elsewhere, or not there.
func (w *round) applyPolicies(r Round) error {
	for name, now := range r.Policies {
		e, err := w.environment(name)
		if err != nil {
			return err
		}
		was, err := w.policyPositions(e.id, time.Time{})
		if err != nil {
			return err
		}
		var rows [][]any
		for policy, position := range now {
			if was[clean(policy)] != clean(position) {
				rows = append(rows, []any{e.id, clean(policy), w.at, clean(position)})
			}
		}
		if err := w.insert("policy_position", "environment_id, name, from_at, position", `ON CONFLICT (environment_id, name, from_at) DO UPDATE SET position = excluded.position`, rows); err != nil {
			return err
		}
	}
	return nil
}
