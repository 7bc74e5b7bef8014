package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
)

// writerVariable has the store.Options of a test binary that is to write until it is killed.
const writerVariable = "KALYPSO_TEST_STORE_WRITER"

// TestMain lets the test binary be a hub that will be killed.
func TestMain(m *testing.M) {
	run, text := writeForever, os.Getenv(writerVariable)
	if leader := os.Getenv(leaderVariable); leader != "" {
		run, text = leadForever, leader
	}
	if text == "" {
		os.Exit(m.Run())
	}
	var o store.Options
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = run(o)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// writeForever applies random rounds, and prints a line for each that it has written. At the same
// time it reads the history of a branch.
func writeForever(o store.Options) error {
	ctx := context.Background()
	s, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	f := newRandomFleet(uint64(time.Now().UnixNano()))
	go func() {
		err := backfill(ctx, s)
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}()
	for n := 0; ; n++ {
		changed, err := s.Apply(ctx, f.round(n))
		if err != nil {
			return err
		}
		fmt.Println(changed)
	}
}

// backfill adds parts of a branch's history where it ends.
func backfill(ctx context.Context, s *store.Store) error {
	for {
		all, err := s.Histories(ctx)
		if err != nil {
			return err
		}
		part := store.HistoryPart{Repo: gitOps, Branch: "backfilled", Read: noon}
		for _, h := range all {
			part.Epoch, part.After = h.Epoch.Epoch, h.Length
		}
		for n := range 300 {
			part.Commits = append(part.Commits, store.Commit{SHA: commit(part.After + n + 1), Committed: noon})
		}
		if err := s.ApplyHistory(ctx, part); err != nil {
			return err
		}
	}
}

// checkHistory fails where a branch has not all commits up to its head.
func checkHistory(t *testing.T, db *sql.DB) (length int) {
	t.Helper()
	var n, last int
	var head, lastSHA string
	err := db.QueryRowContext(t.Context(), `SELECT length, head, (SELECT count(*) FROM branch_commit), (SELECT max(seq) FROM branch_commit), (SELECT sha FROM branch_commit ORDER BY seq DESC LIMIT 1) FROM branch_history`).
		Scan(&length, &head, &n, &last, &lastSHA)
	if errors.Is(err, sql.ErrNoRows) {
		return 0
	}
	if err != nil || length != n || length != last || head != lastSHA || length%300 != 0 {
		t.Errorf("length %d with %d commits, the last %d; head %s, %s; %v", length, n, last, head, lastSHA, err)
	}
	return length
}

// a hub that is killed while it writes leaves a whole round or none of it
func testKilled(t *testing.T, o store.Options) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	db := raw(t, o)
	length := 0
	for kill := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		child := exec.CommandContext(ctx, self)
		options, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		child.Env = append(os.Environ(), writerVariable+"="+string(options))
		var said strings.Builder
		child.Stderr = &said
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		rounds, changed := 0, 0
		for rounds < 1+kill%4 && lines.Scan() {
			var n int
			if _, err := fmt.Sscan(lines.Text(), &n); err != nil {
				t.Fatal(err)
			}
			rounds, changed = rounds+1, changed+n
		}
		// in the middle of the next round, as it has printed the one before
		killed := child.Process.Kill()
		_ = child.Wait()
		cancel()
		if killed != nil || changed == 0 {
			t.Fatalf("%d rounds, %v: %s", rounds, killed, said.String())
		}
		s := open(t, o)
		checkRollups(t, db)
		if now := checkHistory(t, db); now < length {
			t.Errorf("%d commits, and there were %d", now, length)
		} else {
			length = now
		}
		if o.SQLite != "" {
			var verdict string
			if err := db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
				t.Errorf("%s, %v", verdict, err)
			}
		}
		last, err := s.LastMessage(t.Context())
		if err != nil || last == 0 {
			t.Errorf("last message %d, %v", last, err)
		}
		if _, err := s.Outbox(t.Context(), 0, 1); err != nil {
			t.Error(err)
		}
	}
	if length == 0 {
		t.Error("no history was read")
	}
}

func testNewerSchema(t *testing.T, o store.Options) {
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := raw(t, o).ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (4711, `+map[bool]string{true: "1", false: "true"}[o.SQLite != ""]+`)`); err != nil {
		t.Fatal(err)
	}
	migrations, err := os.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	last := strings.TrimLeft(migrations[len(migrations)-1].Name()[:5], "0") // some numbers may be left out
	if s, err := store.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "4711") || !strings.Contains(err.Error(), " "+last+":") {
		t.Errorf("error %v", err)
		if s != nil {
			s.Close()
		}
	}
}

// two processes that start at once make one schema
func testOpenedByTwo(t *testing.T, o store.Options) {
	const n = 4
	opened := make(chan error, n)
	for range n {
		go func() {
			s, err := store.Open(t.Context(), o)
			if err == nil {
				err = s.Close()
			}
			opened <- err
		}()
	}
	for range n {
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
	// and both write
	one, two := open(t, o), open(t, o)
	if _, err := one.CreateToken(t.Context(), store.Token{Name: "one", Role: "viewer"}); err != nil {
		t.Error(err)
	}
	if _, err := two.CreateToken(t.Context(), store.Token{Name: "two", Role: "viewer"}); err != nil {
		t.Error(err)
	}
	if all, err := one.Tokens(t.Context()); len(all) != 2 || err != nil {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestFileIsPrivate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new folder", "hub.db")
	s := open(t, store.Options{SQLite: file})
	applyTo(t, s, noon, "dev", assigned("dev", "drone", "edge", "a"))
	if err := filepath.WalkDir(filepath.Dir(file), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if size, err := s.Size(t.Context()); err != nil || size < 50_000 {
		t.Errorf("size %d, %v", size, err)
	}
}

// TestFullDisk lets every write to a file fail, as on a disk without room.
func TestFullDisk(t *testing.T) {
	s := open(t, store.Options{SQLite: filepath.Join(t.TempDir(), "hub.db")})
	a, b := assigned("dev", "drone", "edge", "a"), assigned("dev", "drone", "edge", "b")
	applyTo(t, s, noon, "dev", a)
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	full := limit
	full.Cur = 1
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	_, failed := s.Apply(t.Context(), store.Round{At: after(1), Placements: map[string][]store.Placement{"dev": {a, b}}})
	notReady := s.Ready(t.Context())
	list, readFailed := s.Placements(t.Context(), store.Scope{}, store.PlacementFilter{}, store.Page{})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if failed == nil || notReady == nil {
		t.Errorf("full, and applied with error %v, ready with error %v", failed, notReady)
	}
	if readFailed != nil || len(list.Items) != 1 || list.Total != 1 {
		t.Errorf("%+v, %v", list, readFailed)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("not ready again: %v", err)
	}
	if n := applyTo(t, s, after(2), "dev", a, b); n != 1 {
		t.Errorf("%d transitions", n)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []store.Options{{}, {SQLite: "a", Postgres: "b"}, {Postgres: "postgres://127.0.0.1:1/x?connect_timeout=1"}, {SQLite: "/dev/null/hub.db"}} {
		if s, err := store.Open(t.Context(), o); err == nil {
			t.Errorf("%+v was opened", o)
			s.Close()
		}
	}
}
