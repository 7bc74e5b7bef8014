package doctor

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRunProgram(t *testing.T) {
	out, err := runProgram(t.Context(), "sh", "-c", "echo hello; echo talk >&2")
	if out != "hello" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	_, err = runProgram(t.Context(), "sh", "-c", "echo no engine >&2; echo more >&2; exit 3")
	if err == nil || err.Error() != "no engine" {
		t.Error(err)
	}
	if _, err = runProgram(t.Context(), "sh", "-c", "exit 3"); err == nil || err.Error() != "exit status 3" {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	// the grandchild keeps the pipe open
	if _, err = runProgram(ctx, "sh", "-c", "sleep 20 & wait"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("a program that hangs is waited for: %s", took)
	}
}

func TestLockedNeitherMakesNorKeepsALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if locked(path) {
		t.Error("locked without a file")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file has been made")
	}
	holder, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if locked(path) {
		t.Error("locked without a holder")
	}
	if err := syscall.Flock(int(holder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal("the look has kept the lock:", err)
	}
	if !locked(path) {
		t.Error("not locked")
	}
}

func TestMachineSeesFiles(t *testing.T) {
	m := Machine()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if m.read(dir+"/a") != "text" || m.read(dir+"/b") != "text" || m.read(dir+"/c") != "" || m.link(dir+"/b") != "a" || m.link(dir+"/a") != "" {
		t.Errorf("%q, %q, %q", m.read(dir+"/a"), m.read(dir+"/b"), m.link(dir+"/b"))
	}
	if got := strings.Join(m.list(dir), " "); got != "a b" {
		t.Errorf("list %q", got)
	}
	if got := m.nearest(dir + "/x/y"); got != dir {
		t.Errorf("nearest %s", got)
	}
	if got := m.nearest("/" + filepath.Base(dir) + "/x"); got != "/" {
		t.Errorf("nearest %s", got)
	}
	if !m.exists("/") {
		t.Error("no root folder")
	}
	if space, err := m.Space(dir); err != nil || space.Free == 0 || space.NoExec {
		t.Errorf("%+v, %v", space, err)
	}
	if err := m.Writable(dir); err != nil {
		t.Error(err)
	}
	if err := m.Writable(dir + "/x"); err == nil {
		t.Error("what is not there can be written")
	}
}

func TestMachineSeesItsListeners(t *testing.T) {
	m := Machine()
	if m.OS != "linux" {
		t.Skip("owners of ports are known on Linux only")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	if got := m.busy(t.Context(), []int{port, 1}); got[port] != os.Getpid() || len(got) != 1 {
		t.Errorf("port %d: %v, want process %d", port, got, os.Getpid())
	}
	if !m.runsFrom(os.Getpid(), filepath.Dir(m.link(procPath(os.Getpid(), "exe")))) {
		t.Error("does not know where a process's program is")
	}
}
