-- What dashboards read: one row for each thing, with names in place of numbers. These views are a
-- contract with those who query the database: columns are added, not changed. Times are Unix
-- milliseconds in UTC, 0 where there is none.

-- +goose Up

-- Every placement as it is now.
CREATE VIEW report_placement AS
SELECT e.name AS environment, c.name AS cluster, a.cluster_type, a.workspace, a.workload, a.target,
  p.desired_version, p.desired_commit, p.actual_version, p.actual_commit, s.name AS state, p.reason, p.since, e.as_of
FROM placement p
JOIN assignment a ON a.id = p.assignment_id
JOIN environment e ON e.id = p.environment_id
JOIN cluster c ON c.id = p.cluster_id
JOIN state s ON s.id = p.state;

-- How many placements of a target are at a version: what runs where, without reading placements.
CREATE VIEW report_version AS
SELECT e.name AS environment, e.chain_position, a.cluster_type, a.workspace, a.workload, a.target, r.version, s.name AS state, r.n AS placements, e.as_of
FROM rollup r
JOIN assignment a ON a.id = r.assignment_id
JOIN environment e ON e.id = r.environment_id
JOIN state s ON s.id = r.state;

-- Every environment, and the commits that it was read at.
CREATE VIEW report_environment AS
SELECT name AS environment, chain_position, control_plane, control_plane_branch, head AS control_plane_commit, gitops_repo, gitops_branch, gitops_commit, plan, error, as_of
FROM environment WHERE gone_at = 0;

-- Every cluster in each environment that it has placements in; environment and cluster_type are
-- empty for one that has none. unknown is why it cannot be asked.
CREATE VIEW report_cluster AS
SELECT c.name AS cluster, c.source, c.reconciler, COALESCE(e.name, '') AS environment, COALESCE(r.cluster_type, '') AS cluster_type, COALESCE(r.workspace, '') AS workspace,
  COALESCE(r.n, 0) AS placements, c.unknown, c.first_seen, c.last_seen
FROM cluster c
LEFT JOIN cluster_rollup r ON r.cluster_id = c.id
LEFT JOIN environment e ON e.id = r.environment_id
WHERE c.gone_at = 0;

-- Every transition. happened_at is by the cluster's clock where that is known, seen_at by the
-- hub's. A state is empty before the first and after the last.
CREATE VIEW report_transition AS
SELECT v.id, v.happened_at, v.seen_at, e.name AS environment, c.name AS cluster, a.cluster_type, a.workspace, a.workload, a.target,
  COALESCE(f.name, '') AS from_state, COALESCE(t.name, '') AS to_state, v.from_version, v.to_version, v.from_commit, v.to_commit, v.reason
FROM placement_event v
JOIN assignment a ON a.id = v.assignment_id
JOIN environment e ON e.id = a.environment_id
JOIN cluster c ON c.id = v.cluster_id
LEFT JOIN state f ON f.id = v.from_state
LEFT JOIN state t ON t.id = v.to_state;

-- Every change, and how far it has come.
CREATE VIEW report_change AS
SELECT h.id, e.name AS environment, h.kind, b.repo, b.name AS branch, h.pull_request, h.sha, h.title, h.author, h.merged_by, h.url, h.state,
  h.began_at, h.pushed_at, h.planned_at, h.opened_at, h.merged_at, h.first_applied_at, h.applied_at, h.reached, h.failing, h.total
FROM change h
JOIN environment e ON e.id = h.environment_id
JOIN branch b ON b.id = h.branch_id;

-- Whether the metrics have counted that a change has failed on a cluster, and that it has ended.
ALTER TABLE change ADD COLUMN failure_counted BIGINT NOT NULL DEFAULT 0;
ALTER TABLE change ADD COLUMN end_counted BIGINT NOT NULL DEFAULT 0;
CREATE INDEX change_failing ON change (id) WHERE failing > 0 AND failure_counted = 0;
CREATE INDEX change_going_on ON change (id) WHERE end_counted = 0;
