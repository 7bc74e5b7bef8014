package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

const (
	// leadKey is the advisory lock of the hub that collects, of all that use a database.
	leadKey = 0x6b616c7970736f // "kalypso"
	// leadPause is how often a hub tries to get the lock, and how often the one that has it asks
	// whether it still does. Another one collects after about this long when that one ends.
	leadPause = time.Second
	// leadLimit is how long the database may take to answer whether the lock is held.
	leadLimit = 5 * time.Second
)

// Lead waits until this hub is the one of those on the database that collects, and returns a
// context that ends when it is not any more, with the reason as its cause, or with ctx. The caller
// calls release when it has stopped. A SQLite file has one hub, which leads at once.
//
// The lock is that of a connection to PostgreSQL: the server gives it to another hub as soon as the
// connection ends, as it does when a process is killed.
func (s *Store) Lead(ctx context.Context) (leading context.Context, release func(), err error) {
	if s.engine != postgresEngine {
		leading, cancel := context.WithCancel(ctx)
		return leading, cancel, nil
	}
	for {
		conn, err := s.tryLead(ctx)
		if ctx.Err() != nil {
			return nil, nil, errors.Join(context.Cause(ctx), closed(conn))
		}
		if err == nil && conn != nil {
			leading, cancel := context.WithCancelCause(ctx)
			done := make(chan struct{})
			go func() {
				defer close(done)
				cancel(holdLead(leading, conn))
			}()
			return leading, func() {
				cancel(context.Canceled)
				<-done
				_ = closed(conn) // it ends with the process at the latest
			}, nil
		}
		select { // a database that does not answer has no leader, and is asked again
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-time.After(leadPause):
		}
	}
}

// tryLead returns the connection that holds the lock, nil when another hub's does.
func (s *Store) tryLead(ctx context.Context) (*sql.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, leadLimit)
	defer cancel()
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return nil, err
	}
	var got bool
	if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, int64(leadKey)).Scan(&got); err != nil || !got {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// holdLead returns when the connection has ended, or ctx.
func holdLead(ctx context.Context, conn *sql.Conn) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(leadPause):
		}
		asked, cancel := context.WithTimeoutCause(ctx, leadLimit, fmt.Errorf("no answer within %s", leadLimit))
		_, err := conn.ExecContext(asked, `SELECT 1`)
		cancel()
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("the connection that says which hub collects is lost: %w", err)
		}
	}
}

// closed ends a connection and with it the lock, where the pool would keep both.
func closed(conn *sql.Conn) error {
	if conn == nil {
		return nil
	}
	err := conn.Raw(func(any) error { return driver.ErrBadConn })
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}
