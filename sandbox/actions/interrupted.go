package actions

import (
	"context"
	"errors"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// interruption is the last line of the log of a job whose runner was killed.
const interruption = "::error::The runner ended in the middle of this job."

// closeInterrupted tells the forge of the tasks of a runner that was killed.
func (r *Runner) closeInterrupted(ctx context.Context) error {
	states, recs, err := r.records().interrupted()
	if err != nil {
		return err
	}
	for i, state := range states {
		r.mu.Lock()
		_, ours := r.running[state.GetId()]
		r.mu.Unlock()
		if ours {
			continue
		}
		if err := r.closeOne(ctx, state, recs[i]); err != nil {
			r.Log.Warn("an interrupted job could not be shown as failed", "job", recs[i].Label, "error", err)
		}
	}
	return nil
}

func (r *Runner) closeOne(ctx context.Context, state *runnerv1.TaskState, rec record) error {
	if state.GetResult() == runnerv1.Result_RESULT_UNSPECIFIED {
		r.Log.Info("a job was interrupted when the runner ended", "job", rec.Label)
		if err := r.interruptedState(ctx, state); err != nil {
			r.Log.Warn("the log of an interrupted job", "job", rec.Label, "error", err)
		}
	}
	err := closeTask(ctx, r.client, r.records(), state, rec.Outputs)
	if err != nil && !answered(err) {
		return err // it will be told at the next start
	}
	return errors.Join(err, newFolders(r.jobFolder(state.GetId())).remove())
}

// interruptedState makes the state of a task, as it was told last, one that
// has ended: what ran has failed, what was to come is cancelled. It says so in
// the log, too.
func (r *Runner) interruptedState(ctx context.Context, state *runnerv1.TaskState) error {
	now := timestamppb.Now()
	var last *runnerv1.StepState
	for _, s := range state.GetSteps() {
		switch {
		case s.GetResult() != runnerv1.Result_RESULT_UNSPECIFIED:
		case s.GetStartedAt() != nil:
			s.Result, s.StoppedAt, last = runnerv1.Result_RESULT_FAILURE, now, s
		default:
			s.Result, s.StartedAt, s.StoppedAt = runnerv1.Result_RESULT_CANCELLED, now, now
		}
	}
	state.Result, state.StoppedAt = runnerv1.Result_RESULT_FAILURE, now

	var lines int64 // that the forge has
	ask := &runnerv1.UpdateLogRequest{TaskId: state.GetId()}
	err := untilAnswered(ctx, func() error {
		answer, err := r.client.UpdateLog(ctx, connect.NewRequest(ask))
		if err == nil {
			lines = answer.Msg.GetAckIndex()
		}
		return err
	})
	if err != nil {
		return err
	}
	if last != nil {
		last.LogLength = lines + 1 - last.LogIndex
	}
	end := &runnerv1.UpdateLogRequest{
		TaskId: state.GetId(), Index: lines, NoMore: true,
		Rows: []*runnerv1.LogRow{{Time: now, Content: interruption}},
	}
	return untilAnswered(ctx, func() error {
		_, err := r.client.UpdateLog(ctx, connect.NewRequest(end))
		return err
	})
}
