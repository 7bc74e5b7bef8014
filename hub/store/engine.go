package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// engine is what the database is.
type engine int

const (
	sqliteEngine engine = iota
	postgresEngine
)

const (
	sqliteReaders = 4
	// connections is how many a hub has to PostgreSQL.
	connections = 10
	// lockLimit is how long a write waits for that of another process, and the start for
	// another process's migration.
	lockLimit = 30 * time.Second
)

// openSQLite opens the file twice: SQLite lets one connection write at a time, and readers go on
// beside it.
func (s *Store) openSQLite() error {
	if err := makePrivate(s.file); err != nil {
		return err
	}
	open := func(readOnly bool) (*sql.DB, error) {
		q := url.Values{}
		q.Set("_busy_timeout", strconv.FormatInt(lockLimit.Milliseconds(), 10))
		q.Set("_journal_mode", "WAL")
		q.Set("_synchronous", "NORMAL")
		q.Set("_dqs", "0")
		q.Add("_pragma", "cache_size(-8192)")
		q.Add("_pragma", "temp_store(2)") // in memory: a full disk must leave reads working
		if readOnly {
			q.Set("_query_only", "1")
		} else {
			q.Set("_txlock", "immediate")
		}
		return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: s.file, RawQuery: q.Encode()}).String())
	}
	var err error
	if s.writer, err = open(false); err != nil {
		return err
	}
	s.writer.SetMaxOpenConns(1)
	if s.reader, err = open(true); err != nil {
		return err
	}
	s.reader.SetMaxOpenConns(sqliteReaders)
	s.reader.SetMaxIdleConns(sqliteReaders)
	return nil
}

func (s *Store) openPostgres(address string) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	s.writer, s.reader = db, db
	return nil
}

// readIsolation is what makes all queries of a transaction see one state.
func (e engine) readIsolation() sql.IsolationLevel {
	if e == postgresEngine {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault // of SQLite: a snapshot
}

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations are the files as an engine reads them.
type migrations struct {
	fs.FS
	words *strings.Replacer
}

func (e engine) migrations() (fs.FS, error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	words := strings.NewReplacer("BIGINT PRIMARY KEY", "INTEGER PRIMARY KEY", "/* WITHOUT ROWID */", "WITHOUT ROWID")
	if e == postgresEngine {
		// both engines compare texts by their bytes
		words = strings.NewReplacer(" TEXT ", ` TEXT COLLATE "C" `)
	}
	return migrations{files, words}, err
}

// Open implements fs.FS.
func (m migrations) Open(name string) (fs.File, error) {
	f, err := m.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return f, err
	}
	text, err := fs.ReadFile(m.FS, name)
	return migration{f, strings.NewReader(m.words.Replace(string(text)))}, err
}

// migration is one of the files.
type migration struct {
	fs.File
	text *strings.Reader
}

// Read implements fs.File.
func (m migration) Read(p []byte) (int, error) { return m.text.Read(p) }

func (s *Store) migrate(ctx context.Context) (err error) {
	files, err := s.engine.migrations()
	if err != nil {
		return err
	}
	dialect := goose.DialectSQLite3
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if s.engine == postgresEngine {
		dialect = goose.DialectPostgres
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, uint64(lockLimit.Seconds())))
		if err != nil {
			return err
		}
		options = append(options, goose.WithSessionLocker(locker))
	} else {
		locked, cancel := context.WithTimeoutCause(ctx, lockLimit, fmt.Errorf("%s.lock is held by another process", s.file))
		defer cancel()
		l := flock.New(s.file+".lock", flock.SetPermissions(0o600))
		if _, err := l.TryLockContext(locked, 100*time.Millisecond); err != nil {
			return fmt.Errorf("%w: %w", err, context.Cause(locked))
		}
		defer func() { err = errors.Join(err, l.Unlock()) }()
	}
	p, err := goose.NewProvider(dialect, s.writer, files, options...)
	if err != nil {
		return err
	}
	has, knows, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if has > knows {
		return fmt.Errorf("its schema has version %d and this program knows those up to %d: run the program that has written it, or a newer one", has, knows)
	}
	_, err = p.Up(ctx)
	return err
}

// tx is a transaction. Its queries have ? for each parameter.
type tx struct {
	ctx    context.Context
	tx     *sql.Tx
	engine engine
}

func (t tx) exec(text string, args ...any) (sql.Result, error) {
	return t.tx.ExecContext(t.ctx, t.engine.numbered(text), args...)
}

func (t tx) row(text string, args ...any) *sql.Row {
	return t.tx.QueryRowContext(t.ctx, t.engine.numbered(text), args...)
}

// each calls scan with every row.
func (t tx) each(scan func(*sql.Rows) error, text string, args ...any) error {
	rows, err := t.tx.QueryContext(t.ctx, t.engine.numbered(text), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// numbered is a query with the parameters as the engine names them. SQLite finds names of
// parameters one after the other, so numbers would make long statements slow there.
func (e engine) numbered(text string) string {
	if e != postgresEngine || !strings.Contains(text, "?") {
		return text
	}
	var b strings.Builder
	n := 0
	for {
		before, after, found := strings.Cut(text, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
		text = after
	}
}

// next takes n numbers of a counter and returns the first.
func (t tx) next(counter string, n int) (int64, error) {
	var last int64
	err := t.row(`UPDATE counter SET value = value + ? WHERE name = ? RETURNING value`, int64(n), counter).Scan(&last)
	return last - int64(n) + 1, err
}

// insertRows is how many rows a statement has at most: PostgreSQL takes 65,535 parameters, and
// SQLite half of them.
const insertRows = 200

// insert writes rows with few statements. columns is "a, b", conflict what follows the values.
func (t tx) insert(table, columns, conflict string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	width := strings.Count(columns, ",") + 1
	one := "(" + strings.TrimSuffix(strings.Repeat("?,", width), ",") + ")"
	statement := func(n int) string {
		return t.engine.numbered("INSERT INTO " + table + " (" + columns + ") VALUES " + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + " " + conflict)
	}
	args := make([]any, 0, insertRows*width)
	var full *sql.Stmt
	for len(rows) > 0 {
		n := min(insertRows, len(rows))
		args = args[:0]
		for _, row := range rows[:n] {
			args = append(args, row...)
		}
		rows = rows[n:]
		var err error
		switch {
		case n < insertRows:
			_, err = t.tx.ExecContext(t.ctx, statement(n), args...)
		default:
			if full == nil {
				if full, err = t.tx.PrepareContext(t.ctx, statement(n)); err != nil {
					return err
				}
				defer full.Close()
			}
			_, err = full.ExecContext(t.ctx, args...)
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", table, err)
		}
	}
	return nil
}

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
