-- Sign-in by a provider, the reports of agents, and which changes a trace was exported of.

-- +goose Up

-- way is the provider that has let a session in, empty for a ticket: then role and scope are the
-- session's own. Of a provider, member_of are the groups that it has named, which the hub's
-- configuration makes a role of. sealed are the provider's tokens, encrypted with a key that is
-- made of the session's secret, so that this database does not hold what opens them. check_at is
-- when the provider is asked again, 0 for never.
ALTER TABLE session ADD COLUMN way TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN login TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN member_of TEXT NOT NULL DEFAULT '[]';
ALTER TABLE session ADD COLUMN sealed TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN check_at BIGINT NOT NULL DEFAULT 0;

-- The cluster that a token's holder reports of, empty for a token of a script.
ALTER TABLE api_token ADD COLUMN cluster TEXT NOT NULL DEFAULT '';

-- The newest report of each cluster's agent. interval_ms is in how long the next comes at the
-- latest, content is JSON, digest its SHA-256: what says the same again only has a new received_at.
CREATE TABLE report (
  cluster TEXT NOT NULL PRIMARY KEY,
  received_at BIGINT NOT NULL,
  interval_ms BIGINT NOT NULL,
  digest TEXT NOT NULL,
  content TEXT NOT NULL
);

-- The changes whose trace was exported as it stays.
CREATE TABLE exported_change (
  change_id BIGINT PRIMARY KEY,
  at BIGINT NOT NULL
);
