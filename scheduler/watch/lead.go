package watch

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/lease"
)

// LeaderElection lets several schedulers watch the same control plane: one of
// them works, and the others stand by. See package lease.
type LeaderElection struct {
	Holder string        // what this scheduler is called; unique
	Length time.Duration // lease.DefaultLength when zero
	// URL of this scheduler's Door, for others to pass webhooks on to; may be
	// empty.
	URL string
}

// newHolder is a name for this process that no other has.
func newHolder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "scheduler"
	}
	return fmt.Sprintf("%s-%d-%.6s", host, os.Getpid(), rand.Text())
}

func (w *Watcher) newLease(e *LeaderElection) (*lease.Lease, error) {
	at := w.options.ControlPlane
	at.Path = ""
	return lease.New(lease.Options{
		Forge: w.options.Forge, At: at, Holder: e.Holder, URL: e.URL, Length: e.Length, Log: w.log, Heard: w.heard,
	})
}

// standsBy tells whether another works, and what is known of that one.
func (w *Watcher) standsBy() (lease.State, bool) {
	if w.lease == nil {
		return lease.State{}, false
	}
	s := w.lease.State()
	return s, !s.Held
}

// afresh forgets what another may have changed since this one has worked.
func (w *Watcher) afresh() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.environments, w.ended, w.settled = map[string]*environment{}, map[string]<-chan struct{}{}, false
	w.severities, w.known = nil, problems{}
}

// Run follows the environments until ctx ends, with a leader election only
// while this Watcher leads. It returns when every run has ended, with the
// reason that ctx ended for.
func (w *Watcher) Run(ctx context.Context) error {
	if w.lease == nil {
		return w.lead(ctx)
	}
	return w.lease.Run(ctx, func(ctx context.Context) error {
		w.afresh()
		defer w.afresh()
		return w.lead(ctx)
	})
}
