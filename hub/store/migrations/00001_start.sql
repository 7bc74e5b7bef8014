-- The hub's first schema. Both engines read this one text; engine.go has the few words that
-- it replaces for each. All times are Unix milliseconds in UTC, 0 where there is none. JSON is
-- kept as text. A change of the schema is a new file: files that were released stay as they are.

-- +goose Up

-- Numbers that only grow. The identities of events, messages and audit entries are taken from
-- here in the transaction that writes them, so their order is that of the commits: who reads on
-- after an identity misses nothing.
CREATE TABLE counter (
  name TEXT NOT NULL PRIMARY KEY,
  value BIGINT NOT NULL
);
INSERT INTO counter (name, value) VALUES ('round', 0), ('placement_event', 0), ('outbox', 0), ('audit', 0), ('probe', 0);

-- The states of placements, the worst first. Other tables have the numbers.
CREATE TABLE state (
  id BIGINT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
INSERT INTO state (id, name) VALUES (0, 'failing'), (1, 'missing'), (2, 'extra'), (3, 'edited'), (4, 'late'), (5, 'suspended'), (6, 'unknown'), (7, 'rolling'), (8, 'ok');

-- An environment, and the commits that it was read at. as_of is when its placements were
-- compared last. One that is gone keeps its row for the history.
CREATE TABLE environment (
  id BIGINT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  control_plane TEXT NOT NULL,
  control_plane_branch TEXT NOT NULL,
  head TEXT NOT NULL,
  gitops_repo TEXT NOT NULL,
  gitops_branch TEXT NOT NULL,
  gitops_root TEXT NOT NULL,
  gitops_commit TEXT NOT NULL,
  chain_position BIGINT NOT NULL,
  plan TEXT NOT NULL,
  error TEXT NOT NULL,
  as_of BIGINT NOT NULL,
  gone_at BIGINT NOT NULL
);

-- A cluster of the fleet. unknown is why it cannot be asked; its labels and subscriptions are
-- as they were seen last then.
CREATE TABLE cluster (
  id BIGINT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  source TEXT NOT NULL,
  reconciler TEXT NOT NULL,
  labels TEXT NOT NULL,
  unknown TEXT NOT NULL,
  approximate BIGINT NOT NULL,
  subscriptions TEXT NOT NULL,
  first_seen BIGINT NOT NULL,
  last_seen BIGINT NOT NULL,
  gone_at BIGINT NOT NULL
);

-- A branch of a repository that placements follow.
CREATE TABLE branch (
  id BIGINT PRIMARY KEY,
  repo TEXT NOT NULL,
  name TEXT NOT NULL,
  UNIQUE (repo, name)
);

-- A deployment target on a cluster type in an environment. Both are empty for what a cluster
-- may have that has never been heard of.
CREATE TABLE assignment (
  id BIGINT PRIMARY KEY,
  environment_id BIGINT NOT NULL REFERENCES environment (id),
  cluster_type TEXT NOT NULL,
  target TEXT NOT NULL,
  workload TEXT NOT NULL,
  workspace TEXT NOT NULL,
  policies TEXT NOT NULL,
  UNIQUE (environment_id, cluster_type, target)
);
CREATE INDEX assignment_target ON assignment (target, environment_id);

-- An assignment on one cluster, as it is now. cause is the reason without its numbers and
-- hashes. digest is of what the last round said: a round that says the same writes nothing.
CREATE TABLE placement (
  cluster_id BIGINT NOT NULL REFERENCES cluster (id),
  assignment_id BIGINT NOT NULL REFERENCES assignment (id),
  environment_id BIGINT NOT NULL REFERENCES environment (id),
  state BIGINT NOT NULL,
  since BIGINT NOT NULL,
  digest BIGINT NOT NULL,
  desired_branch_id BIGINT NOT NULL,
  desired_commit TEXT NOT NULL,
  desired_version TEXT NOT NULL,
  actual_branch_id BIGINT NOT NULL,
  actual_commit TEXT NOT NULL,
  actual_version TEXT NOT NULL,
  reason TEXT NOT NULL,
  cause TEXT NOT NULL,
  PRIMARY KEY (cluster_id, assignment_id)
);
CREATE INDEX placement_assignment ON placement (assignment_id, cluster_id);
CREATE INDEX placement_environment ON placement (environment_id, state, since DESC, cluster_id, assignment_id);
CREATE INDEX placement_state ON placement (state, since DESC, cluster_id, assignment_id);
CREATE INDEX placement_since ON placement (since, cluster_id, assignment_id);

-- How many placements of an assignment are in a state at a version, which is the short commit
-- where there is none. Written in the transaction that changes the placements.
CREATE TABLE rollup (
  environment_id BIGINT NOT NULL REFERENCES environment (id),
  assignment_id BIGINT NOT NULL REFERENCES assignment (id),
  version TEXT NOT NULL,
  state BIGINT NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (environment_id, assignment_id, version, state)
) /* WITHOUT ROWID */;
CREATE INDEX rollup_version ON rollup (version, assignment_id);

-- How many placements of a workspace a cluster has in an environment, by the cluster type that
-- brings them: which clusters there are for whom, without counting placements.
CREATE TABLE cluster_rollup (
  environment_id BIGINT NOT NULL REFERENCES environment (id),
  cluster_type TEXT NOT NULL,
  workspace TEXT NOT NULL,
  cluster_id BIGINT NOT NULL REFERENCES cluster (id),
  n BIGINT NOT NULL,
  PRIMARY KEY (environment_id, cluster_type, workspace, cluster_id)
) /* WITHOUT ROWID */;
CREATE INDEX cluster_rollup_cluster ON cluster_rollup (cluster_id, environment_id, cluster_type, workspace);

-- What has happened to placements. happened_at is by the cluster's clock where that is known,
-- seen_at by the hub's. State -1 is none: before a placement's first event, after its last.
CREATE TABLE placement_event (
  id BIGINT PRIMARY KEY,
  cluster_id BIGINT NOT NULL REFERENCES cluster (id),
  assignment_id BIGINT NOT NULL REFERENCES assignment (id),
  happened_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  from_state BIGINT NOT NULL,
  to_state BIGINT NOT NULL,
  from_version TEXT NOT NULL,
  to_version TEXT NOT NULL,
  from_commit TEXT NOT NULL,
  to_commit TEXT NOT NULL,
  reason TEXT NOT NULL
);
CREATE INDEX placement_event_placement ON placement_event (assignment_id, cluster_id, id);

-- What is wrong in an environment's model, or with an empty environment in the control plane.
CREATE TABLE problem (
  environment TEXT NOT NULL,
  digest TEXT NOT NULL,
  severity TEXT NOT NULL,
  position TEXT NOT NULL,
  message TEXT NOT NULL,
  hint TEXT NOT NULL,
  first_seen BIGINT NOT NULL,
  gone_at BIGINT NOT NULL,
  PRIMARY KEY (environment, digest)
);

-- The pull requests of each environment, as the last round had them.
CREATE TABLE pull_request (
  environment TEXT NOT NULL,
  repo TEXT NOT NULL,
  number BIGINT NOT NULL,
  kind TEXT NOT NULL,
  title TEXT NOT NULL,
  state TEXT NOT NULL,
  author TEXT NOT NULL,
  url TEXT NOT NULL,
  held BIGINT NOT NULL,
  opened_at BIGINT NOT NULL,
  merged_at BIGINT NOT NULL,
  merged_by TEXT NOT NULL,
  PRIMARY KEY (environment, repo, number)
);
CREATE INDEX pull_request_opened ON pull_request (opened_at);

-- The collectors, and how they are.
CREATE TABLE collector (
  name TEXT NOT NULL PRIMARY KEY,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  last_ok BIGINT NOT NULL,
  last_try BIGINT NOT NULL,
  took_ms BIGINT NOT NULL
);

-- What readers of live events are sent.
CREATE TABLE outbox (
  id BIGINT PRIMARY KEY,
  at BIGINT NOT NULL,
  topic TEXT NOT NULL,
  environment TEXT NOT NULL,
  workspace TEXT NOT NULL,
  payload TEXT NOT NULL
);

-- Who has done what, or has tried to.
CREATE TABLE audit (
  id BIGINT PRIMARY KEY,
  at BIGINT NOT NULL,
  actor TEXT NOT NULL,
  via TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  outcome TEXT NOT NULL,
  request_id TEXT NOT NULL,
  detail TEXT NOT NULL
);

-- The three below have the SHA-256 of a secret, never the secret.
-- A token is for scripts.
CREATE TABLE api_token (
  digest TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL,
  scope TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL
);

-- A ticket becomes a session, once. It is kept until it expires, so that a second use is known
-- as one.
CREATE TABLE ticket (
  digest TEXT NOT NULL PRIMARY KEY,
  subject TEXT NOT NULL,
  role TEXT NOT NULL,
  scope TEXT NOT NULL,
  session_expires_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  spent_at BIGINT NOT NULL
);

-- A session is what the cookie of a browser names.
CREATE TABLE session (
  digest TEXT NOT NULL PRIMARY KEY,
  subject TEXT NOT NULL,
  role TEXT NOT NULL,
  scope TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);
