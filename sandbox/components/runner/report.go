package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"code.gitea.io/actions-proto-go/runner/v1/runnerv1connect"
	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	// reportPause is how long new lines wait for others to go with them.
	reportPause = 200 * time.Millisecond
	// beat is how often a task that prints nothing is reported to the forge, whose
	// answer has a cancel.
	beat = time.Second

	maxWaiting = 20_000   // lines that wait for the forge before the job must wait
	maxBatch   = 1000     // lines of one call
	maxLog     = 64 << 20 // bytes of a job's log; what comes after is dropped
)

// The results that a job or a step can have.
const (
	success   = "success"
	failure   = "failure"
	cancelled = "cancelled"
	skipped   = "skipped"
)

func resultName(r runnerv1.Result) string {
	return strings.ToLower(strings.TrimPrefix(r.String(), "RESULT_"))
}

func resultOf(name string) runnerv1.Result {
	return runnerv1.Result(runnerv1.Result_value["RESULT_"+strings.ToUpper(name)])
}

// report reports to the forge how a task goes: its lines, the state of its steps,
// its end. A job's goroutines may use it at the same time.
type report struct {
	client runnerv1connect.RunnerServiceClient
	record io.Writer
	log    *slog.Logger
	cancel func() // called when the forge wants the task to end
	poke   chan struct{}

	mu    sync.Mutex
	fewer *sync.Cond
	rows  []*runnerv1.LogRow // that the forge has not yet
	first int64              // index of the first of them
	size  int                // bytes of all lines so far
	over  bool               // lines must not wait for the forge
	state *runnerv1.TaskState
}

func newReport(c runnerv1connect.RunnerServiceClient, record io.Writer, log *slog.Logger, id int64, steps int, cancel func()) *report {
	rep := &report{
		client: c, record: record, log: log, cancel: cancel, poke: make(chan struct{}, 1),
		state: &runnerv1.TaskState{Id: id, StartedAt: timestamppb.Now()},
	}
	rep.fewer = sync.NewCond(&rep.mu)
	for i := range steps {
		rep.state.Steps = append(rep.state.Steps, &runnerv1.StepState{Id: int64(i)})
	}
	return rep
}

// line adds a line, with secrets hidden already, to the log of a step, or of
// none if it is -1. It waits while too many lines wait for the forge.
func (r *report) line(step int, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.rows) >= maxWaiting && !r.over {
		r.fewer.Wait()
	}
	if r.size > maxLog {
		return
	}
	if r.size += len(text); r.size > maxLog {
		text = fmt.Sprintf("::warning::The log has %d MiB: the rest is not kept.", maxLog>>20)
	}
	r.add(step, text)
}

// last adds a line however full the log is.
func (r *report) last(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(-1, text)
}

func (r *report) add(step int, text string) {
	r.rows = append(r.rows, &runnerv1.LogRow{Time: timestamppb.Now(), Content: text})
	if step >= 0 && r.state.Steps[step].StartedAt != nil {
		r.state.Steps[step].LogLength = r.lines() - r.state.Steps[step].LogIndex
	}
}

// hurry lets lines wait no more, however many there are for the forge: the
// job is to end. What they can be is bounded by the size of a log.
func (r *report) hurry() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.fewer.Broadcast()
}

func (r *report) lines() int64 { return r.first + int64(len(r.rows)) }

func (r *report) stepStarted(i int) {
	r.change(i, func(s *runnerv1.StepState) { s.StartedAt, s.LogIndex = timestamppb.Now(), r.lines() })
}

func (r *report) stepEnded(i int, result string) {
	r.change(i, func(s *runnerv1.StepState) {
		s.Result, s.StoppedAt = resultOf(result), timestamppb.Now()
		if s.StartedAt == nil { // it has not run
			s.StartedAt, s.LogIndex = s.StoppedAt, r.lines()
		}
	})
}

