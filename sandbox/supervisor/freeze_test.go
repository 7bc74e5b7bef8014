package supervisor

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// counting is a process whose child, in a group of its own as git's are below
// Gitea, appends to a file all the time.
func counting(t *testing.T) (p *Process, size func() int64) {
	t.Helper()
	p = process(t, `set -m
(while :; do echo x >> count; done) &
echo $! > child
wait`)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b, _ := os.ReadFile(p.Dir + "/child")
		if child, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			_ = syscall.Kill(-child, syscall.SIGKILL)
		}
		_ = p.Stop(t.Context())
	})
	return p, func() int64 {
		info, err := os.Stat(p.Dir + "/count")
		if err != nil {
			return 0
		}
		return info.Size()
	}
}

// grows waits until the file is longer than it was.
func grows(size func() int64, than int64) bool {
	for range 500 {
		if size() > than {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func TestFrozenProcessesWriteNothing(t *testing.T) {
	p, size := counting(t)
	if !grows(size, 0) {
		t.Fatal("nothing is written")
	}
	thaw, err := Freeze(t.Context(), []int{p.PID()})
	if err != nil {
		t.Fatal(err)
	}
	before := size()
	time.Sleep(100 * time.Millisecond)
	if after := size(); after != before {
		t.Errorf("%d bytes have become %d", before, after)
	}
	thaw()
	if !grows(size, before) {
		t.Error("it stands still for ever")
	}
	thaw() // once more does no harm
}

func TestFreezeOfNobody(t *testing.T) {
	p := process(t, "exit 0")
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	thaw, err := Freeze(t.Context(), []int{p.PID()})
	if err != nil {
		t.Fatal("a process that has just ended:", err)
	}
	thaw()
	// process 1 is nobody's to freeze, except in a container of one's own
	if os.Getuid() != 0 {
		if _, err := Freeze(t.Context(), []int{1}); !errors.Is(err, syscall.EPERM) {
			t.Error(err)
		}
	}
}

func TestFrozenProcessCanBeStopped(t *testing.T) {
	p, size := counting(t)
	if !grows(size, 0) {
		t.Fatal("nothing is written")
	}
	if _, err := Freeze(t.Context(), []int{p.PID()}); err != nil {
		t.Fatal(err)
	}
	p.Kill = true
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
