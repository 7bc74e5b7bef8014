package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// Environments are those in scope, in the order of promotion.
func (s *Store) Environments(ctx context.Context, scope Scope) ([]Environment, error) {
	all := []Environment{}
	at := map[string]int{}
	err := s.read(ctx, func(t tx) error {
		var c condition
		c.add("gone_at = 0")
		c.in("name", scope.Environments)
		if err := t.each(func(rows *sql.Rows) error {
			e := Environment{Counts: map[placement.State]int{}}
			var asOf, gone int64
			err := rows.Scan(&e.Name, &e.ControlPlane, &e.ControlPlaneBranch, &e.Commit, &e.GitOpsRepo, &e.GitOpsBranch, &e.GitOpsRoot, &e.GitOpsCommit,
				&e.Position, &e.Plan, &e.Error, &asOf, &gone)
			e.AsOf = timeOf(asOf)
			at[e.Name] = len(all)
			all = append(all, e)
			return err
		}, `SELECT `+environmentColumns+` FROM environment WHERE `+c.String()+` ORDER BY chain_position, name`, c.args...); err != nil {
			return err
		}
		where, err := t.ofRollup(scope, PlacementFilter{})
		if err != nil {
			return err
		}
		return t.each(func(rows *sql.Rows) error {
			var name string
			var state int64
			var n int
			err := rows.Scan(&name, &state, &n)
			if i, ok := at[name]; ok {
				all[i].Counts[stateOf(state)] = n
			}
			return err
		}, `SELECT e.name, x.state, x.n FROM (SELECT r.environment_id, r.state, CAST(sum(r.n) AS BIGINT) AS n FROM rollup r WHERE `+where.String()+
			` GROUP BY r.environment_id, r.state) x JOIN environment e ON e.id = x.environment_id`, where.args...)
	})
	return all, err
}

// EnvironmentNames are the names of those in scope, in the order of promotion, and when the one
// was compared that was read the longest ago. It is Environments without counting.
func (s *Store) EnvironmentNames(ctx context.Context, scope Scope) (names []string, asOf time.Time, err error) {
	var c condition
	c.add("gone_at = 0")
	c.in("name", scope.Environments)
	var first int64
	err = s.read(ctx, func(t tx) error {
		return t.each(func(rows *sql.Rows) error {
			var name string
			var at int64
			err := rows.Scan(&name, &at)
			if at > 0 && (first == 0 || at < first) {
				first = at
			}
			names = append(names, name)
			return err
		}, `SELECT name, as_of FROM environment WHERE `+c.String()+` ORDER BY chain_position, name`, c.args...)
	})
	return names, timeOf(first), err
}

// Workload is a workload, and where it is.
type Workload struct {
	Name, Workspace string
	Environments    map[string]WorkloadEnvironment
}

// WorkloadEnvironment is a workload in one environment, in numbers of placements.
type WorkloadEnvironment struct {
	Targets  []string
	Versions map[string]int // as shown: short commits where there are no versions
	Counts   map[placement.State]int
}

// Workloads are those in scope that have a placement, by name.
func (s *Store) Workloads(ctx context.Context, scope Scope) ([]Workload, error) {
	type assignment struct{ workload, workspace, environment, target string }
	type key struct{ workload, workspace string }
	found := map[key]*Workload{}
	err := s.read(ctx, func(t tx) error {
		var c condition
		c.add("a.workload <> ''")
		c.in("a.workspace", scope.Workspaces)
		c.in("e.name", scope.Environments)
		assignments := map[int64]assignment{}
		if err := t.each(func(rows *sql.Rows) error {
			var id int64
			var a assignment
			err := rows.Scan(&id, &a.workload, &a.workspace, &a.environment, &a.target)
			assignments[id] = a
			return err
		}, `SELECT a.id, a.workload, a.workspace, e.name, a.target FROM assignment a JOIN environment e ON e.id = a.environment_id WHERE `+c.String(), c.args...); err != nil {
			return err
		}
		where, err := t.ofRollup(scope, PlacementFilter{})
		if err != nil {
			return err
		}
		return t.each(func(rows *sql.Rows) error {
			var id, state int64
			var version string
			var n int
			err := rows.Scan(&id, &version, &state, &n)
			a, ok := assignments[id]
			if !ok {
				return err // of no workload
			}
			k := key{a.workload, a.workspace}
			if found[k] == nil {
				found[k] = &Workload{k.workload, k.workspace, map[string]WorkloadEnvironment{}}
			}
			e, known := found[k].Environments[a.environment]
			if !known {
				e = WorkloadEnvironment{Versions: map[string]int{}, Counts: map[placement.State]int{}}
			}
			if at, known := slices.BinarySearch(e.Targets, a.target); !known {
				e.Targets = slices.Insert(e.Targets, at, a.target)
			}
			e.Versions[version] += n
			e.Counts[stateOf(state)] += n
			found[k].Environments[a.environment] = e
			return err
		}, `SELECT r.assignment_id, r.version, r.state, r.n FROM rollup r WHERE `+where.String(), where.args...)
	})
	all := make([]Workload, 0, len(found))
	for _, w := range found {
		all = append(all, *w)
	}
	slices.SortFunc(all, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Workspace, b.Workspace))
	})
	return all, err
}

