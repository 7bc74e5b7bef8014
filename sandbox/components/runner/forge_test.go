package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"code.gitea.io/actions-proto-go/runner/v1/runnerv1connect"
	"connectrpc.com/connect"
	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/types/known/structpb"
)

// TestMain lets the test binary be the process of the tests' jobs, which do not
// wait as long as GitHub's.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "job" {
		grace[0], grace[1] = 300*time.Millisecond, 300*time.Millisecond
		if err := runJob(os.Stdin, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// waitFor waits until try has no error.
func waitFor(t *testing.T, what string, limit time.Duration, try func() error) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("no %s after %s: %v", what, limit, err)
		case <-tick.C:
		}
	}
}

// forge behaves towards a runner as Gitea does.
type forge struct {
	runnerv1connect.UnimplementedRunnerServiceHandler
	t   *testing.T
	url string

	mu       sync.Mutex
	runners  []string
	waiting  []*runnerv1.Task
	version  int64
	tasks    map[int64]*given
	asked    int
	refuse   error             // answer to everything
	workflow map[string]string // files of the repository
}

// given is a task that a runner has got.
type given struct {
	runner  string
	lines   []string
	closed  bool // log
	state   *runnerv1.TaskState
	outputs map[string]string
	cancel  bool
}

func newForge(t *testing.T) *forge {
	f := &forge{t: t, version: 1, tasks: map[int64]*given{}, workflow: map[string]string{}}
	mux := http.NewServeMux()
	path, handler := runnerv1connect.NewRunnerServiceHandler(f)
	mux.Handle("/api/actions"+path, http.StripPrefix("/api/actions", handler))
	mux.HandleFunc("/api/v1/repos/org/app/raw/", func(w http.ResponseWriter, q *http.Request) {
		content, ok := f.workflow[strings.TrimPrefix(q.URL.Path, "/api/v1/repos/org/app/raw/")]
		if !ok || q.Header.Get("Authorization") != "token job-token" || q.URL.Query().Get("ref") != "abc" {
			http.NotFound(w, q)
			return
		}
		_, _ = w.Write([]byte(content))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func (f *forge) known(h http.Header) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return "", f.refuse
	}
	id := h.Get("x-runner-uuid")
	if !slices.Contains(f.runners, id) || h.Get("x-runner-token") != "secret of "+id {
		return "", errors.New("rpc error: code = Unauthenticated desc = unregistered runner")
	}
	return id, nil
}

func (f *forge) Register(_ context.Context, q *connect.Request[runnerv1.RegisterRequest]) (*connect.Response[runnerv1.RegisterResponse], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if q.Msg.Token != "let me in" {
		return nil, errors.New("runner registration token not found")
	}
	id := "runner-" + string(rune('a'+len(f.runners)))
	f.runners = append(f.runners, id)
	return connect.NewResponse(&runnerv1.RegisterResponse{Runner: &runnerv1.Runner{Uuid: id, Token: "secret of " + id}}), nil
}

func (f *forge) Declare(_ context.Context, q *connect.Request[runnerv1.DeclareRequest]) (*connect.Response[runnerv1.DeclareResponse], error) {
	_, err := f.known(q.Header())
	return connect.NewResponse(&runnerv1.DeclareResponse{}), err
}

func (f *forge) FetchTask(_ context.Context, q *connect.Request[runnerv1.FetchTaskRequest]) (*connect.Response[runnerv1.FetchTaskResponse], error) {
	id, err := f.known(q.Header())
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	answer := &runnerv1.FetchTaskResponse{TasksVersion: f.version}
	if len(f.waiting) > 0 && q.Msg.TasksVersion != f.version {
		answer.Task, f.waiting = f.waiting[0], f.waiting[1:]
		f.tasks[answer.Task.Id] = &given{runner: id, outputs: map[string]string{}}
	}
	return connect.NewResponse(answer), nil
}

func (f *forge) UpdateTask(_ context.Context, q *connect.Request[runnerv1.UpdateTaskRequest]) (*connect.Response[runnerv1.UpdateTaskResponse], error) {
	id, err := f.known(q.Header())
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.tasks[q.Msg.State.Id]
	if g == nil || g.runner != id {
		return nil, errors.New("invalid runner for task")
	}
	answer := &runnerv1.TaskState{Id: q.Msg.State.Id}
	if g.cancel {
		answer.Result = runnerv1.Result_RESULT_CANCELLED
	}
	if g.state.GetResult() == runnerv1.Result_RESULT_UNSPECIFIED {
		g.state = q.Msg.State
		maps.Copy(g.outputs, q.Msg.Outputs)
	}
	return connect.NewResponse(&runnerv1.UpdateTaskResponse{State: answer}), nil
}

func (f *forge) UpdateLog(_ context.Context, q *connect.Request[runnerv1.UpdateLogRequest]) (*connect.Response[runnerv1.UpdateLogResponse], error) {
	id, err := f.known(q.Header())
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.tasks[q.Msg.TaskId]
	if g == nil || g.runner != id {
		return nil, errors.New("invalid runner for task")
	}
	ack := int64(len(g.lines))
	if len(q.Msg.Rows) == 0 || q.Msg.Index > ack || q.Msg.Index+int64(len(q.Msg.Rows)) <= ack {
		return connect.NewResponse(&runnerv1.UpdateLogResponse{AckIndex: ack}), nil
	}
	if g.closed {
		return nil, connect.NewError(connect.CodeAlreadyExists, errors.New("log file has been archived"))
	}
	for _, row := range q.Msg.Rows[ack-q.Msg.Index:] {
		g.lines = append(g.lines, row.Content)
	}
	g.closed = q.Msg.NoMore
	return connect.NewResponse(&runnerv1.UpdateLogResponse{AckIndex: int64(len(g.lines))}), nil
}

// give puts a job into the queue.
func (f *forge) give(id int64, workflow string, change func(*runnerv1.Task)) {
	c, err := structpb.NewStruct(map[string]any{
		"repository": "org/app", "repository_owner": "org", "workflow": "ci.yaml", "sha": "abc", "ref": "refs/heads/main", "ref_name": "main",
		"event_name": "workflow_dispatch", "run_id": "7", "run_number": "3", "server_url": f.url + "/", "api_url": f.url + "/api/v1", "token": "job-token",
		"event": map[string]any{"inputs": map[string]any{"dry": "true", "target": "dev", "count": "2"}},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	var w map[string]any
	if yaml.Unmarshal([]byte(workflow), &w) == nil {
		jobs, _ := w["jobs"].(map[string]any)
		for _, job := range jobs {
			job.(map[string]any)["runs-on"] = "host" // the forge gives out no other jobs
		}
		b, err := yaml.Marshal(w)
		if err != nil {
			f.t.Fatal(err)
		}
		workflow = string(b)
	}
	task := &runnerv1.Task{Id: id, WorkflowPayload: []byte(workflow), Context: c, Secrets: map[string]string{"GITHUB_TOKEN": "job-token"}}
	if change != nil {
		change(task)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting, f.version = append(f.waiting, task), f.version+1
}

// task returns what the forge knows of a task, by a copy.
func (f *forge) task(id int64) (g given, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tasks[id] == nil {
		return given{}, false
	}
	g = *f.tasks[id]
	g.lines = slices.Clone(g.lines)
	return g, true
}

// ended waits for a task's end.
func (f *forge) ended(id int64) (g given) {
	f.t.Helper()
	waitFor(f.t, "end of the task", 20*time.Second, func() error {
		g, _ = f.task(id)
		if g.state.GetResult() == runnerv1.Result_RESULT_UNSPECIFIED {
			return errors.New("it runs; its log: " + strings.Join(g.lines, "\n"))
		}
		return nil
	})
	return g
}

// says waits until a task's log has a line.
func (f *forge) says(id int64, line string) {
	f.t.Helper()
	waitFor(f.t, "line "+line, 20*time.Second, func() error {
		if g, _ := f.task(id); !slices.Contains(g.lines, line) {
			return errors.New(strings.Join(g.lines, "\n"))
		}
		return nil
	})
}

func (g given) log() string { return strings.Join(g.lines, "\n") }

func (g given) results() []string {
	var all []string
	for _, s := range g.state.GetSteps() {
		all = append(all, resultName(s.GetResult()))
	}
	return all
}

// step is the log of one step, as the forge cuts it out.
func (g given) step(i int) string {
	s := g.state.Steps[i]
	return strings.Join(g.lines[s.LogIndex:s.LogIndex+s.LogLength], "\n")
}

func runnerConfig(t *testing.T, f *forge) config {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := config{
		URL: f.url, Dir: scratch(t), RegistrationToken: "let me in", Program: self,
		Poll: 20 * time.Millisecond, Listen: "127.0.0.1:0", Secret: "hook",
	}
	if err := os.Chmod(c.Dir, 0o700); err != nil { // as a sandbox's home
		t.Fatal(err)
	}
	if os.Geteuid() == 0 && runtime.GOOS == "linux" {
		c.User = 61000
	}
	return c
}

// scratch is a folder for files of steps, whose user it need not belong to.
func scratch(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// start runs a runner until the test ends, or stop is called.
func start(t *testing.T, c config) (r *runner, stop func()) {
	t.Helper()
	r = newRunner(c, slog.New(slog.NewTextHandler(t.Output(), nil)))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(15 * time.Second):
			t.Error("the runner does not stop")
		}
	})
	t.Cleanup(stop)
	return r, stop
}
