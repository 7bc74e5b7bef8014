// Package controller is the scheduler's loop: repository events in, plans published.
//
// A Controller reads the Environment objects of the control plane's default
// branch and follows each environment on its own. A run of an environment is
//
//	promote (the first environment only) -> load the model -> plan -> publish
//
// and happens when a webhook tells of a push to something that the last run
// has read, when a slow poll finds a head that the last run has not seen, and
// again after an error. Events that come during a run make one more run, not
// one each.
//
// A Controller follows one control plane. A Server is what clients see of one or
// several Controllers on one forge: webhooks come in, and it tells how they are.
// Serve makes all of it of a configuration file, and RunOnce does one round of it
// and ends.
package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/lease"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const (
	// DefaultPoll is how often heads are compared when Options does not say.
	DefaultPoll = 30 * time.Second
	// resyncPolls is after how many polls an environment is run although no
	// head has changed: a person's word on a pull request moves no head.
	resyncPolls = 20
	// runTimeout bounds one run of an environment.
	runTimeout = 10 * time.Minute
)

// Options say what to watch.
type Options struct {
	Forge        forge.Forge
	ControlPlane model.Reference // where the Environment objects are: repository, branch (main) and folder
	PromoteTo    string          // the environment that gets the default branch's commits; "" for none
	Poll         time.Duration   // DefaultPoll when zero
	Log          *slog.Logger    // slog.Default() when nil
	Metrics      *Metrics        // its own when nil
	// Pool is what the environments of several Controllers share; its own when nil.
	Pool *model.Pool
	// Leader is for schedulers of which one works at a time; nil for one that is
	// alone.
	Leader *LeaderElection
}

// Controller follows the environments of one control plane.
type Controller struct {
	options Options
	name    string // for metrics and probes
	log     *slog.Logger
	wake    signal       // the control plane's default branch has news
	lease   *lease.Lease // nil for one that is alone

	neighbours []*environment // of the only one that is run

	mu           sync.Mutex
	environments map[string]*environment
	ended        map[string]<-chan struct{} // of environments that were given up
	control      ControlPlaneStatus
	severities   severities // of the control plane's problems
	known        problems
	reached      time.Time // when the forge has answered last
	settled      bool      // every environment that there was at first has had a run
}

// New returns a Controller. It does nothing before Run, but a Server can have it:
// what it is told is not lost.
func New(options Options) (*Controller, error) {
	if options.Forge == nil {
		return nil, errors.New("controller: no forge")
	}
	if options.ControlPlane.Repo == "" {
		return nil, errors.New("controller: no control plane repository")
	}
	if options.ControlPlane.Branch == "" {
		options.ControlPlane.Branch = "main"
	}
	if options.Poll <= 0 {
		options.Poll = DefaultPoll
	}
	if options.Log == nil {
		options.Log = slog.Default()
	}
	if options.Metrics == nil {
		options.Metrics = NewMetrics()
	}
	if options.Pool == nil {
		options.Pool = new(model.Pool)
	}
	w := &Controller{
		options:      options,
		name:         nameOf(options.Forge, options.ControlPlane),
		log:          options.Log,
		wake:         newSignal(),
		environments: map[string]*environment{},
		ended:        map[string]<-chan struct{}{},
		control: ControlPlaneStatus{
			Repo: redacted(options.ControlPlane.Repo), Branch: options.ControlPlane.Branch, Path: options.ControlPlane.Path,
		},
	}
	if options.Leader != nil {
		var err error
		if w.lease, err = w.newLease(options.Leader); err != nil {
			return nil, fmt.Errorf("controller: %w", err)
		}
	}
	options.Metrics.follow(w)
	return w, nil
}

// nameOf is what a control plane is called, as in acme/control-plane@main.
func nameOf(f forge.Forge, at model.Reference) string {
	name, ok := f.Repo(at.Repo)
	if !ok {
		name = redacted(at.Repo)
	}
	name += "@" + at.Branch
	if folder := strings.Trim(path.Clean("/"+at.Path), "/"); folder != "" {
		name += ":" + folder
	}
	return name
}

// lead follows the environments until ctx ends.
func (c *Controller) lead(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	running.Go(func() { c.polls(ctx) })
	for failures := 0; ; {
		var retry <-chan time.Time
		if err := c.discover(ctx, &running); err != nil {
			failures++
			retry = time.After(backoff(failures))
		} else {
			failures = 0
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.wake:
			failures = 0
		case <-retry:
		}
	}
}

// redacted is a clone URL without a password.
func redacted(cloneURL string) string {
	u, err := url.Parse(cloneURL)
	if err != nil {
		return ""
	}
	return u.Redacted()
}

// signal holds at most one piece of news: whoever hears it looks at
// everything.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

func (s signal) set() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// backoff is how long to wait after so many failures in a row.
func backoff(failures int) time.Duration {
	const longest = time.Minute
	if failures > 6 {
		return longest
	}
	return min(time.Second<<(failures-1), longest)
}
