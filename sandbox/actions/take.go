package actions

import (
	"context"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"connectrpc.com/connect"
)

// pokedPause is the first of the pauses after a poke; each is twice the one
// before, until they are the usual ones again.
const pokedPause = 100 * time.Millisecond

// Poke makes the runner ask for work, and for cancels, at once and a few times
// within the next seconds: a push is told some time before the forge has made
// jobs of it. It never waits.
func (r *Runner) Poke() {
	select {
	case r.poked <- struct{}{}:
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, job := range r.running {
		job.report.now()
	}
}

// fetch asks for work until ctx ends, or the forge lets this runner in no more.
func (r *Runner) fetch(ctx context.Context) error {
	var version int64 // of the forge's tasks, when there was none for this runner
	pause := time.Duration(r.Config.Poll)
	for ctx.Err() == nil {
		select {
		case r.slots <- struct{}{}:
		default:
			version = 0 // whatever comes in the meantime must not be missed
			select {
			case <-ctx.Done():
				return nil
			case r.slots <- struct{}{}:
			}
		}
		t, next, err := r.ask(ctx, version)
		if t != nil {
			r.begin(ctx, newTask(t))
			version = 0
			continue
		}
		<-r.slots
		version = next
		if err != nil {
			version = 0
			if unknown(err) && ctx.Err() == nil {
				if err := r.makeKnown(ctx); err != nil {
					return err
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			pause = min(2*pause, time.Duration(r.Config.Poll))
		case <-r.poked:
			pause = min(pokedPause, time.Duration(r.Config.Poll))
		}
	}
	return nil
}

// ask asks for one task. The end of ctx does not cut the question off: a task
// that the forge has handed out would be lost.
func (r *Runner) ask(ctx context.Context, version int64) (*runnerv1.Task, int64, error) {
	answer, err := r.client.FetchTask(context.WithoutCancel(ctx), connect.NewRequest(&runnerv1.FetchTaskRequest{TasksVersion: version}))
	r.heard(err)
	if err != nil {
		return nil, 0, err
	}
	return answer.Msg.GetTask(), answer.Msg.GetTasksVersion(), nil
}

// heard notes how the forge has answered; trouble is logged when it begins.
func (r *Runner) heard(err error) {
	r.mu.Lock()
	before := r.trouble
	r.trouble = err
	if err == nil {
		r.contact = time.Now()
	}
	r.mu.Unlock()
	switch {
	case err != nil && before == nil:
		r.Log.Warn("the forge does not answer", "error", err)
	case err == nil && before != nil:
		r.Log.Info("the forge answers again")
	}
}
