package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Entry is what somebody has done, or has tried to.
type Entry struct {
	At        time.Time
	Actor     string
	Via       string // how the actor has signed in
	Action    string
	Subject   string // what it was done to
	Outcome   string
	RequestID string
	Detail    string
}

// Audit writes an entry.
func (s *Store) Audit(ctx context.Context, e Entry) error {
	return s.write(ctx, func(t tx) error {
		id, err := t.next("audit", 1)
		if err != nil {
			return err
		}
		return t.insert("audit", "id, at, actor, via, action, subject, outcome, request_id, detail", "",
			[][]any{{id, millis(e.At), clean(e.Actor), clean(e.Via), clean(e.Action), clean(e.Subject), clean(e.Outcome), clean(e.RequestID), clean(e.Detail)}})
	})
}

// AuditLog lists the entries, the newest first.
func (s *Store) AuditLog(ctx context.Context, p Page) (list List[Entry], err error) {
	if p.Sort != "" {
		return list, fmt.Errorf("%w: %q", ErrSort, p.Sort)
	}
	err = s.read(ctx, func(t tx) error {
		q := listQuery{of: []any{"audit"}, by: []order{{column: "id", down: true}}, text: `SELECT id, at, actor, via, action, subject, outcome, request_id, detail FROM audit`}
		list, err = page(t, q, p, func(rows *sql.Rows) (Entry, []any, error) {
			var e Entry
			var id, at int64
			err := rows.Scan(&id, &at, &e.Actor, &e.Via, &e.Action, &e.Subject, &e.Outcome, &e.RequestID, &e.Detail)
			e.At = timeOf(at)
			return e, []any{id}, err
		})
		return err
	})
	return list, err
}

// Retention is how long history is kept; 0 is for ever.
type Retention struct {
	Events, Audit time.Duration
}

const (
	// outboxLimit is how long a reader of live events may have been away.
	outboxLimit = 24 * time.Hour
	// problemLimit is how long problems that are gone are kept. one that comes back is the same.
	problemLimit = 90 * 24 * time.Hour
)

// pruneEach is how many rows are removed in one transaction, so that rounds are not held up.
const pruneEach = 5000

// Prune removes what is older than is kept, and sessions and tickets that have expired.
func (s *Store) Prune(ctx context.Context, now time.Time, keep Retention) error {
	old := func(limit time.Duration) int64 {
		if limit == 0 {
			return 0
		}
		return millis(now.Add(-limit))
	}
	// these have identities in the order of their times, and without gaps
	for table, limit := range map[string]struct {
		column string
		before int64
	}{"placement_event": {"seen_at", old(keep.Events)}, "audit": {"at", old(keep.Audit)}, "outbox": {"at", old(outboxLimit)}} {
		for more := limit.before > 0; more; {
			n, err := s.removeRows(ctx, `DELETE FROM `+table+` WHERE id < (SELECT min(id) FROM `+table+`) + ? AND `+limit.column+` < ?`, pruneEach, limit.before)
			if err != nil {
				return fmt.Errorf("removing old rows of %s: %w", table, err)
			}
			more = n == pruneEach
		}
	}
	for table, condition := range map[string]struct {
		text   string
		before int64
	}{"problem": {"gone_at > 0 AND gone_at < ?", old(problemLimit)}, "session": {"expires_at < ?", millis(now)}, "ticket": {"expires_at < ?", millis(now)}} {
		if _, err := s.removeRows(ctx, `DELETE FROM `+table+` WHERE `+condition.text, condition.before); err != nil {
			return fmt.Errorf("removing old rows of %s: %w", table, err)
		}
	}
	if s.engine == postgresEngine {
		return nil // which has its own autovacuum
	}
	_, err := s.writer.ExecContext(ctx, `PRAGMA optimize`)
	return err
}

func (s *Store) removeRows(ctx context.Context, text string, args ...any) (n int64, err error) {
	err = s.write(ctx, func(t tx) error {
		done, err := t.exec(text, args...)
		if err == nil {
			n, err = done.RowsAffected()
		}
		return err
	})
	return n, err
}
