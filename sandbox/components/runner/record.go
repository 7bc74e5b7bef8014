package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"code.gitea.io/actions-proto-go/runner/v1/runnerv1connect"
	"connectrpc.com/connect"
	"github.com/google/renameio/v2"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// interruption is the last line of the log of a job whose process, or whose
// runner, has been killed.
const interruption = "::error::The runner ended in the middle of this job."

// records is a folder with a file per task that runs. The last whole line of it
// is what the forge got last, or is about to get. From it the next runner reports
// how a task ended that was interrupted. The job's process has the file open,
// since the folder is closed to the user that it runs as.
type records string

func (r records) file(id int64) string {
	return filepath.Join(string(r), strconv.FormatInt(id, 10)+".json")
}

// save begins a task's record.
func (r records) save(u *runnerv1.UpdateTaskRequest) error {
	b, err := protojson.Marshal(u)
	if err != nil {
		return err
	}
	return renameio.WriteFile(r.file(u.State.Id), b, 0o600)
}

// appendTo adds to a task's record what is so now.
func appendTo(record io.Writer, u *runnerv1.UpdateTaskRequest) error {
	b, err := protojson.Marshal(u)
	if err == nil {
		_, err = record.Write(append([]byte{'\n'}, b...))
	}
	return err
}

// ids are the tasks that have a record.
func (r records) ids() []int64 {
	files, _ := filepath.Glob(filepath.Join(string(r), "*.json"))
	var all []int64
	for _, file := range files {
		if id, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(file), ".json"), 10, 64); err == nil {
			all = append(all, id)
		}
	}
	return all
}

// load reads a task's record. One that cannot be read still names its task.
func (r records) load(id int64) *runnerv1.UpdateTaskRequest {
	b, _ := os.ReadFile(r.file(id))
	for _, line := range slices.Backward(bytes.Split(b, []byte{'\n'})) {
		u := &runnerv1.UpdateTaskRequest{}
		if protojson.Unmarshal(line, u) == nil && u.State != nil {
			u.State.Id = id
			return u
		}
	}
	return &runnerv1.UpdateTaskRequest{State: &runnerv1.TaskState{Id: id}}
}

// finish reports the end of a task.
func finish(ctx context.Context, c runnerv1connect.RunnerServiceClient, u *runnerv1.UpdateTaskRequest) error {
	if len(u.Outputs) > 0 {
		// Before the end: what needs this job starts as soon as it has ended.
		running := proto.CloneOf(u)
		running.State.Result, running.State.StoppedAt = runnerv1.Result_RESULT_UNSPECIFIED, nil
		if err := update(ctx, c, running); err != nil && !answered(err) {
			return err
		}
	}
	return update(ctx, c, u)
}

func update(ctx context.Context, c runnerv1connect.RunnerServiceClient, u *runnerv1.UpdateTaskRequest) error {
	return retry(ctx, func() error {
		_, err := c.UpdateTask(ctx, connect.NewRequest(u))
		return err
	})
}

// forget removes what is left of a task whose end the forge knows.
func (r *runner) forget(id int64) error {
	err := removeAll(r.jobFolder(id))
	if gone := os.Remove(r.records().file(id)); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// closeInterrupted reports the end of a task whose process could not.
func (r *runner) closeInterrupted(ctx context.Context, id int64) {
	u := r.records().load(id)
	if u.State.Result == runnerv1.Result_RESULT_UNSPECIFIED {
		r.log.Info("a job was interrupted", "task", id)
		if err := r.interrupt(ctx, u.State); err != nil {
			r.log.Warn("the log of an interrupted job cannot be closed", "task", id, "error", err)
		}
	}
	err := finish(ctx, r.client, u)
	if err == nil || answered(err) {
		err = errors.Join(err, r.forget(id))
	}
	if err != nil {
		r.log.Warn("an interrupted job cannot be reported as failed", "task", id, "error", err)
	}
}

// interrupt makes the last known state of a task one that has ended: what ran
// has failed, what was to come is cancelled. The log says so, too.
func (r *runner) interrupt(ctx context.Context, state *runnerv1.TaskState) error {
	now := timestamppb.Now()
	var last *runnerv1.StepState
	for _, s := range state.Steps {
		switch {
		case s.Result != runnerv1.Result_RESULT_UNSPECIFIED:
		case s.StartedAt != nil:
			s.Result, s.StoppedAt, last = runnerv1.Result_RESULT_FAILURE, now, s
		default:
			s.Result, s.StartedAt, s.StoppedAt = runnerv1.Result_RESULT_CANCELLED, now, now
		}
	}
	state.Result, state.StoppedAt = runnerv1.Result_RESULT_FAILURE, now

	var lines int64 // that the forge has; an empty update asks for it
	end := &runnerv1.UpdateLogRequest{TaskId: state.Id}
	send := func() error {
		answer, err := r.client.UpdateLog(ctx, connect.NewRequest(end))
		if err == nil {
			lines = answer.Msg.GetAckIndex()
		}
		return err
	}
	if err := retry(ctx, send); err != nil {
		return err
	}
	end.Index, end.NoMore, end.Rows = lines, true, []*runnerv1.LogRow{{Time: now, Content: interruption}}
	if last != nil {
		last.LogLength = lines + 1 - last.LogIndex
	}
	return retry(ctx, send)
}
