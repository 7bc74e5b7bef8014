package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/lease"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const repo = "acme/platform"

func newForge() *forgefake.Forge {
	f := forgefake.New()
	f.Push(repo, "main", map[string]string{"README.md": "x"})
	return f
}

// work notes who works when, and fails the test when two do at the same time.
type work struct {
	*testing.T
	mu      sync.Mutex
	working []string
	terms   []string
}

func (w *work) run(name string, each func(context.Context)) func(context.Context) error {
	return func(ctx context.Context) error {
		w.mu.Lock()
		w.working, w.terms = append(w.working, name), append(w.terms, name)
		if len(w.working) > 1 {
			w.Errorf("at the same time: %q", w.working)
		}
		w.mu.Unlock()
		if each != nil {
			each(ctx)
		}
		<-ctx.Done()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.working = slices.DeleteFunc(w.working, func(n string) bool { return n == name })
		return context.Cause(ctx)
	}
}

func (w *work) now() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprint(w.working)
}

// contender runs until stop, which returns when it has ended.
func contender(t *testing.T, f forge.Forge, name string, run func(context.Context) error) (l *lease.Lease, stop func()) {
	t.Helper()
	return contend(t, lease.Options{Forge: f, At: model.Reference{Repo: forgefake.URL(repo), Branch: "main"}, Holder: name}, run)
}

func contend(t *testing.T, o lease.Options, run func(context.Context) error) (l *lease.Lease, stop func()) {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	l, err := lease.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, run) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s ended with %v", o.Holder, err)
			}
		})
	}
	t.Cleanup(stop)
	return l, stop
}

// pass lets time pass, a second at a time, and looks after each.
func pass(d time.Duration, look func(time.Duration) bool) time.Duration {
	for gone := time.Duration(0); ; gone += time.Second {
		synctest.Wait()
		if gone >= d || look != nil && look(gone) {
			return gone
		}
		time.Sleep(time.Second)
	}
}

func TestOneLeadsAndTheOtherTakesOver(t *testing.T) {
	f := newForge()
	synctest.Test(t, func(t *testing.T) {
		w := &work{T: t}
		a, stopA := contender(t, f, "a", w.run("a", nil))
		pass(20*time.Second, nil)
		b, stopB := contender(t, f, "b", w.run("b", nil))
		pass(5*time.Minute, func(time.Duration) bool {
			if w.now() != "[a]" {
				t.Fatalf("%s works", w.now())
			}
			return false
		})
		if !a.State().Held || b.State().Held || b.State().Holder == "" {
			t.Errorf("%+v and %+v", a.State(), b.State())
		}
		stopA()
		if took := pass(time.Minute, func(time.Duration) bool { return w.now() == "[b]" }); took > 15*time.Second {
			t.Errorf("b began %s after a's orderly end", took)
		}
		// the one that comes back waits
		contender(t, f, "a2", w.run("a2", nil))
		pass(3*time.Minute, nil)
		if w.now() != "[b]" {
			t.Errorf("%s works", w.now())
		}
		stopB()
		if pass(time.Minute, func(time.Duration) bool { return w.now() == "[a2]" }); w.now() != "[a2]" {
			t.Errorf("%s works", w.now())
		}
	})
}

// TestManyBeginTogether: with no branch yet, and all of them looking at the
// same moment.
func TestManyBeginTogether(t *testing.T) {
	f := newForge()
	synctest.Test(t, func(t *testing.T) {
		w := &work{T: t}
		// all have looked before the first one writes
		var mu sync.Mutex
		waiting, all := 0, make(chan struct{})
		f.OnCall(func(c forgefake.Call) {
			if c.Method != "Commit" {
				return
			}
			mu.Lock()
			if waiting++; waiting == 5 {
				close(all)
			}
			mu.Unlock()
			select {
			case <-all:
			case <-time.After(10 * time.Second):
			}
		})
		for i := range 5 {
			contender(t, f, fmt.Sprintf("c%d", i), w.run(fmt.Sprintf("c%d", i), nil))
		}
		pass(10*time.Minute, nil)
		if len(w.terms) != 1 || len(w.working) != 1 {
			t.Errorf("terms of %q, and now of %q", w.terms, w.working)
		}
	})
}

// cut is a forge that one contender cannot reach any more.
type cut struct {
	forge.Forge
	off  atomic.Bool
	hang atomic.Bool
}

func (c *cut) fail(ctx context.Context) error {
	if c.hang.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if c.off.Load() {
		return errors.New("no route")
	}
	return nil
}

func (c *cut) Head(ctx context.Context, ref model.Reference) (string, error) {
	if err := c.fail(ctx); err != nil {
		return "", err
	}
	return c.Forge.Head(ctx, ref)
}