// Problems are what is wrong now in the environments in scope, errors first. Those of the
// control plane are for who may see all environments.
func (s *Store) Problems(ctx context.Context, scope Scope) ([]Problem, error) {
	all := []Problem{}
	err := s.read(ctx, func(t tx) error {
		var c condition
		c.add("gone_at = 0")
		c.in("environment", scope.Environments)
		return t.each(func(rows *sql.Rows) error {
			var p Problem
			var firstSeen int64
			err := rows.Scan(&p.Environment, &p.Severity, &p.Position, &p.Message, &p.Hint, &firstSeen)
			p.FirstSeen = timeOf(firstSeen)
			all = append(all, p)
			return err
		}, `SELECT environment, severity, position, message, hint, first_seen FROM problem WHERE `+c.String()+
			` ORDER BY CASE severity WHEN 'error' THEN 0 ELSE 1 END, environment, position, message`, c.args...)
	})
	return all, err
}

const pullRequestColumns = `environment, repo, number, kind, title, state, author, url, held, opened_at, merged_at, merged_by, checks, clusters, reason, added, altered, removed`

func scanPullRequest(rows *sql.Rows) (p PullRequest, err error) {
	var opened, merged int64
	var size [3]int64
	err = rows.Scan(&p.Environment, &p.Repo, &p.Number, &p.Kind, &p.Title, &p.State, &p.Author, &p.URL, &p.Held, &opened, &merged, &p.MergedBy,
		&p.Checks, &p.Clusters, &p.Reason, &size[0], &size[1], &size[2])
	p.Opened, p.Merged, p.Size = timeOf(opened), timeOf(merged), sizeOf(size)
	return p, err
}

var pullRequestOrder = []order{{column: "opened_at", down: true}, {column: "environment", text: true}, {column: "repo", text: true}, {column: "number"}}

// PullRequests lists the pull requests of some of the environments in scope, or all, that have one
// of the states, or any, the newest first.
func (s *Store) PullRequests(ctx context.Context, scope Scope, environments, states []string, p Page) (list List[PullRequest], err error) {
	if p.Sort != "" {
		return list, fmt.Errorf("%w: %q", ErrSort, p.Sort)
	}
	err = s.read(ctx, func(t tx) error {
		var c condition
		c.in("environment", scope.Environments)
		c.in("environment", environments)
		c.in("state", states)
		q := listQuery{of: []any{"pull-requests", scope, environments, states}, by: pullRequestOrder, where: c, text: `SELECT ` + pullRequestColumns + ` FROM pull_request`}
		list, err = page(t, q, p, func(rows *sql.Rows) (PullRequest, []any, error) {
			p, err := scanPullRequest(rows)
			return p, []any{millis(p.Opened), p.Environment, p.Repo, p.Number}, err
		})
		if err != nil {
			return err
		}
		return t.row(`SELECT count(*) FROM pull_request WHERE `+c.String(), c.args...).Scan(&list.Total)
	})
	return list, err
}

// Sources are the collectors, by name.
func (s *Store) Sources(ctx context.Context) ([]Source, error) {
	all := []Source{}
	err := s.read(ctx, func(t tx) error {
		return t.each(func(rows *sql.Rows) error {
			var source Source
			var lastOK, lastTry, took int64
			err := rows.Scan(&source.Name, &source.State, &source.Reason, &lastOK, &lastTry, &took)
			source.LastOK, source.LastTry, source.Took = timeOf(lastOK), timeOf(lastTry), time.Duration(took)*time.Millisecond
			all = append(all, source)
			return err
		}, `SELECT name, state, reason, last_ok, last_try, took_ms FROM collector ORDER BY name`)
	})
	return all, err
}

