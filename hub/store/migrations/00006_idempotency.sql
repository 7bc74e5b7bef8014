-- The answers to requests that made something, so that one that is sent again makes nothing else.

-- +goose Up

CREATE TABLE idempotency (
  actor TEXT NOT NULL,
  request_key TEXT NOT NULL,
  digest TEXT NOT NULL,
  status BIGINT NOT NULL,
  body TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (actor, request_key)
);
