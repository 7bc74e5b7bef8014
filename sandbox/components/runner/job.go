package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"github.com/nektos/act/pkg/exprparser"
	"github.com/nektos/act/pkg/model"
	act "github.com/nektos/act/pkg/runner"
	"github.com/sirupsen/logrus"
	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/encoding/protojson"
)

const (
	// jobTimeout is for jobs that name none.
	jobTimeout = time.Hour
	// afterCancel is for all steps that run although the job is to end, and
	// afterStop for the end of the step that runs when the runner is to stop.
	afterCancel = 5 * time.Minute
	afterStop   = 3 * time.Second
	// reportLimit is how long the end of a job may take to be reported when the
	// runner stops. What cannot be reported then, the next start reports.
	reportLimit = 4 * time.Second
	// endLimit is how long processes may take to be gone once they have been
	// killed: what waits for a disk ends only when the disk has answered.
	endLimit = 5 * time.Second
)

var errProcessesLeft = fmt.Errorf("processes of the job do not end after %s", endLimit)

// Why a job or step ends before its time.
var (
	errCancelled = errors.New("the job has been cancelled")
	errStopped   = errors.New("the runner has been stopped")
)

// job is one task, in the process that runs it.
type job struct {
	assignment
	task      *runnerv1.Task
	workflow  *model.Workflow
	id        string
	model     *model.Job
	act       *act.Config
	dir       string
	log       *slog.Logger
	mask      mask
	console   *console
	report    *report
	abandoned chan struct{} // closed when the steps are not waited for any more

	mu         sync.Mutex
	result     string // of the library
	cause      error  // why the job is to end; nil while it is not
	restricted bool   // the rest of the steps knows of the cause
	logged     bool   // the log has the cause
	step       int    // that runs; -1 for none
	steps      []stepProgress
}

// runJob is the whole work of a job's process.
func runJob(in io.Reader, log *slog.Logger) error {
	orders := bufio.NewReader(in)
	line, err := orders.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the assignment: %w", err)
	}
	j := &job{task: &runnerv1.Task{}, log: log, step: -1, abandoned: make(chan struct{})}
	if err := json.Unmarshal(line, &j.assignment); err != nil {
		return fmt.Errorf("read the assignment: %w", err)
	}
	if err := protojson.Unmarshal(j.Task, j.task); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	if err := adoptOrphans(); err != nil {
		return err
	}
	r := newRunner(j.Config, log)
	r.become(j.Identity)
	j.dir = r.jobFolder(j.task.Id)
	record, err := os.OpenFile(r.records().file(j.task.Id), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	invalid := j.Config.dropRights(j.dir)
	if invalid != nil {
		invalid = fmt.Errorf("the job cannot run as user %d: %w", j.Config.User, invalid)
	} else if j.workflow, j.id, invalid = readWorkflow(j.task); invalid == nil {
		j.model = j.workflow.Jobs[j.id]
		invalid = checkJob(j.model)
	}
	if invalid == nil {
		j.steps = make([]stepProgress, len(j.model.Steps))
	}
	j.report = newReport(r.client, record, log, j.task.Id, len(j.steps), func() { j.end(errCancelled, afterCancel) })
	reporting, stopReporting := context.WithCancel(context.Background())
	defer stopReporting()
	go j.obey(orders, stopReporting)
	return j.run(reporting, invalid)
}

// obey follows the runner's orders. When the runner is gone, all is killed; the
// next runner reports the job as failed.
func (j *job) obey(orders *bufio.Reader, stopReporting func()) {
	for {
		order, err := orders.ReadString('\n')
		switch {
		case err != nil:
			j.report.mu.Lock() // for ever: nothing is reported beside the next runner
			_ = endProcesses(j.dir, func(int) bool { return false })
			os.Exit(1)
		case order == "stop\n":
			j.end(errStopped, afterStop)
			time.AfterFunc(afterStop+reportLimit, stopReporting)
		}
		j.report.now()
	}
}

