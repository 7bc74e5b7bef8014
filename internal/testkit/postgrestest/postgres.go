// Package postgrestest runs a PostgreSQL server for tests: one from the machine's packages, with
// its data in a temporary folder, on loopback.
package postgrestest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/kalypso-dev/kalypso/internal/retry"
)

const (
	user = "kalypso"
	// nobody is who the server runs as when the tests are root's, which it refuses.
	nobody     = 65534
	startLimit = time.Minute
	stopLimit  = 30 * time.Second
	// portTries is how often a free port may be taken by another program before the
	// server has it.
	portTries = 3
)

// Server is a running server.
type Server struct {
	port int
	made int
}

// Start runs a server until the end of the test. Without PostgreSQL on the machine it skips the
// test, or fails it where KALYPSO_REQUIRE_POSTGRES is set.
func Start(t *testing.T) *Server {
	t.Helper()
	programs, err := programs()
	if err != nil {
		if os.Getenv("KALYPSO_REQUIRE_POSTGRES") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "kalypso-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	// an order of texts that is not that of their bytes, as most databases have
	initdb := command(dir, filepath.Join(programs, "initdb"), "--pgdata", filepath.Join(dir, "data"), "--username", user, "--auth", "trust", "--no-sync",
		"--encoding", "UTF8", "--locale", "C.UTF-8", "--locale-provider", "icu", "--icu-locale", "en")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	for range portTries {
		s := &Server{}
		if s.port, err = freePort(); err == nil {
			err = s.run(t, dir, filepath.Join(programs, "postgres"))
		}
		if err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// run starts the server, and returns when it answers.
func (s *Server) run(t *testing.T, dir, program string) error {
	server := command(dir, program, "-D", filepath.Join(dir, "data"), "-h", "127.0.0.1", "-p", fmt.Sprint(s.port), "-k", "", "-F")
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	db, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	err = retry.Until(t.Context(), "PostgreSQL", startLimit, func(ctx context.Context) error {
		select {
		case err := <-ended:
			ended <- err
			return retry.Permanent(fmt.Errorf("PostgreSQL has ended: %w\n%s", err, log.String()))
		default:
			return db.PingContext(ctx)
		}
	})
	stop := func() {
		// fast: without waiting for clients
		_ = server.Process.Signal(syscall.SIGINT)
		select {
		case <-ended:
		case <-time.After(stopLimit):
			_ = server.Process.Kill()
			t.Error("PostgreSQL did not stop in time", <-ended)
		}
	}
	if err != nil {
		stop()
		return err
	}
	t.Cleanup(stop)
	return nil
}

// Database makes an empty database and returns its URL.
func (s *Server) Database(t *testing.T) string {
	t.Helper()
	s.made++
	name := fmt.Sprintf("test%d", s.made)
	db, err := sql.Open("pgx", s.url("postgres"))
	if err == nil {
		_, err = db.ExecContext(t.Context(), "CREATE DATABASE "+name)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.url(name)
}

func (s *Server) url(database string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", user, s.port, database)
}

func command(dir, program string, args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	c.Dir, c.Env = dir, []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH")}
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return c
}

// programs is the folder with PostgreSQL's programs, which Debian keeps out of the path.
func programs() (string, error) {
	all, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if len(all) > 0 {
		// all that Debian has had lately have two digits
		return filepath.Dir(slices.Max(all)), nil
	}
	if found, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(found), nil
	}
	return "", errors.New("PostgreSQL is not on this machine: install the package postgresql")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
