//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
)

const (
	upLimit      = 3 * time.Minute
	commandLimit = 60 * time.Second
	poll         = 50 * time.Millisecond
)

// binary is the kalypso under test.
func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("KALYPSO_BIN")
	if path == "" {
		path = filepath.Join("..", "bin", "kalypso")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("no kalypso to test: run `make build`, or set KALYPSO_BIN: %v", err)
	}
	return path
}

// machine is a computer with nothing on it but a kalypso, git and the base
// system, and a user's empty home folder.
type machine struct {
	t      *testing.T
	dir    string // of everything
	binary string
	home   string // of the sandbox
	env    []string
	known  *sandbox.Credentials
	// tutorial is whose workshop up brings, "" for what it does by default
	tutorial string
	upFlags  []string      // more flags of up
	upLimit  time.Duration // of up; upLimit when 0
	// user is who runs kalypso, nil for the user that runs the test
	user *syscall.Credential
	// umask is that of the shell that kalypso is run in, "" for the test's own
	umask string
}

// become makes another user the machine's only one.
func (m *machine) become(id uint32) {
	m.t.Helper()
	m.user = &syscall.Credential{Uid: id, Gid: id}
	err := filepath.WalkDir(m.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, int(id), int(id)))
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// inTime skips a test for which there is no time any more, and notes that it does: CI on a slow
// machine says which tests it has left out, where it would be cut off else. KALYPSO_UNTIL is
// when the last test begins, in seconds since 1970, and KALYPSO_LEFT_OUT the file of the notes.
func inTime(t *testing.T) {
	t.Helper()
	if until := number(t, "KALYPSO_UNTIL", 0); until == 0 || time.Now().Unix() < int64(until) || strings.Contains(t.Name(), "/") {
		return
	}
	notes, err := os.OpenFile(os.Getenv("KALYPSO_LEFT_OUT"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(notes, t.Name())
		err = errors.Join(err, notes.Close())
	}
	if err != nil {
		t.Fatalf("noting that there is no time for this test: %v", err)
	}
	t.Skip("there is no time for it")
}

// newMachine removes the sandbox when the test ends.
func newMachine(t *testing.T) *machine {
	t.Helper()
	inTime(t)
	// not t.TempDir, whose paths are too long for a socket
	dir, err := os.MkdirTemp("", "kalypso-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	userHome, bin, tmp := filepath.Join(dir, "user"), filepath.Join(dir, "bin"), filepath.Join(dir, "tmp")
	// programs are where every user may run them, so workflows can
	err = os.Chmod(dir, 0o755)
	for d, mode := range map[string]os.FileMode{userHome: 0o700, bin: 0o755, tmp: 0o700} {
		err = errors.Join(err, os.Mkdir(d, mode))
	}
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, dir: dir, binary: filepath.Join(bin, "kalypso"), home: filepath.Join(userHome, ".kalypso")}
	copyFile(t, binary(t), m.binary)
	m.env = []string{"HOME=" + userHome, "TMPDIR=" + tmp, "PATH=" + basePath(t, dir)}
	t.Cleanup(func() {
		if _, err := os.Stat(m.home); err == nil {
			if t.Failed() {
				t.Log(m.warnings())
			}
			if out, err := m.try("down", "--delete", "--snapshots"); err != nil {
				t.Errorf("clean up: %v\n%s", err, out.all())
			}
		}
		if left := m.processes(); len(left) > 0 {
			t.Errorf("left running: %s", describe(left))
		}
		if t.Failed() && os.Getenv("KALYPSO_KEEP") != "" {
			t.Logf("kept %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return m
}

// warnings are the last lines of the sandbox's logs that tell of something wrong.
func (m *machine) warnings() string {
	const each, length = 8, 600
	files, _ := filepath.Glob(filepath.Join(m.home, "logs", "*.log"))
	var all []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var wrong []string
		for line := range strings.Lines(string(content)) {
			if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
				wrong = append(wrong, fmt.Sprintf("%s: %.*s", filepath.Base(file), length, line))
			}
		}
		all = append(all, wrong[max(0, len(wrong)-each):]...)
	}
	return "the sandbox's logs say\n" + strings.Join(all, "")
}

// basePath makes a folder with links to the base system's programs and to git.
// Compilers and runtimes are left out: kalypso must not need any.
func basePath(t *testing.T, dir string) string {
	t.Helper()
	left := []string{"go", "gofmt", "node", "nodejs", "npm", "npx", "docker", "kubectl", "gitea", "flux"}
	path := filepath.Join(dir, "base")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"/usr/bin", "/bin"} {
		entries, err := os.ReadDir(from)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if slices.Contains(left, e.Name()) {
				continue
			}
			if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(path, e.Name())); err != nil && !errors.Is(err, os.ErrExist) {
				t.Fatal(err)
			}
		}
	}
	return path
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// output is what a command has printed.
type output struct {
	stdout, stderr string
	code           int
	took           time.Duration
}

func (o output) all() string { return o.stdout + o.stderr }

func (m *machine) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, m.binary, args...)
	if m.umask != "" {
		cmd = exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", "umask " + m.umask + ` && exec "$0" "$@"`, m.binary}, args...)...)
	}
	cmd.Env = m.env
	cmd.Dir = filepath.Join(m.dir, "user")
	if m.user != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: m.user}
	}
	cmd.WaitDelay = time.Second
	return cmd
}