// run runs the job and reports how it goes. The end is reported however long it
// takes, but a runner that stops does not wait for a forge that is gone.
func (j *job) run(reporting context.Context, invalid error) error {
	began := time.Now()
	sending, stop := context.WithCancel(reporting)
	var sender sync.WaitGroup
	sender.Go(func() { j.report.send(sending) })
	j.mask.add(j.text("token"))
	j.mask.add(j.text("gitea_runtime_token"))
	for _, secrets := range []map[string]string{j.task.Secrets, j.Config.SecretEnv} {
		for _, value := range secrets {
			j.mask.add(value)
		}
	}
	result, outputs := failure, map[string]string(nil)
	if invalid != nil {
		j.fail(invalid)
	} else {
		result, outputs = j.perform()
	}
	for i, s := range j.steps {
		if s.result == "" { // it has not come to that
			j.report.stepEnded(i, cmp.Or(map[string]string{skipped: skipped}[result], cancelled))
		}
	}
	err := endProcesses(j.dir, func(int) bool { return false })
	if err == nil {
		err = removeContent(j.dir)
	}
	if err != nil {
		j.say("::warning::" + err.Error())
	}
	stop()
	sender.Wait()
	j.report.last(fmt.Sprintf("Job: %s after %s", result, time.Since(began).Round(10*time.Millisecond)))
	return j.report.finish(reporting, result, outputs)
}

// removeContent leaves the folder itself, which the runner removes.
func removeContent(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		err = errors.Join(err, removeAll(filepath.Join(dir, entry.Name())))
	}
	return err
}

// text is a text of the github context.
func (j *job) text(name string) string { return text(j.task, name) }

// say adds lines of the runner's own to the log.
func (j *job) say(lines string) {
	for line := range strings.Lines(lines) {
		j.line(-1, strings.TrimRight(line, "\r\n"))
	}
}

func (j *job) fail(err error) {
	for line := range strings.Lines(err.Error()) {
		j.line(-1, "::error::"+strings.TrimRight(line, "\n"))
	}
}

// perform runs the job's steps and returns its result and outputs.
func (j *job) perform() (result string, outputs map[string]string) {
	defer func() { // the library panics on some mistakes in a workflow
		if p := recover(); p != nil {
			j.fail(fmt.Errorf("%v", p))
			result, outputs = failure, nil
		}
	}()
	j.say(fmt.Sprintf("Job %s of %s, run %s of %s at %s", j.id, j.workflow.Name, j.text("run_number"), j.text("repository"), j.text("sha")))
	limit, err := j.prepare()
	if err != nil {
		j.fail(err)
		return failure, nil
	}
	runner, err := act.New(j.act)
	if err != nil {
		j.fail(err)
		return failure, nil
	}
	defer time.AfterFunc(limit, func() { j.end(&timeoutError{"job", limit}, afterCancel) }).Stop()
	// The library gets no end of the job by its context: it would leave out all
	// steps that are to run in spite of it.
	ctx := act.WithJobLoggerFactory(context.Background(), j)
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("%v", p)
			}
		}()
		done <- runner.NewPlanExecutor(j.plan())(ctx)
	}()
	select {
	case err = <-done:
	case <-j.abandoned:
		err = errors.New("the steps of the job do not end")
	}
	return j.conclude(err)
}

func (j *job) plan() *model.Plan {
	return &model.Plan{Stages: []*model.Stage{{Runs: []*model.Run{{Workflow: j.workflow, JobID: j.id}}}}}
}

// prepare makes the job's folders, and the library's configuration. It returns
// the job's time limit.
func (j *job) prepare() (limit time.Duration, err error) {
	syscall.Umask(0o077)
	for _, name := range []string{"work", "home", "tmp", "bin", "act"} {
		if err := os.MkdirAll(filepath.Join(j.dir, name), 0o700); err != nil {
			return 0, err
		}
	}
	if err := os.Symlink(j.Config.Program, filepath.Join(j.dir, "bin", "kalypso")); err != nil {
		return 0, err
	}
	if j.console, err = openConsole(filepath.Join(j.dir, "console"), func(line string) { j.line(j.running(), line) }); err != nil {
		return 0, err
	}
	if err := j.configure(); err != nil {
		return 0, err
	}
	if err := j.checkMatrix(); err != nil {
		return 0, err
	}
	limit, err = minutes(j.evaluate(j.model.TimeoutMinutes))
	if limit == 0 {
		limit = jobTimeout
	}
	for i, s := range j.model.Steps {
		var bad error
		// the library knows whole minutes only, and kills what takes longer at once
		if j.steps[i].limit, bad = minutes(j.evaluate(s.TimeoutMinutes)); bad != nil {
			err = errors.Join(err, fmt.Errorf("step %d: %w", i+1, bad))
		}
		s.TimeoutMinutes = ""
		if s.Run == "" {
			continue
		}
		shell := cmp.Or(s.Shell, j.model.Defaults.Run.Shell, j.workflow.Defaults.Run.Shell)
		if s.Shell, bad = shellCommand(j.evaluate(shell), j.console.pipe.Name()); bad != nil {
			err = errors.Join(err, fmt.Errorf("step %d: %w", i+1, bad))
		}
	}
	// the library would panic
	if _, bad := act.EvalBool(context.Background(), j.evaluator(), j.model.If.Value, exprparser.DefaultStatusCheckSuccess); bad != nil {
		err = errors.Join(err, fmt.Errorf("if: %w", bad))
	}
	return limit, err
}

