package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"code.gitea.io/actions-proto-go/runner/v1/runnerv1connect"
	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// pokedPause is the first pause after a poke; each is twice the one before,
// until they are the usual ones again.
const pokedPause = 100 * time.Millisecond

// runner takes tasks from the forge, and starts a process for each.
type runner struct {
	config config
	log    *slog.Logger
	client runnerv1connect.RunnerServiceClient
	poked  chan struct{}
	slots  chan struct{} // one element per job that runs
	jobs   sync.WaitGroup

	mu      sync.Mutex
	id      identity
	contact time.Time // of the last answer to a request for work
	trouble error     // since then
	running map[int64]process
}

// process runs one job.
type process struct {
	ID     int64     `json:"id"`  // of the task
	Job    string    `json:"job"` // REPOSITORY/WORKFLOW/JOB
	Began  time.Time `json:"began"`
	pid    int
	orders io.Writer
}

func newRunner(c config, log *slog.Logger) *runner {
	r := &runner{config: c, log: log, poked: make(chan struct{}, 1), slots: make(chan struct{}, capacity), running: map[int64]process{}}
	r.client = newClient(c.URL, r.current)
	return r
}

func (r *runner) current() identity {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

func (r *runner) become(id identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id = id
}

func (r *runner) records() records { return records(filepath.Join(r.config.Dir, "tasks")) }

func (r *runner) jobFolder(id int64) string {
	return filepath.Join(r.config.Dir, "jobs", fmt.Sprint(id))
}

// run takes and runs jobs until ctx ends. Jobs that run then are ended, and
// reported as failed. A forge that does not answer is asked again and again; one
// that refuses the registration token is an error, since another is needed.
func (r *runner) run(ctx context.Context) error {
	if err := os.MkdirAll(string(r.records()), 0o700); err != nil {
		return err
	}
	if err := adoptOrphans(); err != nil {
		return err
	}
	if err := r.loadIdentity(); err != nil {
		return err
	}
	if err := r.makeKnown(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	err := r.fetch(ctx)
	r.order("stop")
	r.jobs.Wait()
	return err
}

// makeKnown registers the runner, and reports the ends of tasks that an earlier
// one has not reported.
func (r *runner) makeKnown(ctx context.Context) error {
	err := retry(ctx, func() error {
		err := r.register(ctx)
		r.answer(err)
		return err
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	r.log.Info("the forge knows this runner", "forge", r.config.URL, "uuid", r.current().UUID)
	for _, id := range r.records().ids() {
		r.mu.Lock()
		_, ours := r.running[id]
		r.mu.Unlock()
		if !ours {
			r.closeInterrupted(ctx, id)
		}
	}
	return nil
}

// poke makes the runner ask for work, and for cancels, at once and a few times
// within the next seconds: a push is announced some time before the forge has
// made jobs of it. It never waits for an answer.
func (r *runner) poke() {
	select {
	case r.poked <- struct{}{}:
	default:
	}
	r.order("report")
}

// order gives an order to all jobs that run.
func (r *runner) order(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.running {
		_, _ = io.WriteString(p.orders, text+"\n")
	}
}

// fetch asks for work until ctx ends, or the forge refuses this runner.
func (r *runner) fetch(ctx context.Context) error {
	var version int64 // of the forge's tasks, when there was none for this runner
	pause := r.config.Poll
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
		// The end of ctx does not cut the request off: a task that the forge has
		// handed out would be lost.
		answer, err := r.client.FetchTask(context.WithoutCancel(ctx), connect.NewRequest(&runnerv1.FetchTaskRequest{TasksVersion: version}))
		r.answer(err)
		if err == nil && answer.Msg.GetTask() != nil {
			r.start(ctx, answer.Msg.GetTask())
			version = 0
			continue
		}
		<-r.slots
		version = 0
		if err == nil {
			version = answer.Msg.GetTasksVersion()
		} else if unregistered(err) && ctx.Err() == nil {
			if err := r.makeKnown(ctx); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			pause = min(2*pause, r.config.Poll)
		case <-r.poked:
			pause = min(pokedPause, r.config.Poll)
		}
	}
	return nil
}

// answer notes how the forge has answered; trouble is logged when it begins.
func (r *runner) answer(err error) {
	r.mu.Lock()
	before := r.trouble
	r.trouble = err
	if err == nil {
		r.contact = time.Now()
	}
	r.mu.Unlock()
	switch {
	case err != nil && before == nil:
		r.log.Warn("the forge does not answer as it should", "error", err)
	case err == nil && before != nil:
		r.log.Info("the forge answers again")
	}
}

// ready returns nil when the forge knows this runner and has answered lately.
func (r *runner) ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.trouble != nil:
		return r.trouble
	case r.contact.IsZero():
		return errors.New("the forge has not been asked yet")
	case time.Since(r.contact) > r.config.Poll+callLimit && len(r.running) < cap(r.slots):
		return fmt.Errorf("the forge has not answered for %s", time.Since(r.contact).Round(time.Second))
	}
	return nil
}

// start starts the process of a task; its slot is taken already.
func (r *runner) start(ctx context.Context, t *runnerv1.Task) {
	label := fmt.Sprintf("%s/%s/%s", text(t, "repository"), text(t, "workflow"), text(t, "job"))
	err := r.records().save(&runnerv1.UpdateTaskRequest{State: &runnerv1.TaskState{Id: t.Id, StartedAt: timestamppb.Now()}})
	if err != nil {
		r.log.Warn("a task's record cannot be written", "task", t.Id, "error", err)
	}
	cmd, orders, first, err := r.command(t)
	if err == nil {
		// At once: the end of another job must not take this process for an orphan,
		// and no order may come before the assignment.
		r.mu.Lock()
		if err = startJob(cmd, r.config); err == nil {
			r.running[t.Id] = process{t.Id, label, time.Now(), cmd.Process.Pid, orders}
			_, _ = orders.Write(first) // a process that is gone is seen below
		}
		r.mu.Unlock()
	}
	r.log.Info("a job begins", "job", label, "task", t.Id)
	r.jobs.Go(func() {
		began := time.Now()
		if err == nil {
			err = cmd.Wait()
		}
		r.mu.Lock()
		delete(r.running, t.Id)
		r.mu.Unlock()
		r.log.Info("a job has ended", "job", label, "task", t.Id, "took", time.Since(began).Round(time.Millisecond), "error", err)
		if err := endProcesses(r.jobFolder(t.Id), r.isJob); err != nil {
			r.log.Warn("processes of a job are left", "job", label, "error", err)
		}
		<-r.slots
		if err == nil {
			if err := r.forget(t.Id); err != nil {
				r.log.Warn("files of a job are left", "job", label, "error", err)
			}
		} else if ctx.Err() == nil {
			r.closeInterrupted(ctx, t.Id)
		}
	})
}

// isJob reports whether a child of this process runs a job. It waits while one
// is being started.
func (r *runner) isJob(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.running {
		if p.pid == pid {
			return true
		}
	}
	return false
}

// assignment is what the process of a job gets first, on one line. After it
// come orders: "report" and "stop". The end of its input means that the runner
// is gone.
type assignment struct {
	Config   config          `json:"config"`
	Identity identity        `json:"identity"`
	Task     json.RawMessage `json:"task"`
}

// command is the process that runs a task.
func (r *runner) command(t *runnerv1.Task) (cmd *exec.Cmd, orders io.WriteCloser, first []byte, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, err
	}
	a := assignment{Config: r.config, Identity: r.current()}
	a.Config.RegistrationToken, a.Config.Secret = "", "" // which no job needs
	if err := removeAll(r.jobFolder(t.Id)); err != nil {
		return nil, nil, nil, err
	}
	if a.Task, err = protojson.Marshal(t); err != nil {
		return nil, nil, nil, err
	}
	if first, err = json.Marshal(a); err != nil {
		return nil, nil, nil, err
	}
	cmd = exec.Command(self, "job")
	cmd.Env = r.jobEnvironment(r.jobFolder(t.Id), t)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	// A session of its own: what ends the runner must not end the job's process,
	// which has to end the job then.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	orders, err = cmd.StdinPipe()
	return cmd, orders, append(first, '\n'), err
}

