package controller

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
	// URL of this scheduler's Server, for others to pass webhooks on to; may be
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

func (c *Controller) newLease(e *LeaderElection) (*lease.Lease, error) {
	at := c.options.ControlPlane
	at.Path = ""
	return lease.New(lease.Options{
		Forge: c.options.Forge, At: at, Holder: e.Holder, URL: e.URL, Length: e.Length, Log: c.log, Heard: c.heard,
	})
}

// standsBy tells whether another works, and what is known of that one.
func (c *Controller) standsBy() (lease.State, bool) {
	if c.lease == nil {
		return lease.State{}, false
	}
	s := c.lease.State()
	return s, !s.Held
}

// afresh forgets what another may have changed since this one has worked.
func (c *Controller) afresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.environments, c.ended, c.settled = map[string]*environment{}, map[string]<-chan struct{}{}, false
	c.severities, c.known = nil, problems{}
}

// Run follows the environments until ctx ends, with a leader election only
// while this Controller leads. It returns when every run has ended, with the
// reason that ctx ended for.
func (c *Controller) Run(ctx context.Context) error {
	if c.lease == nil {
		return c.lead(ctx)
	}
	return c.lease.Run(ctx, func(ctx context.Context) error {
		c.afresh()
		defer c.afresh()
		return c.lead(ctx)
	})
}