// try runs kalypso; an error is an exit code that is not 0.
func (m *machine) try(args ...string) (output, error) {
	limit := commandLimit
	if len(args) > 1 && args[0] == "scenario" && args[1] == "run" {
		limit = tutorialLimit
	}
	return m.tryFor(limit, args...)
}

func (m *machine) tryFor(limit time.Duration, args ...string) (output, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("not done after %s", limit))
	defer cancel()
	cmd := m.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	out := output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), time.Since(began)}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		err = fmt.Errorf("kalypso %s: %w", strings.Join(args, " "), err)
	}
	return out, err
}

func (m *machine) run(args ...string) output {
	m.t.Helper()
	out, err := m.try(args...)
	if err != nil {
		m.t.Fatalf("%v\n%s", err, out.all())
	}
	return out
}

func (m *machine) up() output {
	m.t.Helper()
	args := append([]string{"up"}, m.upFlags...)
	if m.tutorial != "" {
		args = append(args, "--workshop", m.tutorial)
	}
	out, err := m.tryFor(cmp.Or(m.upLimit, upLimit), args...)
	if err != nil {
		m.t.Fatalf("%v\n%s", err, out.all())
	}
	return out
}

// status is that of a sandbox that must be there.
func (m *machine) status() sandbox.Status {
	m.t.Helper()
	var s sandbox.Status
	out, _ := m.try("status", "-o", "json") // the exit code says no more than the status
	m.decode(out.stdout, &s)
	return s
}

func (m *machine) scheduler() controller.Status {
	m.t.Helper()
	var s controller.Status
	if raw := m.status().Scheduler; raw != nil {
		m.decode(string(raw), &s)
	}
	return s
}

// settle waits until the scheduler has done what it does by itself.
func (m *machine) settle() {
	m.t.Helper()
	waitFor(m.t, "the scheduler's first round", 30*time.Second, func() error {
		all := m.scheduler().Environments
		for _, name := range m.environments() {
			i := slices.IndexFunc(all, func(e controller.EnvironmentStatus) bool { return e.Name == name })
			if i < 0 {
				return fmt.Errorf("no environment %s", name)
			}
			if e := all[i]; e.State != controller.Synced || e.Runs == 0 {
				return fmt.Errorf("environment %s: %s after %d runs: %s", name, e.State, e.Runs, e.Error)
			}
		}
		return nil
	})
}

// credentials are asked for once: they outlive every start.
func (m *machine) credentials() sandbox.Credentials {
	m.t.Helper()
	if m.known == nil {
		var c sandbox.Credentials
		m.decode(m.run("credentials", "-o", "json").stdout, &c)
		m.known = &c
	}
	return *m.known
}

func (m *machine) decode(text string, into any) {
	m.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		m.t.Fatalf("%v in:\n%s", err, text)
	}
}

// waitFor looks until it returns nil, and leaves more than half of the machine to what it
// waits for.
func waitFor(t *testing.T, what string, limit time.Duration, look func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		began := time.Now()
		err := look()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, limit, err)
		}
		time.Sleep(max(poll, min(2*time.Since(began), time.Second)))
	}
}
