// Package controller is the scheduler's loop: events of repositories in, plans
// published.
//
// A Controller reads the Environment objects of the control plane's default
// branch and reconciles each environment on its own. A run of an environment is
//
//	promote (the first environment only) -> load the model -> plan -> publish
//
// and happens when a webhook reports a push to something that the last run has
// read, when a slow poll finds a head that the last run has not seen, after an
// error, and once in a while. The reasons meet in a work queue: events that come
// during a run make one more run, not one each. The rollouts of an environment are looked
// at apart from its runs, since they wait for clusters.
//
// A Controller has one control plane. A Server answers HTTP for one or several
// Controllers on one forge: it takes webhooks, and reports status and metrics.
// An Election chooses one of several processes. Serve makes all of it from a
// configuration file; RunOnce runs every environment once and ends.
package controller

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
)

const (
	// DefaultPoll is how often heads are compared when Options does not say.
	DefaultPoll = 30 * time.Second
	// resyncPolls is after how many polls an environment is run although no
	// head has changed: a comment on a pull request moves no head.
	resyncPolls = 20
	// runTimeout bounds one run of an environment.
	runTimeout = 10 * time.Minute

	// A run that has failed is repeated after firstRetry, then after twice as
	// long, up to lastRetry.
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// Options configure a Controller.
type Options struct {
	Forge        forge.Forge
	ControlPlane model.Reference // where the Environment objects are: repository, branch (main) and folder
	PromoteTo    string          // the environment that gets the default branch's commits; "" for none
	Poll         time.Duration   // DefaultPoll when zero
	Log          *slog.Logger    // slog.Default() when nil
	Metrics      *Metrics        // its own when nil
	// Pool is what the environments of several Controllers share; its own when nil.
	Pool *model.Pool
	// Election is what the Controller reports of a leader election; nil without one.
	Election *Election
	// Fleet is what rollouts wait for, nil where nobody can be asked, and Interval how often it
	// is asked meanwhile; DefaultInterval when zero.
	Fleet    fleet.Reader
	Interval time.Duration
}

// Controller reconciles the environments of one control plane.
type Controller struct {
	options Options
	name    string // for metrics and probes
	log     *slog.Logger
	driver  *driver.Driver // of rollouts

	queue atomic.Pointer[taskQueue] // nil when it does not run

	mu           sync.Mutex // for what follows, and for the environments' fields
	environments map[string]*environment
	control      ControlPlaneStatus
	severities   severities // of the control plane's problems
	known        problems
	reached      time.Time // when the forge has answered last
	settled      bool      // every environment that there was at first has had a run
}

// task is a key of the work queue: the name of an environment that is to be
// run, or one of those below, which no environment can be called.
type task string

const (
	discovery task = "/discovery" // of the environments
	polling   task = "/poll"
)

type taskQueue = workqueue.TypedRateLimitingInterface[task]

// New returns a Controller. It does nothing before Run, which looks at everything,
// so that no event before it is lost.
func New(options Options) (*Controller, error) {
	if options.Forge == nil {
		return nil, errors.New("controller: no forge")
	}
	if options.ControlPlane.Repo == "" {
		return nil, errors.New("controller: no control plane repository")
	}
	options.ControlPlane.Branch = cmp.Or(options.ControlPlane.Branch, "main")
	options.Poll = cmp.Or(options.Poll, DefaultPoll)
	options.Interval = cmp.Or(options.Interval, DefaultInterval)
	options.Log = redact.Logger(cmp.Or(options.Log, slog.Default()))
	options.Pool = cmp.Or(options.Pool, new(model.Pool))
	if options.Metrics == nil {
		options.Metrics = NewMetrics()
	}
	c := &Controller{
		options:      options,
		name:         nameOf(options.Forge, options.ControlPlane),
		log:          options.Log,
		driver:       driver.New(driver.Options{Forge: options.Forge, Fleet: options.Fleet, Grace: driver.DefaultGrace}),
		environments: map[string]*environment{},
		control: ControlPlaneStatus{
			Repo: redact.URL(options.ControlPlane.Repo), Branch: options.ControlPlane.Branch, Path: options.ControlPlane.Path,
		},
	}
	options.Metrics.follow(c)
	return c, nil
}

// nameOf is a control plane's name, as in acme/control-plane@main.
func nameOf(f forge.Forge, at model.Reference) string {
	name, ok := f.Repo(at.Repo)
	if !ok {
		name = redact.URL(at.Repo)
	}
	name += "@" + at.Branch
	if folder := strings.Trim(path.Clean("/"+at.Path), "/"); folder != "" {
		name += ":" + folder
	}
	return name
}

// Run reconciles the environments until ctx ends. It returns when every run has
// ended, with the reason that ctx ended for. It can be called again.
func (c *Controller) Run(ctx context.Context) error {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[task](firstRetry, lastRetry))
	c.start()
	defer c.stop()
	c.queue.Store(&queue)
	var running sync.WaitGroup
	defer running.Wait()
	defer context.AfterFunc(ctx, queue.ShutDown)()
	queue.Add(discovery)
	queue.AddAfter(polling, c.options.Poll)
	for {
		t, down := queue.Get()
		if down {
			return context.Cause(ctx)
		}
		running.Go(func() {
			defer queue.Done(t) // until then the queue hands t out to nobody else
			c.process(ctx, queue, t)
		})
	}
}

// start forgets what another process may have changed since the last Run.
func (c *Controller) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.environments, c.settled = map[string]*environment{}, false
	c.severities, c.known = nil, problems{}
}

func (c *Controller) stop() {
	c.queue.Store(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.environments {
		c.options.Pool.Leave(&e.loader)
	}
	if c.options.Election != nil {
		c.environments, c.severities = map[string]*environment{}, nil // it is for the leader to report them
	}
}

// process does a task, and adds it again for when it is to be repeated.
func (c *Controller) process(ctx context.Context, queue taskQueue, t task) {
	if ctx.Err() != nil {
		return
	}
	var err error
	var again time.Duration // never when zero
	switch t {
	case polling:
		c.poll(ctx)
		again = c.options.Poll
	case discovery:
		err = c.discover(ctx)
	default:
		if name, ok := t.rolloutOf(); ok {
			again, err = c.rollOut(ctx, name)
		} else if e := c.followed(string(t)); e != nil {
			err, again = c.run(ctx, e), resyncPolls*c.options.Poll
		}
	}
	if err != nil {
		queue.AddRateLimited(t)
		return
	}
	queue.Forget(t)
	if again > 0 {
		queue.AddAfter(t, again)
	}
}

// wake has a task done now, and makes the retries of one that has failed begin
// anew.
func (c *Controller) wake(t task) {
	if queue := c.queue.Load(); queue != nil {
		(*queue).Forget(t)
		(*queue).Add(t)
	}
}

// all are the environments that the control plane has. The lock must be held.
func (c *Controller) all() iter.Seq[*environment] {
	return func(yield func(*environment) bool) {
		for _, e := range c.environments {
			if !e.removed && !yield(e) {
				return
			}
		}
	}
}

// followed returns an environment by its name, nil when the control plane has
// none. One that was removed is forgotten here, where no run of it goes on.
func (c *Controller) followed(name string) *environment {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.environments[name]
	if e == nil || !e.removed {
		return e
	}
	delete(c.environments, name)
	c.options.Pool.Leave(&e.loader)
	c.options.Metrics.forget(c.name, name)
	return nil
}