// passedOn are the variables of the runner that a job gets, too: where
// certificates are, and how users here write things.
var passedOn = []string{"TZ", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// jobEnvironment is what every step finds, unless its workflow says otherwise.
func (r *runner) jobEnvironment(dir string, t *runnerv1.Task) []string {
	var env []string
	for _, set := range []map[string]string{r.config.Env, r.config.SecretEnv} {
		for name, v := range set {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range passedOn {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, // the last one counts
		"PATH="+filepath.Join(dir, "bin")+string(filepath.ListSeparator)+r.config.passable(os.Getenv("PATH")),
		"HOME="+filepath.Join(dir, "home"), "TMPDIR="+filepath.Join(dir, "tmp"), "TERM=dumb",
		// the machine's settings of git would make jobs differ from place to place
		"GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1",
		"GITEA_ACTIONS=true", "GITHUB_TRIGGERING_ACTOR="+text(t, "triggering_actor"),
		"RUNNER_NAME="+runnerName, "RUNNER_ENVIRONMENT=self-hosted",
	)
}

// text is a text of a task's github context.
func text(t *runnerv1.Task, name string) string {
	return t.GetContext().GetFields()[name].GetStringValue()
}

// removeAll removes a folder, also below folders that a step has made
// read-only.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	root, err := os.OpenRoot(dir) // no link must lead out of it
	if err != nil {
		return err
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
