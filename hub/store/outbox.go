package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// Message is one of the live events that readers are sent. Identities grow in the order in which
// the messages can be seen.
type Message struct {
	ID          int64
	At          time.Time
	Topic       string // placement, environment, cluster, problem, pull-request or source
	Environment string // "" for what belongs to none
	Workspace   string // "" for what belongs to none
	Payload     json.RawMessage
}

// Outbox returns the messages after an identity, the oldest first. The error is ErrGone where some
// of them are not kept any more, or the identity is of another database.
func (s *Store) Outbox(ctx context.Context, after int64, limit int) ([]Message, error) {
	all := []Message{}
	err := s.read(ctx, func(t tx) error {
		last, err := t.lastMessage()
		if err != nil || after == last {
			return err
		}
		if after > last {
			return ErrGone
		}
		if err := t.each(func(rows *sql.Rows) error {
			var m Message
			var at int64
			var payload string
			err := rows.Scan(&m.ID, &at, &m.Topic, &m.Environment, &m.Workspace, &payload)
			m.At, m.Payload = timeOf(at), json.RawMessage(payload)
			all = append(all, m)
			return err
		}, `SELECT id, at, topic, environment, workspace, payload FROM outbox WHERE id > ? ORDER BY id LIMIT ?`, after, limit); err != nil {
			return err
		}
		if len(all) == 0 || all[0].ID != after+1 {
			return ErrGone
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// LastMessage is the identity of the newest message, 0 before the first.
func (s *Store) LastMessage(ctx context.Context) (last int64, err error) {
	err = s.read(ctx, func(t tx) error {
		last, err = t.lastMessage()
		return err
	})
	return last, err
}

func (t tx) lastMessage() (last int64, err error) {
	err = t.row(`SELECT value FROM counter WHERE name = 'outbox'`).Scan(&last)
	return last, err
}

// Wait returns a channel that is closed when Apply has written messages next. Ask for it before
// Outbox, so that nothing is missed between the two. It knows of this process only.
func (s *Store) Wait(ctx context.Context) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.woken
}