func (r *report) change(i int, change func(*runnerv1.StepState)) {
	r.mu.Lock()
	change(r.state.Steps[i])
	r.save(nil)
	r.mu.Unlock()
	r.now()
}

// save keeps the state on disk.
func (r *report) save(outputs map[string]string) {
	if err := appendTo(r.record, &runnerv1.UpdateTaskRequest{State: r.state, Outputs: outputs}); err != nil {
		r.log.Warn("a task's record cannot be written", "task", r.state.Id, "error", err)
	}
}

// now sends at once what there is.
func (r *report) now() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// send reports until ctx ends. What fails is tried again with the next beat.
func (r *report) send(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	sent := time.Time{}
	var failing bool
	for {
		poked := false
		select {
		case <-ctx.Done():
			return
		case <-r.poke:
			poked = true
		case <-timer.C:
		}
		err := r.sendRows(ctx, false)
		if err == nil && (poked || time.Since(sent) >= beat) {
			err = r.sendState(ctx)
			sent = time.Now()
		}
		if err != nil && ctx.Err() == nil && !failing {
			r.log.Warn("the forge does not take a task's report; it is tried again", "task", r.state.Id, "error", err)
		}
		failing = err != nil
		pause := reportPause
		if failing {
			pause = beat
		}
		timer.Reset(pause)
	}
}

// sendRows sends the lines that the forge does not have. With noMore it also
// closes the log, for which there must be a line to send.
func (r *report) sendRows(ctx context.Context, noMore bool) error {
	for {
		r.mu.Lock()
		rows := r.rows[:min(len(r.rows), maxBatch)]
		request := &runnerv1.UpdateLogRequest{TaskId: r.state.Id, Index: r.first, Rows: rows, NoMore: noMore && len(rows) == len(r.rows)}
		r.mu.Unlock()
		if len(rows) == 0 {
			return nil
		}
		response, err := r.client.UpdateLog(ctx, connect.NewRequest(request))
		if err != nil {
			return err
		}
		r.mu.Lock()
		taken := response.Msg.GetAckIndex() - r.first
		if taken <= 0 || taken > int64(len(r.rows)) {
			r.mu.Unlock()
			return fmt.Errorf("the forge has %d lines of the log, where there should be from %d to %d", response.Msg.GetAckIndex(), r.first, r.lines())
		}
		r.rows, r.first = r.rows[taken:], r.first+taken
		r.fewer.Broadcast()
		r.mu.Unlock()
	}
}

// sendState sends the state of a task that goes on, and learns of a cancel.
func (r *report) sendState(ctx context.Context) error {
	r.mu.Lock()
	state := proto.CloneOf(r.state)
	r.mu.Unlock()
	response, err := r.client.UpdateTask(ctx, connect.NewRequest(&runnerv1.UpdateTaskRequest{State: state}))
	if err != nil {
		return err
	}
	if response.Msg.GetState().GetResult() != runnerv1.Result_RESULT_UNSPECIFIED {
		r.cancel()
	}
	return nil
}

// finish reports the end, and tries until the forge has taken it or has refused
// it, or ctx ends. It must not run beside send. The runner removes the record when
// there is no error, and else reports the end itself.
func (r *report) finish(ctx context.Context, result string, outputs map[string]string) error {
	r.mu.Lock()
	r.state.Result, r.state.StoppedAt = resultOf(result), timestamppb.Now()
	r.save(outputs)
	r.mu.Unlock()
	err := retry(ctx, func() error { return r.sendRows(ctx, true) })
	if err != nil && !answered(err) {
		return err
	}
	if err != nil {
		r.log.Warn("the forge refuses the rest of a task's log", "task", r.state.Id, "error", err)
	}
	err = finish(ctx, r.client, &runnerv1.UpdateTaskRequest{State: r.state, Outputs: outputs})
	if answered(err) {
		r.log.Warn("the forge refuses the end of a task", "task", r.state.Id, "error", err)
		return nil
	}
	return err
}
