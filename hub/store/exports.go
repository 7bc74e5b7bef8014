package store

import (
	"context"
	"time"
)

// UnexportedQuery says which changes have arrived.
type UnexportedQuery struct {
	Since   time.Time // when they began at the earliest
	Settled time.Time // until when one was merged that no cluster follows
	Late    time.Time // until when one was merged that some clusters still have not
	Most    int
}

// UnexportedChanges are those that have arrived, or are late, and whose trace was not exported, the
// oldest first.
func (s *Store) UnexportedChanges(ctx context.Context, q UnexportedQuery) (found []int64, err error) {
	err = s.read(ctx, func(t tx) error {
		found, err = t.numbers(`SELECT c.id FROM change c WHERE c.began_at >= ? AND c.merged_at > 0
			AND (c.state = 'applied' OR c.state = 'none' AND c.merged_at <= ? OR c.merged_at <= ?)
			AND NOT EXISTS (SELECT 1 FROM exported_change x WHERE x.change_id = c.id) ORDER BY c.began_at, c.id LIMIT ?`,
			millis(q.Since), millis(q.Settled), millis(q.Late), int64(q.Most))
		return err
	})
	return found, err
}

// ClaimExport is whether the caller is to export a change's trace: nobody has yet.
func (s *Store) ClaimExport(ctx context.Context, change int64, now time.Time) (claimed bool, err error) {
	err = s.write(ctx, func(t tx) error {
		done, err := t.exec(`INSERT INTO exported_change (change_id, at) VALUES (?, ?) ON CONFLICT (change_id) DO NOTHING`, change, millis(now))
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		claimed = n > 0
		return err
	})
	return claimed, err
}

// UndoExport says that a trace was not exported after all.
func (s *Store) UndoExport(ctx context.Context, change int64) error {
	return s.write(ctx, func(t tx) error {
		_, err := t.exec(`DELETE FROM exported_change WHERE change_id = ?`, change)
		return err
	})
}
