package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// idempotencyLimit is how long the answer to a request that made something is kept.
const idempotencyLimit = 24 * time.Hour

// Answer is what a request got that made something.
type Answer struct {
	Digest string // of the request
	Status int
	Body   string
}

// Answer is what somebody's request with a key got. The error wraps ErrNotFound where there was
// none within a day.
func (s *Store) Answer(ctx context.Context, actor, key string) (a Answer, err error) {
	err = s.read(ctx, func(t tx) error {
		return t.row(`SELECT digest, status, body FROM idempotency WHERE actor = ? AND request_key = ? AND expires_at > ?`, actor, key, millis(time.Now())).Scan(&a.Digest, &a.Status, &a.Body)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("key %s: %w", key, ErrNotFound)
	}
	return a, err
}

// KeepAnswer keeps the first answer to a request with a key for a day.
func (s *Store) KeepAnswer(ctx context.Context, actor, key string, a Answer) error {
	now := time.Now()
	return s.write(ctx, func(t tx) error {
		_, err := t.exec(`INSERT INTO idempotency (actor, request_key, digest, status, body, expires_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (actor, request_key) DO UPDATE SET digest = excluded.digest, status = excluded.status, body = excluded.body, expires_at = excluded.expires_at
			WHERE idempotency.expires_at <= ?`, actor, key, a.Digest, int64(a.Status), a.Body, millis(now.Add(idempotencyLimit)), millis(now))
		return err
	})
}
