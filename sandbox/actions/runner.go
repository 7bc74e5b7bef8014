package actions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"code.gitea.io/actions-proto-go/runner/v1/runnerv1connect"
)

// Runner takes jobs from the forge and runs them.
type Runner struct {
	Config Config
	// Token supplies the registration token; nil to take the configuration's.
	Token func(ctx context.Context) (string, error)
	Log   *slog.Logger

	client runnerv1connect.RunnerServiceClient
	poked  chan struct{}
	slots  chan struct{} // one element per job that runs
	grace  grace
	jobs   sync.WaitGroup

	mu      sync.Mutex
	id      identity
	contact time.Time // of the last answer to a question for work
	trouble error     // since then
	running map[int64]*running
}

// running is a job that this runner runs now.
type running struct {
	label  string
	began  time.Time
	report *report
}

// New makes a runner.
func New(c Config, log *slog.Logger) (*Runner, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	r := &Runner{
		Config: c, Log: log, poked: make(chan struct{}, 1), slots: make(chan struct{}, c.Capacity), running: map[int64]*running{},
		grace: usualGrace,
	}
	r.client = newClient(c.URL, r.current)
	return r, nil
}

func (r *Runner) current() identity {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

func (r *Runner) become(id identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id = id
}

// stopLimit is how long the ends of jobs may take to be told when the runner
// stops. What cannot be told then is told by the next start.
const stopLimit = 4 * time.Second

// Run takes and runs jobs until ctx ends. Jobs that run then are ended, and
// shown as failed. A forge that does not answer is asked again and again; one
// that refuses the registration token is an error, since another is needed.
func (r *Runner) Run(ctx context.Context) error {
	id, err := r.loadIdentity()
	if err != nil {
		return err
	}
	r.become(id)
	if err := r.makeKnown(ctx); err != nil {
		return err
	}
	err = r.fetch(ctx)
	r.jobs.Wait()
	return err
}

// makeKnown introduces the runner, and tells the ends of tasks that an earlier
// one has not told.
func (r *Runner) makeKnown(ctx context.Context) error {
	refused := 0
	for pause := retryFirst; ; pause = min(2*pause, retryLast) {
		err := r.introduce(ctx)
		if err == nil {
			break
		}
		r.heard(err)
		if answered(err) {
			refused++
		}
		if refused == mostRefusals {
			return err
		}
		r.Log.Warn("the forge does not know this runner yet", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
	r.heard(nil)
	r.Log.Info("the forge knows this runner", "forge", r.Config.URL, "uuid", r.current().UUID)
	return r.closeInterrupted(ctx)
}

// Ready returns nil when the forge knows this runner and has answered lately.
func (r *Runner) Ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.trouble != nil:
		return r.trouble
	case r.contact.IsZero():
		return errors.New("the forge has not been asked yet")
	case time.Since(r.contact) > time.Duration(r.Config.Poll)+callLimit && len(r.running) < r.Config.Capacity:
		return fmt.Errorf("the forge has not answered for %s", time.Since(r.contact).Round(time.Second))
	}
	return nil
}

func (r *Runner) records() records { return records(filepath.Join(r.Config.Dir, "tasks")) }

func (r *Runner) jobFolder(id int64) string {
	return filepath.Join(r.Config.Dir, "jobs", fmt.Sprint(id))
}
