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
	Now     time.Time
	Most    int
}

// claimLimit is for how long an export is its hub's: one that has ended in the middle leaves it to
// another, and what is exported twice is the same twice.
const claimLimit = 5 * time.Minute

// UnexportedChanges are those that have arrived, or are late, and whose trace was not exported, the
// oldest first.
func (s *Store) UnexportedChanges(ctx context.Context, q UnexportedQuery) (found []int64, err error) {
	err = s.read(ctx, func(t tx) error {
		found, err = t.numbers(`SELECT c.id FROM change c WHERE c.began_at >= ? AND c.merged_at > 0
			AND (c.state = 'applied' OR c.state = 'none' AND c.merged_at <= ? OR c.merged_at <= ?)
			AND NOT EXISTS (SELECT 1 FROM exported_change x WHERE x.change_id = c.id AND (x.at > 0 OR x.at < ?)) ORDER BY c.began_at, c.id LIMIT ?`,
			millis(q.Since), millis(q.Settled), millis(q.Late), -millis(q.Now.Add(-claimLimit)), int64(q.Most))
		return err
	})
	return found, err
}

// ClaimExport is whether the caller is to export a change's trace: nobody has yet, or is about to.
func (s *Store) ClaimExport(ctx context.Context, change int64, now time.Time) (claimed bool, err error) {
	err = s.write(ctx, func(t tx) error { // a time below zero is that of a claim
		done, err := t.exec(`INSERT INTO exported_change (change_id, at) VALUES (?, ?) ON CONFLICT (change_id) DO UPDATE SET at = excluded.at
			WHERE exported_change.at < 0 AND exported_change.at >= ?`, change, -millis(now), -millis(now.Add(-claimLimit)))
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		claimed = n > 0
		return err
	})
	return claimed, err
}

// Exported says that a trace was exported that the caller has claimed.
func (s *Store) Exported(ctx context.Context, change int64) error {
	return s.write(ctx, func(t tx) error {
		_, err := t.exec(`UPDATE exported_change SET at = ? WHERE change_id = ?`, millis(time.Now()), change)
		return err
	})
}

// UndoExport says that a trace was not exported after all.
func (s *Store) UndoExport(ctx context.Context, change int64) error {
	return s.write(ctx, func(t tx) error {
		_, err := t.exec(`DELETE FROM exported_change WHERE change_id = ?`, change)
		return err
	})
}
