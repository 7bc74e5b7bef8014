// Package store keeps what the hub knows: how every placement is now and how it came there,
// what readers of live events are sent, and who may ask. It is a cache of git and of the fleet,
// with the history of what was observed.
//
// A collector hands over whole rounds ([Store.Apply]); what differs from the round before is
// written in one transaction: the row, the event, the roll-ups, and the message to readers. All
// reads take a [Scope], which is a predicate of each query.
//
// The database is a SQLite file, or a PostgreSQL server for more than one hub. Both have the
// same schema and the same queries.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

var (
	// ErrNotFound is wrapped by the errors about one thing that is not there or not in scope.
	ErrNotFound = errors.New("not found")
	// ErrCursor is wrapped where Page.After is broken, or of a list with other filters.
	ErrCursor = errors.New("this cursor is not one of this list with these filters: ask for the first page")
	// ErrSort is wrapped where Page.Sort is none that the list has.
	ErrSort = errors.New("this list cannot be sorted so")
	// ErrLabels is wrapped where a filter's label selector cannot be read.
	ErrLabels = errors.New("not a label selector")
	// ErrGone is returned for messages that are not kept any more.
	ErrGone = errors.New("the messages after this one are not kept any more: load everything again")
	// ErrSpent is wrapped where a ticket was used before, has expired, or never was.
	ErrSpent = errors.New("this ticket is spent")
	// ErrExists is wrapped where a name is taken.
	ErrExists = errors.New("already there")
)

// Options say where the database is: one of the two.
type Options struct {
	SQLite   string // path of the file; made with mode 0600
	Postgres string // URL
}

// Store is an open database. It can be used by several goroutines. As a prometheus.Collector it
// has what there is to count and measure of what it keeps.
type Store struct {
	engine         engine
	file           string // of SQLite
	writer, reader *sql.DB
	metrics        *metrics
	desired        *lru.Cache[desiredKey, DesiredState] // answers of Desired

	mu     sync.Mutex
	failed error         // of the last write, nil when that was done
	woken  chan struct{} // closed by the next round that writes messages
}

// Open opens the database, makes it where there is none, and brings its schema up to date. A
// schema newer than the program's is an error that names both versions.
func Open(ctx context.Context, o Options) (*Store, error) {
	kept, _ := lru.New[desiredKey, DesiredState](desiredKept) // fails for a size below 1
	s := &Store{metrics: newMetrics(), woken: make(chan struct{}), desired: kept}
	var err error
	switch {
	case o.SQLite != "" && o.Postgres != "" || o.SQLite == "" && o.Postgres == "":
		return nil, errors.New("a store is either a SQLite file or a PostgreSQL server: give one of the two")
	case o.SQLite != "":
		s.engine = sqliteEngine
		if s.file, err = filepath.Abs(o.SQLite); err == nil {
			err = s.openSQLite()
		}
	default:
		s.engine = postgresEngine
		err = s.openPostgres(o.Postgres)
	}
	if err == nil {
		err = s.migrate(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the hub's database: %w", err), s.Close())
	}
	return s, nil
}

// Close closes the database.
func (s *Store) Close() error {
	var err error
	if s.writer != nil {
		err = s.writer.Close()
	}
	if s.reader != nil && s.reader != s.writer {
		err = errors.Join(err, s.reader.Close())
	}
	return err
}

// Ready returns nil when the database can be written to. After a write that has failed it tries
// another, so it is ready again as soon as there is room on the disk.
func (s *Store) Ready(ctx context.Context) error {
	s.mu.Lock()
	failed := s.failed
	s.mu.Unlock()
	if failed == nil {
		return s.reader.PingContext(ctx)
	}
	return s.write(ctx, func(t tx) error {
		_, err := t.exec(`UPDATE counter SET value = value + 1 WHERE name = 'probe'`)
		return err
	})
}

// Size is that of the database in bytes.
func (s *Store) Size(ctx context.Context) (int64, error) {
	if s.engine == postgresEngine {
		var size int64
		err := s.reader.QueryRowContext(ctx, `SELECT pg_database_size(current_database())`).Scan(&size)
		return size, err
	}
	var size int64
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(s.file + suffix)
		if err != nil {
			if suffix != "" && errors.Is(err, os.ErrNotExist) {
				continue
			}
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}

// write runs a transaction. That it failed, other than for what was asked, makes the store not
// ready.
func (s *Store) write(ctx context.Context, f func(tx) error) error {
	err := s.transact(ctx, s.writer, nil, f)
	for _, ofCaller := range []error{ErrNotFound, ErrSpent, ErrExists, ErrMoved, context.Canceled} {
		if errors.Is(err, ofCaller) {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	return err
}

// read runs queries on one state of the database.
func (s *Store) read(ctx context.Context, f func(tx) error) error {
	return s.transact(ctx, s.reader, &sql.TxOptions{ReadOnly: true, Isolation: s.engine.readIsolation()}, f)
}

func (s *Store) transact(ctx context.Context, db *sql.DB, o *sql.TxOptions, f func(tx) error) error {
	defer s.metrics.measure()()
	t, err := db.BeginTx(ctx, o)
	if err != nil {
		return err
	}
	if err := f(tx{ctx, t, s.engine}); err != nil {
		return errors.Join(err, ignoreDone(t.Rollback()))
	}
	return t.Commit()
}

// ignoreDone leaves out that a transaction has ended already, as it does with its context.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// makePrivate makes an empty file that only its owner can read, and its folder.
func makePrivate(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
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

// Prune removes what is older than is kept, and sessions, tickets and answers that have expired.
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
	}{"problem": {"gone_at > 0 AND gone_at < ?", old(problemLimit)}, "session": {"expires_at < ?", millis(now)}, "ticket": {"expires_at < ?", millis(now)}, "idempotency": {"expires_at < ?", millis(now)}} {
		if _, err := s.removeRows(ctx, `DELETE FROM `+table+` WHERE `+condition.text, condition.before); err != nil {
			return fmt.Errorf("removing old rows of %s: %w", table, err)
		}
	}
	if err := s.pruneChanges(ctx, old(keep.Events)); err != nil {
		return err
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