// configure makes the library's configuration. What a workflow may set as well
// is in this process's environment, which the library passes on.
func (j *job) configure() error {
	logrus.SetOutput(os.Stderr)
	logrus.SetLevel(logrus.ErrorLevel)
	model.OnDecodeNodeError = func(node yaml.Node, _ any, err error) { // instead of the end of this process
		panic(fmt.Errorf("workflow: line %d: %w", node.Line, err))
	}
	event := j.task.GetContext().GetFields()["event"].GetStructValue().AsMap()
	eventJSON, err := json.Marshal(event)
	if err != nil {
		return err
	}
	everything := logrus.DebugLevel // the ends of steps that are left out
	j.act = &act.Config{
		Workdir: filepath.Join(j.dir, "work"), ActionCacheDir: filepath.Join(j.dir, "act"),
		ActionCache: actions{}, NoSkipCheckout: true, AutoRemove: true, LogOutput: true, JobLoggerLevel: &everything,
		PlatformPicker: func([]string) string { return "-self-hosted" }, // this machine
		EventName:      j.text("event_name"), EventJSON: string(eventJSON),
		GitHubInstance: strings.TrimSuffix(j.text("server_url"), "/"), Token: j.text("token"),
		PresetGitHubContext: &model.GithubContext{
			Event: event, EventName: j.text("event_name"), Actor: j.text("actor"), Token: j.text("token"),
			RunID: j.text("run_id"), RunNumber: j.text("run_number"), RunAttempt: j.text("run_attempt"),
			Repository: j.text("repository"), RepositoryOwner: j.text("repository_owner"), Sha: j.text("sha"),
			Ref: j.text("ref"), RefName: j.text("ref_name"), RefType: j.text("ref_type"),
			HeadRef: j.text("head_ref"), BaseRef: j.text("base_ref"),
		},
		Vars: inEnvironment(j.task.Vars, ""), Secrets: inEnvironment(j.task.Secrets, ""),
	}
	environment, err := j.environment()
	if err != nil {
		return err
	}
	j.act.Vars, j.act.Secrets = inEnvironment(j.task.Vars, environment), inEnvironment(j.task.Secrets, environment)
	return nil
}

// evaluator knows what is known before the first step runs.
func (j *job) evaluator() act.ExpressionEvaluator {
	c := act.RunContext{Config: j.act, Run: j.plan().Stages[0].Runs[0], StepResults: map[string]*model.StepResult{}, EventJSON: j.act.EventJSON}
	if cells, err := j.model.GetMatrixes(); err == nil && len(cells) > 0 {
		c.Matrix = cells[0]
	}
	return c.NewExpressionEvaluator(context.Background())
}

func (j *job) evaluate(text string) string {
	return j.evaluator().Interpolate(context.Background(), text)
}

// conclude decides the job's result when its steps are through. What they have
// put out is reported however the job ends.
func (j *job) conclude(err error) (string, map[string]string) {
	j.mu.Lock()
	result, cause, logged := j.result, j.cause, j.logged
	j.mu.Unlock()
	if result == "" && err != nil {
		j.fail(err)
	}
	if cause != nil && !logged {
		j.fail(cause)
	}
	outputs := j.outputs(result)
	switch {
	case result == skipped && cause == nil:
		return skipped, nil
	case errors.Is(cause, errCancelled):
		return cancelled, outputs
	case result == success && cause == nil:
		return success, outputs
	case !errors.Is(cause, errStopped) && j.mayFail():
		j.say("The job may fail: its result counts as success.")
		return success, outputs
	}
	return failure, outputs
}

// outputs are those that have no secret in them; the library has evaluated them
// if it has come to a result.
func (j *job) outputs(result string) map[string]string {
	if result == "" || result == skipped {
		return nil
	}
	outputs := maps.Clone(j.model.Outputs)
	for name, value := range outputs {
		if j.mask.hide(value) != value {
			j.say(fmt.Sprintf("::warning::The output %s is left out: there is a secret in it.", name))
			delete(outputs, name)
		}
	}
	return outputs
}

// mayFail reports whether the job's failure is to count as success.
func (j *job) mayFail() bool {
	o, err := j.original()
	if err != nil {
		j.say("::warning::continue-on-error of the job is not known: " + err.Error())
		return false
	}
	return strings.EqualFold(j.evaluate(o.ContinueOnError), "true")
}
