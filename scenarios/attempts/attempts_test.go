package attempts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
)

const first = `# First
#
# Persona: platform team
# Follows: A tutorial

step Push a file
hint Push it.
solve
clone control main
write wanted.yaml control/file.yaml
push control 'Push a file'
check
repo same-yaml control main file.yaml wanted.yaml

step Read it
look
repo show control main file.yaml
stdout 'kind: A'

-- wanted.yaml --
kind: A
`

const second = `# Second
#
# Persona: platform team
# Follows: A tutorial
# Needs: first

step Push another
solve
clone control main
write other.yaml control/other.yaml
push control 'Push another'
check
repo same-yaml control main other.yaml other.yaml

-- other.yaml --
kind: B
`

// class is a sandbox's scenarios with a clock that stands still.
type class struct {
	*testing.T
	*Attempts
	control  *giteafake.Repository
	requests atomic.Int32 // to the forge
	now      atomic.Int64 // seconds
	down     atomic.Bool
}

func newClass(t *testing.T) *class {
	c := &class{T: t}
	forge := giteafake.New(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.requests.Add(1)
		forge.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	forge.URL = server.URL
	c.control = forge.Create("kalypso/control", "main")
	c.control.Push("main", nil)
	library := scenarios.Library{
		Workshop: "test", Ordered: []string{"first", "second"},
		Files: fstest.MapFS{"first.txtar": {Data: []byte(first)}, "second.txtar": {Data: []byte(second)}},
	}
	home := t.TempDir()
	c.Attempts = New(Options{
		Library: func() (scenarios.Library, string, error) { return library, server.URL + "/kalypso", nil },
		Access: func(context.Context) (engine.Access, error) {
			if c.down.Load() {
				return engine.Access{}, errors.New("the sandbox is not ready")
			}
			return engine.Access{ForgeURL: server.URL, Organisation: "kalypso", User: giteafake.User, Token: giteafake.Token, Home: home}, nil
		},
		Progress: filepath.Join(home, "scenarios", "progress.json"),
		Now:      func() time.Time { return time.Unix(c.now.Load(), 0) },
	})
	t.Cleanup(c.Close)
	return c
}

func (c *class) check(name string, step int) Look {
	c.Helper()
	look, err := c.Check(c.Context(), name, step)
	if err != nil {
		c.Fatal(err)
	}
	return look
}

// later lets what was found grow old.
func (c *class) later() { c.now.Add(int64(time.Minute / time.Second)) }

func (c *class) solve(name string, step int) Solving {
	c.Helper()
	if err := c.Solve(name, step); err != nil {
		c.Fatal(err)
	}
	if err := retry.Until(c.Context(), "the end of the step", time.Minute, func(context.Context) error {
		if s, _ := c.Solving(); s.Ended.IsZero() {
			return errors.New("it goes on")
		}
		return nil
	}, retry.Every(10*time.Millisecond)); err != nil {
		c.Fatal(err)
	}
	s, _ := c.Solving()
	return s
}

// TestOneCheckForAllReaders: forty readers cost the forge what one does.
func TestOneCheckForAllReaders(t *testing.T) {
	c := newClass(t)
	c.check("first", 0) // the first look asks for more
	cost := func(readers int) int32 {
		c.later()
		before := c.requests.Load()
		var asking sync.WaitGroup
		for range readers {
			asking.Go(func() {
				if look := c.check("first", 0); look.State != engine.NotYet || look.At.Unix() != c.now.Load() {
					t.Errorf("%+v", look)
				}
			})
		}
		asking.Wait()
		return c.requests.Load() - before
	}
	one := cost(1)
	if forty := cost(40); one == 0 || forty != one {
		t.Errorf("forty readers cost %d requests, and one %d", forty, one)
	}
	// and at the same moment nothing is asked again
	before := c.requests.Load()
	c.check("first", 0)
	if n := c.requests.Load() - before; n != 0 {
		t.Errorf("%d requests for what is known", n)
	}
}

// TestSolve: a step that is done for the user is done like by hand, with what it prints,
// and one at a time.
func TestSolve(t *testing.T) {
	c := newClass(t)
	if look := c.check("second", 0); look.State != engine.NotYet || look.Lack == nil || look.Lack.Scenario != "first" {
		t.Errorf("what the scenario builds on: %+v", look)
	}
	if s := c.solve("second", 0); !strings.Contains(s.Error, "first") {
		t.Errorf("it was done though it builds on something: %+v", s)
	}
	c.later()
	if s := c.solve("first", 0); s.Error != "" || s.Scenario != "first" || s.Step != 0 || !strings.Contains(s.Output, "$ push control 'Push a file'") {
		t.Errorf("%+v", s)
	}
	if strings.Contains(c.mustSolving().Output, giteafake.Token) {
		t.Error("the output has the token")
	}
	c.later()
	if look := c.check("first", 0); !look.Done() {
		t.Errorf("%+v", look)
	}
	if look := c.check("first", 1); look.State != engine.Holds {
		t.Errorf("%+v", look)
	}
	// what is looked at is done when the user says so
	for _, want := range []string{"[true false]", "[true true]"} {
		_, done, err := c.Page("first")
		if err != nil || fmt.Sprint(done) != want {
			t.Errorf("%v, %v", done, err)
		}
		if err := c.Acknowledge("first", 1); err != nil {
			t.Error(err)
		}
	}
	if look := c.check("second", 0); look.Lack != nil {
		t.Errorf("%+v", look)
	}
	all, err := c.List()
	if err != nil || len(all) != 2 || fmt.Sprint(all[0].Done, all[1].Done) != "[true true] [false]" {
		t.Errorf("%+v, %v", all, err)
	}

	c.control.Push("main", nil)
	c.checking.Lock() // nothing that is asked for begins before it is unlocked
	if err := c.Solve("second", 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Solve("first", 0); !errors.Is(err, ErrBusy) {
		t.Errorf("a second one at the same time: %v", err)
	}
	if look := c.check("first", 0); look.At.IsZero() {
		t.Errorf("what was known is not said while a step is done: %+v", look)
	}
	c.checking.Unlock()
	for _, wrong := range []error{c.Solve("first", 1), c.Solve("first", 7), c.Acknowledge("first", -1)} {
		if wrong == nil {
			t.Error("there is no such step, or it has nothing to do")
		}
	}
	var unknown *scenarios.UnknownError
	if _, err := c.Check(t.Context(), "firsst", 0); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
}

func (c *class) mustSolving() Solving {
	s, _ := c.Solving()
	return s
}

// TestCheckThatCannotBeMade is not the same as a step that is not done.
func TestCheckThatCannotBeMade(t *testing.T) {
	c := newClass(t)
	c.down.Store(true)
	if look := c.check("first", 0); look.State != engine.CannotCheck || look.Reason != "the sandbox is not ready" {
		t.Errorf("%+v", look)
	}
	c.down.Store(false)
	c.later()
	if look := c.check("first", 0); look.State != engine.NotYet {
		t.Errorf("%+v", look)
	}
}

// TestHelp: hints, then what there is to do, with the files to write.
func TestHelp(t *testing.T) {
	c := newClass(t)
	if hint, err := c.Hint("first", 0, 0); err != nil || len(hint) != 1 || hint[0].Spans[0].Text != "Push it." {
		t.Errorf("%+v, %v", hint, err)
	}
	after, err := c.Hint("first", 0, 1)
	toDo, also := c.ToDo("first", 0)
	if err != nil || also != nil || len(toDo) == 0 || len(after) != len(toDo) {
		t.Errorf("%d and %d blocks, %v, %v", len(after), len(toDo), err, also)
	}
	if content, err := c.File("first", "wanted.yaml"); err != nil || content != "kind: A\n" {
		t.Errorf("%q, %v", content, err)
	}
	if _, err := c.File("first", "other.yaml"); !errors.Is(err, ErrStep) {
		t.Errorf("a file of another scenario: %v", err)
	}
}
