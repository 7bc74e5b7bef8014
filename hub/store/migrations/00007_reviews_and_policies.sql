-- Who has approved changes with the last approval that stands, and when, 0 where nobody has; and
-- what policies there were when.

-- +goose Up

ALTER TABLE change ADD COLUMN approved_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE change ADD COLUMN approved_by TEXT NOT NULL DEFAULT '';

-- Grows with what the answer of Desired is made of: histories, and assignments.
INSERT INTO counter (name, value) VALUES ('desired', 0);

-- The policies that assign an assignment, from a time on; names as in assignment.
CREATE TABLE assignment_policies (
  assignment_id BIGINT NOT NULL REFERENCES assignment (id),
  from_at BIGINT NOT NULL,
  policies TEXT NOT NULL,
  PRIMARY KEY (assignment_id, from_at)
) /* WITHOUT ROWID */;

-- Where a policy of an environment is, from a time on: file and line.
CREATE TABLE policy_position (
  environment_id BIGINT NOT NULL REFERENCES environment (id),
  name TEXT NOT NULL,
  from_at BIGINT NOT NULL,
  position TEXT NOT NULL,
  PRIMARY KEY (environment_id, name, from_at)
) /* WITHOUT ROWID */;
