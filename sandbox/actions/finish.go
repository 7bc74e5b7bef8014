package actions

import (
	"context"
	"errors"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"code.gitea.io/actions-proto-go/runner/v1/runnerv1connect"
	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// finish tells the end, and tries until the forge has taken it or has refused
// it, or ctx ends. It must not run beside send. The record goes when the forge
// knows; else the next runner tells it.
func (r *report) finish(ctx context.Context, result string, outputs map[string]string) error {
	r.mu.Lock()
	r.state.Result, r.state.StoppedAt = resultOf(result), timestamppb.Now()
	err := r.records.save(r.label, r.state, outputs)
	r.mu.Unlock()
	if err != nil {
		r.log.Warn("a task's record cannot be written", "task", r.label, "error", err)
	}
	err = untilAnswered(ctx, func() error { return r.sendRows(ctx, true) })
	if err != nil && !answered(err) {
		return err
	}
	if err != nil {
		r.log.Warn("the forge refuses the rest of a task's log", "task", r.label, "error", err)
	}
	return closeTask(ctx, r.client, r.records, r.state, outputs)
}

// closeTask tells the end of a task and removes its record.
func closeTask(ctx context.Context, c runnerv1connect.RunnerServiceClient, recs records, state *runnerv1.TaskState, outputs map[string]string) error {
	if len(outputs) > 0 {
		// Before the end: what needs this job starts as soon as it has ended.
		running := proto.CloneOf(state)
		running.Result, running.StoppedAt = runnerv1.Result_RESULT_UNSPECIFIED, nil
		err := untilAnswered(ctx, func() error {
			_, err := c.UpdateTask(ctx, connect.NewRequest(&runnerv1.UpdateTaskRequest{State: running, Outputs: outputs}))
			return err
		})
		if err != nil && !answered(err) {
			return err
		}
	}
	err := untilAnswered(ctx, func() error {
		_, err := c.UpdateTask(ctx, connect.NewRequest(&runnerv1.UpdateTaskRequest{State: state, Outputs: outputs}))
		return err
	})
	if err != nil && !answered(err) {
		return err
	}
	return errors.Join(err, recs.remove(state.GetId()))
}

// untilAnswered calls the forge until it has answered, with growing pauses. An answer
// that is an error may come from a forge that is busy: it is asked again a few
// times.
func untilAnswered(ctx context.Context, call func() error) error {
	refused := 0
	for pause := retryFirst; ; pause = min(2*pause, retryLast) {
		err := call()
		if err == nil {
			return nil
		}
		if answered(err) {
			refused++
		}
		if refused == mostRefusals || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