func (c *cut) SetStatus(ctx context.Context, repo, commit string, s forge.Status) error {
	if err := c.fail(ctx); err != nil {
		return err
	}
	return c.Forge.SetStatus(ctx, repo, commit, s)
}

func (c *cut) Commit(ctx context.Context, repo string, r forge.CommitRequest) (string, error) {
	if err := c.fail(ctx); err != nil {
		return "", err
	}
	return c.Forge.Commit(ctx, repo, r)
}

// TestCutOff: one that the forge hears no more stops before another begins, and
// stands by when it is back.
func TestCutOff(t *testing.T) {
	for name, how := range map[string]func(*cut){
		"refused": func(c *cut) { c.off.Store(true) },
		"hangs":   func(c *cut) { c.hang.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newForge()
			synctest.Test(t, func(t *testing.T) {
				w := &work{T: t}
				line := &cut{Forge: f}
				a, _ := contender(t, line, "a", w.run("a", nil))
				pass(20*time.Second, nil)
				b, _ := contender(t, f, "b", w.run("b", nil))
				pass(40*time.Second, nil)
				how(line)
				took := pass(3*time.Minute, func(time.Duration) bool { return w.now() == "[b]" })
				if took > 80*time.Second {
					t.Errorf("b took over after %s", took)
				}
				if s := a.State(); s.Held || s.Error == "" {
					t.Errorf("a thinks %+v", s)
				}
				line.off.Store(false)
				line.hang.Store(false)
				pass(3*time.Minute, nil)
				if w.now() != "[b]" || a.State().Held || !b.State().Held || a.State().Error != "" {
					t.Errorf("%s works; a thinks %+v", w.now(), a.State())
				}
			})
		})
	}
}

// TestFaults: whatever call fails, before or after it has had its effect, one
// works in the end and never two.
func TestFaults(t *testing.T) {
	for n := 1; n <= 24; n++ {
		for _, late := range []bool{false, true} {
			f := newForge()
			synctest.Test(t, func(t *testing.T) {
				w := &work{T: t}
				f.FailAt(n, late)
				contender(t, f, "a", w.run("a", nil))
				contender(t, f, "b", w.run("b", nil))
				pass(4*time.Minute, nil)
				if len(w.working) != 1 {
					t.Errorf("call %d, late %v: %q work", n, late, w.working)
				}
			})
		}
	}
}

func TestTheBranchIsDeleted(t *testing.T) {
	f := newForge()
	synctest.Test(t, func(t *testing.T) {
		w := &work{T: t}
		contender(t, f, "a", w.run("a", nil))
		pass(20*time.Second, nil)
		if err := f.DeleteBranch(t.Context(), repo, lease.Branch); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute, nil)
		if w.now() != "[a]" || len(w.terms) != 2 {
			t.Errorf("%s works, in terms %q", w.now(), w.terms)
		}
	})
}

// TestLongTerm: a commit has so many statuses and no more.
func TestLongTerm(t *testing.T) {
	f := newForge()
	synctest.Test(t, func(t *testing.T) {
		w := &work{T: t}
		contender(t, f, "a", w.run("a", nil))
		pass(20*time.Second, nil)
		first := f.Branch(repo, lease.Branch)
		pass(5*time.Hour, nil)
		if f.Branch(repo, lease.Branch) == first {
			t.Error("still the same commit")
		}
		if len(w.terms) != 1 || w.now() != "[a]" {
			t.Errorf("terms %q", w.terms)
		}
	})
}

// TestWorkThatEnds gives the lease back.
func TestWorkThatEnds(t *testing.T) {
	f := newForge()
	synctest.Test(t, func(t *testing.T) {
		l, err := lease.New(lease.Options{Forge: f, At: model.Reference{Repo: forgefake.URL(repo), Branch: "main"}, Holder: "a", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		broken := errors.New("broken")
		if err := l.Run(t.Context(), func(context.Context) error { return broken }); !errors.Is(err, broken) {
			t.Error(err)
		}
		all, err := f.Statuses(t.Context(), repo, f.Branch(repo, lease.Branch))
		if err != nil || len(all) != 1 || all[0].State != forge.Success {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestNew(t *testing.T) {
	at := model.Reference{Repo: forgefake.URL(repo), Branch: "main"}
	for name, o := range map[string]lease.Options{
		"elsewhere": {Forge: newForge(), At: model.Reference{Repo: "https://elsewhere.test/a/b"}, Holder: "a"},
		"no name":   {Forge: newForge(), At: at},
		"short":     {Forge: newForge(), At: at, Holder: "a", Length: time.Second},
	} {
		if _, err := lease.New(o); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
