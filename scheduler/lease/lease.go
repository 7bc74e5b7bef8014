// Package lease lets one of several schedulers work while the others stand by,
// with nothing between them but the forge.
//
// A lease is a branch of a repository. Who has made the commit at its head
// holds it, and says so again and again in a status of that commit. Whoever
// sees the same status for the length of the lease takes over: by a commit on
// top, which the forge takes from one only. Nobody's clock has to agree with
// another's, only their seconds must be about as long.
//
// A holder that cannot say that it lives stops its work before others may
// take over. One that ends says so, and the next begins at once.
package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const (
	// Branch is the lease's branch. No environment's can be called so: names of
	// environments have no underscore.
	Branch = forge.BranchPrefix + "_leader"
	// Context is that of the status which tells that the holder lives.
	Context = "kalypso scheduler"
	// file is what a commit of the lease changes.
	file = "leader.json"

	// DefaultLength is how long a holder may be silent when Options do not say.
	DefaultLength = time.Minute
	// MinLength still lets a slow forge answer several times.
	MinLength = 15 * time.Second

	// beatsPerCommit keeps clear of the thousand statuses that GitHub allows for
	// a commit and a context.
	beatsPerCommit = 900
	// releaseTime is for saying that the holder has ended.
	releaseTime = 5 * time.Second
)

// Options say which lease, and for whom.
type Options struct {
	Forge forge.Forge
	// At is the repository, and a branch of it that exists: the lease's branch
	// begins there.
	At model.Reference
	// Holder is what the holder is called. No two that want the lease may be
	// called the same.
	Holder string
	// URL is told to those that stand by; may be empty.
	URL    string
	Length time.Duration // DefaultLength when zero
	Log    *slog.Logger  // slog.Default() when nil
	// Heard is called whenever the forge has answered; may be nil.
	Heard func()
}

// Lease is one contender's view of a lease.
type Lease struct {
	options Options
	repo    string
	log     *slog.Logger

	mu    sync.Mutex
	state State
}

// State is what is known of a lease.
type State struct {
	Held   bool      `json:"held"`             // by this contender
	Holder string    `json:"holder,omitempty"` // in the holder's words
	Since  time.Time `json:"since"`            // when Held changed last
	Error  string    `json:"error,omitempty"`  // why the forge could not be asked

	URL string `json:"-"` // of the holder, "" when it has none
}

// New returns a Lease that is not held. It asks nobody.
func New(o Options) (*Lease, error) {
	if o.Length == 0 {
		o.Length = DefaultLength
	}
	repo, ok := o.Forge.Repo(o.At.Repo)
	switch {
	case !ok:
		return nil, fmt.Errorf("lease: %s is not on this forge", o.At.Repo)
	case o.Holder == "":
		return nil, errors.New("lease: the holder needs a name")
	case o.Length < MinLength:
		return nil, fmt.Errorf("lease: %s is too short: %s is the least", o.Length, MinLength)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Heard == nil {
		o.Heard = func() {}
	}
	return &Lease{options: o, repo: repo, log: o.Log, state: State{Since: time.Now()}}, nil
}

// State returns what is known now.
func (l *Lease) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

func (l *Lease) change(do func(*State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.state.Held
	do(&l.state)
	if l.state.Held != held {
		l.state.Since = time.Now()
	}
}

// errLost ends the work of one that holds the lease no more.
var errLost = errors.New("the lease is lost")

// Run waits for the lease and works as long as it is held, again and again,
// until ctx ends or work does. The context of work ends, with the reason as its
// cause, before another may begin. Run returns work's error, or the reason that
// ctx ended for.
func (l *Lease) Run(ctx context.Context, work func(context.Context) error) error {
	for {
		t, err := l.acquire(ctx)
		if err != nil {
			return err
		}
		l.change(func(s *State) { s.Held, s.Holder, s.URL, s.Error = true, l.options.Holder, "", "" })
		l.log.Info("this scheduler leads", "holder", l.options.Holder)
		err = l.hold(ctx, t, work)
		l.change(func(s *State) { s.Held, s.Holder = false, "" })
		if !errors.Is(err, errLost) {
			l.release(ctx, t)
			return err
		}
		l.log.Warn("this scheduler leads no more", "reason", err)
	}
}

// hold works until the work ends, or the term.
func (l *Lease) hold(ctx context.Context, t *term, work func(context.Context) error) error {
	leading, end := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	go func() { ended <- work(leading) }()
	beats, stop := context.WithCancel(ctx)
	defer stop()
	lost := make(chan error, 1)
	go func() { lost <- l.beat(beats, t) }()
	select {
	case err := <-ended:
		end(nil)
		stop()
		<-lost // or it says that the holder lives after its end has been said
		return err
	case why := <-lost:
		end(why)
		err := <-ended
		if ctx.Err() != nil {
			return err
		}
		return why
	}
}
