-- What git says should run, at every commit of the branches that placements follow. All of it can
-- be read from git again, but for the epochs before the last of a branch.

-- +goose Up

-- How far a branch was read: head is the newest commit that was, and length its number. A branch
-- that was pushed with force is numbered anew, in the next epoch, and those before stay.
-- began_at is when an epoch was seen first, 0 of the first one. error is why the branch cannot be
-- read now, of the last epoch.
CREATE TABLE branch_history (
  branch_id BIGINT NOT NULL REFERENCES branch (id),
  epoch BIGINT NOT NULL,
  head TEXT NOT NULL,
  length BIGINT NOT NULL,
  began_at BIGINT NOT NULL,
  read_at BIGINT NOT NULL,
  error TEXT NOT NULL,
  PRIMARY KEY (branch_id, epoch)
);

-- The commits of a branch along first parents, numbered from 1. pull_request is the number that
-- the forge has put into the subject, 0 where there is none.
CREATE TABLE branch_commit (
  branch_id BIGINT NOT NULL REFERENCES branch (id),
  epoch BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  sha TEXT NOT NULL,
  author TEXT NOT NULL,
  committed_at BIGINT NOT NULL,
  subject TEXT NOT NULL,
  pull_request BIGINT NOT NULL,
  PRIMARY KEY (branch_id, epoch, seq),
  UNIQUE (branch_id, epoch, sha)
);
CREATE INDEX branch_commit_sha ON branch_commit (sha);

-- How far the assignments below a folder of a branch were read: root is an environment's folder.
CREATE TABLE branch_root (
  branch_id BIGINT NOT NULL REFERENCES branch (id),
  epoch BIGINT NOT NULL,
  root TEXT NOT NULL,
  length BIGINT NOT NULL,
  PRIMARY KEY (branch_id, epoch, root)
);

-- What a GitOps branch asked for from commit from_seq until before to_seq, 0 where it still does.
-- digest is git's of the assignment's folder; repo, branch and path are what its Kustomization or
-- Application follows, empty where the files do not say.
CREATE TABLE desired_assignment (
  branch_id BIGINT NOT NULL REFERENCES branch (id),
  epoch BIGINT NOT NULL,
  root TEXT NOT NULL,
  cluster_type TEXT NOT NULL,
  target TEXT NOT NULL,
  from_seq BIGINT NOT NULL,
  to_seq BIGINT NOT NULL,
  digest TEXT NOT NULL,
  repo TEXT NOT NULL,
  branch TEXT NOT NULL,
  path TEXT NOT NULL,
  PRIMARY KEY (branch_id, epoch, root, cluster_type, target, from_seq)
);

-- The version of a deployment target from commit from_seq until before to_seq, 0 where it still is
-- that one, as the DeploymentDescriptors of a branch name it. source_commit is the commit of the
-- application's repository that it was made of.
CREATE TABLE target_version (
  branch_id BIGINT NOT NULL REFERENCES branch (id),
  epoch BIGINT NOT NULL,
  environment TEXT NOT NULL,
  target TEXT NOT NULL,
  from_seq BIGINT NOT NULL,
  to_seq BIGINT NOT NULL,
  version TEXT NOT NULL,
  source_commit TEXT NOT NULL,
  PRIMARY KEY (branch_id, epoch, environment, target, from_seq)
);
CREATE INDEX target_version_target ON target_version (target, environment);
