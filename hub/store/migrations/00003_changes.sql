-- Changes and how far they have come on the clusters, and what pull requests are waiting for.

-- +goose Up

INSERT INTO counter (name, value) VALUES ('change', 0);

-- A pull request to a branch that placements follow, or a commit of it that no pull request has
-- brought: pull_request is 0 then. sha is the commit on the branch, of a pull request that is not
-- merged that of its own branch, which is head in any case. began_at is when it was opened or
-- committed. added, altered and removed count assignments, and are -1 where that is not known.
-- digest is of what the last round said: a round that says the same writes nothing.
CREATE TABLE change (
  id BIGINT PRIMARY KEY,
  environment_id BIGINT NOT NULL REFERENCES environment (id),
  branch_id BIGINT NOT NULL REFERENCES branch (id),
  pull_request BIGINT NOT NULL,
  sha TEXT NOT NULL,
  head TEXT NOT NULL,
  kind TEXT NOT NULL,
  title TEXT NOT NULL,
  author TEXT NOT NULL,
  merged_by TEXT NOT NULL,
  url TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  began_at BIGINT NOT NULL,
  pushed_at BIGINT NOT NULL,
  planned_at BIGINT NOT NULL,
  opened_at BIGINT NOT NULL,
  merged_at BIGINT NOT NULL,
  first_applied_at BIGINT NOT NULL,
  applied_at BIGINT NOT NULL,
  reached BIGINT NOT NULL,
  failing BIGINT NOT NULL,
  total BIGINT NOT NULL,
  added BIGINT NOT NULL,
  altered BIGINT NOT NULL,
  removed BIGINT NOT NULL,
  digest BIGINT NOT NULL
);
CREATE INDEX change_branch ON change (branch_id, environment_id, pull_request, sha);
CREATE INDEX change_began ON change (began_at DESC, id DESC);
CREATE INDEX change_environment ON change (environment_id, began_at DESC, id DESC);
CREATE INDEX change_sha ON change (sha);
CREATE INDEX change_head ON change (head);

-- The commits that a change was made of.
CREATE TABLE change_source (
  change_id BIGINT NOT NULL REFERENCES change (id),
  repo TEXT NOT NULL,
  sha TEXT NOT NULL,
  author TEXT NOT NULL,
  subject TEXT NOT NULL,
  committed_at BIGINT NOT NULL,
  url TEXT NOT NULL,
  PRIMARY KEY (change_id, repo, sha)
) /* WITHOUT ROWID */;
CREATE INDEX change_source_sha ON change_source (sha);

-- How far a change has come on a subscription. States are 0 failing, 1 unknown, 2 waiting,
-- 3 fetched, 4 applied: the last stays. The times are by the cluster's clock where it says.
CREATE TABLE change_cluster (
  change_id BIGINT NOT NULL REFERENCES change (id),
  cluster_id BIGINT NOT NULL REFERENCES cluster (id),
  subscription TEXT NOT NULL,
  cluster_type TEXT NOT NULL,
  state BIGINT NOT NULL,
  fetched_at BIGINT NOT NULL,
  applied_at BIGINT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (change_id, cluster_id, subscription)
) /* WITHOUT ROWID */;
CREATE INDEX change_cluster_state ON change_cluster (cluster_id, state, change_id);

-- What each source on a cluster follows, in the state that it has with all that it has brought.
CREATE TABLE subscription (
  cluster_id BIGINT NOT NULL REFERENCES cluster (id),
  branch_id BIGINT NOT NULL REFERENCES branch (id),
  name TEXT NOT NULL,
  sha TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (cluster_id, branch_id, name)
) /* WITHOUT ROWID */;
CREATE INDEX subscription_branch ON subscription (branch_id, cluster_id);

ALTER TABLE pull_request ADD COLUMN checks TEXT NOT NULL DEFAULT '';
ALTER TABLE pull_request ADD COLUMN clusters BIGINT NOT NULL DEFAULT 0;
ALTER TABLE pull_request ADD COLUMN added BIGINT NOT NULL DEFAULT -1;
ALTER TABLE pull_request ADD COLUMN altered BIGINT NOT NULL DEFAULT -1;
ALTER TABLE pull_request ADD COLUMN removed BIGINT NOT NULL DEFAULT -1;
ALTER TABLE pull_request ADD COLUMN reason TEXT NOT NULL DEFAULT '';