func (w *round) applyProblems(r Round) error {
	for _, environment := range slices.Sorted(maps.Keys(r.Problems)) {
		known := map[string]bool{} // whether it is there now
		if err := w.each(func(rows *sql.Rows) error {
			var digest string
			var gone int64
			err := rows.Scan(&digest, &gone)
			known[digest] = gone == 0
			return err
		}, `SELECT digest, gone_at FROM problem WHERE environment = ?`, environment); err != nil {
			return err
		}
		there := map[string]bool{}
		var rows [][]any
		for _, p := range r.Problems[environment] {
			row := []any{clean(p.Severity), clean(p.Position), clean(p.Message), clean(p.Hint)}
			digest := digestOf(row...)
			if !there[digest] && !known[digest] {
				rows = append(rows, append([]any{environment, digest, w.at, int64(0)}, row...))
			}
			there[digest] = true
		}
		changed := len(rows) > 0
		if err := w.insert("problem", "environment, digest, first_seen, gone_at, severity, position, message, hint",
			`ON CONFLICT (environment, digest) DO UPDATE SET first_seen = excluded.first_seen, gone_at = 0`, rows); err != nil {
			return err
		}
		for digest, isThere := range known {
			if isThere && !there[digest] {
				changed = true
				if _, err := w.exec(`UPDATE problem SET gone_at = ? WHERE environment = ? AND digest = ?`, w.at, environment, digest); err != nil {
					return err
				}
			}
		}
		if changed {
			w.message("problem", environment, "", map[string]any{"environment": environment, "problems": len(there)})
		}
	}
	return nil
}

func (w *round) applyPullRequests(r Round) error {
	for _, environment := range slices.Sorted(maps.Keys(r.PullRequests)) {
		type key struct {
			repo   string
			number int64
		}
		known := map[key]PullRequest{}
		if err := w.each(func(rows *sql.Rows) error {
			p, err := scanPullRequest(rows)
			known[key{p.Repo, int64(p.Number)}] = p
			return err
		}, `SELECT `+pullRequestColumns+` FROM pull_request WHERE environment = ?`, environment); err != nil {
			return err
		}
		there := map[key]bool{}
		var rows [][]any
		for _, p := range r.PullRequests[environment] {
			k := key{p.Repo, int64(p.Number)}
			p.Environment, p.Title, p.Reason, p.Opened, p.Merged = environment, clean(p.Title), clean(p.Reason), timeOf(millis(p.Opened)), timeOf(millis(p.Merged))
			if was, ok := known[k]; (!ok || !equalPullRequests(was, p)) && !there[k] {
				rows = append(rows, append([]any{environment, p.Repo, int64(p.Number), p.Kind, p.Title, p.State, p.Author, p.URL, number(p.Held), millis(p.Opened), millis(p.Merged), p.MergedBy,
					p.Checks, int64(p.Clusters), p.Reason}, p.Size.values()...))
			}
			there[k] = true
		}
		changed := len(rows) > 0
		if err := w.insert("pull_request", pullRequestColumns, `ON CONFLICT (environment, repo, number) DO UPDATE SET kind = excluded.kind, title = excluded.title,
			state = excluded.state, author = excluded.author, url = excluded.url, held = excluded.held, opened_at = excluded.opened_at, merged_at = excluded.merged_at,
			merged_by = excluded.merged_by, checks = excluded.checks, clusters = excluded.clusters, reason = excluded.reason, added = excluded.added,
			altered = excluded.altered, removed = excluded.removed`, rows); err != nil {
			return err
		}
		for k := range known {
			if !there[k] {
				changed = true
				if _, err := w.exec(`DELETE FROM pull_request WHERE environment = ? AND repo = ? AND number = ?`, environment, k.repo, k.number); err != nil {
					return err
				}
			}
		}
		if changed {
			w.message("pull-request", environment, "", map[string]any{"environment": environment, "pullRequests": len(there)})
		}
	}
	return nil
}

func equalPullRequests(a, b PullRequest) bool {
	same := (a.Size == nil) == (b.Size == nil) && (a.Size == nil || *a.Size == *b.Size)
	a.Size, b.Size = nil, nil
	return same && a == b
}

func (w *round) applySources(r Round) error {
	if r.Sources == nil {
		return nil
	}
	was := map[string]string{}
	if err := w.each(func(rows *sql.Rows) error {
		var name, state, reason string
		err := rows.Scan(&name, &state, &reason)
		was[name] = state + "\n" + reason
		return err
	}, `SELECT name, state, reason FROM collector`); err != nil {
		return err
	}
	if _, err := w.exec(`DELETE FROM collector`); err != nil {
		return err
	}
	var rows [][]any
	there := map[string]bool{}
	for _, s := range r.Sources {
		if there[s.Name] {
			continue
		}
		there[s.Name] = true
		s.Reason = clean(s.Reason)
		rows = append(rows, []any{s.Name, s.State, s.Reason, millis(s.LastOK), millis(s.LastTry), s.Took.Milliseconds()})
		if was[s.Name] != s.State+"\n"+s.Reason {
			w.message("source", "", "", map[string]any{"source": s.Name, "state": s.State})
		}
	}
	return w.insert("collector", "name, state, reason, last_ok, last_try, took_ms", "", rows)
}
