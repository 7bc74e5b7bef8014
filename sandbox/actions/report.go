package actions

import (
	"context"
	"fmt"
	"log/slog"
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
	// beat is how often the forge hears of a task that says nothing, and this
	// runner of a cancel.
	beat = time.Second

	maxWaiting = 20_000   // lines that wait for the forge before the job must wait
	maxBatch   = 1000     // lines of one call
	maxLog     = 64 << 20 // bytes of a job's log; what comes after is dropped

	// mostRefusals is how often an answer that is an error is taken for a forge
	// that is only busy.
	mostRefusals          = 3
	retryFirst, retryLast = 200 * time.Millisecond, 5 * time.Second
)

// report tells the forge how a task goes: its lines, the state of its steps,
// its end. A task's goroutines may use it at the same time.
type report struct {
	client  runnerv1connect.RunnerServiceClient
	records records
	label   string
	log     *slog.Logger
	cancel  func() // called when the forge wants the task to end
	poke    chan struct{}

	mu    sync.Mutex
	room  *sync.Cond
	rows  []*runnerv1.LogRow // that the forge has not yet
	first int64              // index of the first of them
	size  int                // bytes of all lines so far
	full  bool
	over  bool // lines must not wait for the forge
	state *runnerv1.TaskState
}

func newReport(c runnerv1connect.RunnerServiceClient, r records, log *slog.Logger, t task, steps int, cancel func()) *report {
	rep := &report{
		client: c, records: r, label: t.label(), log: log, cancel: cancel, poke: make(chan struct{}, 1),
		state: &runnerv1.TaskState{Id: t.ID, StartedAt: timestamppb.Now()},
	}
	rep.room = sync.NewCond(&rep.mu)
	for i := range steps {
		rep.state.Steps = append(rep.state.Steps, &runnerv1.StepState{Id: int64(i)})
	}
	return rep
}

// line adds a line, with secrets hidden already. It waits while too many lines
// wait for the forge.
func (r *report) line(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.rows) >= maxWaiting && !r.over {
		r.room.Wait()
	}
	if r.full {
		return
	}
	if r.size += len(text); r.size > maxLog {
		r.full = true
		text = fmt.Sprintf("::warning::The log has %d MiB: the rest is not kept.", maxLog>>20)
	}
	r.rows = append(r.rows, &runnerv1.LogRow{Time: timestamppb.Now(), Content: text})
}

// hurry lets lines wait no more, however many there are for the forge: the
// job is to end. What they can be is bounded by the size of a log.
func (r *report) hurry() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.room.Broadcast()
}

// last adds a line however full the log is.
func (r *report) last(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, &runnerv1.LogRow{Time: timestamppb.Now(), Content: text})
}

func (r *report) lines() int64 { return r.first + int64(len(r.rows)) }

func (r *report) stepStarted(i int) {
	r.step(i, func(s *runnerv1.StepState) { s.StartedAt, s.LogIndex = timestamppb.Now(), r.lines() })
}

func (r *report) stepEnded(i int, result string) {
	r.step(i, func(s *runnerv1.StepState) {
		s.Result, s.StoppedAt = resultOf(result), timestamppb.Now()
		if s.StartedAt == nil { // left out
			s.StartedAt, s.LogIndex = s.StoppedAt, r.lines()
		}
		s.LogLength = r.lines() - s.LogIndex
	})
}

func (r *report) step(i int, change func(*runnerv1.StepState)) {
	r.mu.Lock()
	change(r.state.Steps[i])
	err := r.records.save(r.label, r.state, nil)
	r.mu.Unlock()
	if err != nil {
		r.log.Warn("a task's record cannot be written", "task", r.label, "error", err)
	}
	r.now()
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
	told := time.Time{}
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
		if err == nil && (poked || time.Since(told) >= beat) {
			err = r.sendState(ctx)
			told = time.Now()
		}
		if err != nil && ctx.Err() == nil && !failing {
			r.log.Warn("the forge does not take a task's report; it is tried again", "task", r.label, "error", err)
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
		rows := r.rows
		if len(rows) > maxBatch {
			rows = rows[:maxBatch]
		}
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
		r.room.Broadcast()
		r.mu.Unlock()
	}
}

// sendState tells the state of a task that goes on, and hears of a cancel.
func (r *report) sendState(ctx context.Context) error {
	r.mu.Lock()
	state := proto.CloneOf(r.state)
	for _, s := range state.Steps { // the one that runs grows
		if s.StartedAt != nil && s.StoppedAt == nil {
			s.LogLength = r.lines() - s.LogIndex
		}
	}
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
