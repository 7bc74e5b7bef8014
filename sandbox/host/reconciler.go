package host

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kalypso-dev/kalypso/internal/atomicfile"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/ansible"
)

const (
	// runLimit is how long the playbooks of one assignment may take.
	runLimit = 10 * time.Minute
	// fetchLimit is how long fetching a branch may take.
	fetchLimit = time.Minute
	// hostWait is how long a host may take to come back that is just starting anew.
	hostWait = 30 * time.Second

	// work is the reconciler's folder on the host.
	work = "/var/lib/kalypso"
	// applied is the reference that keeps the commit which an assignment was applied of,
	// so that what has left git can still be removed by its own playbooks.
	applied = "refs/kalypso/"
)

const stopped = "the host does not run"

// Follows is a folder of a branch that a host follows.
type Follows struct{ Name, URL, Branch, Path string }

// Reconciler makes a host follow git, with Ansible on the host: `ansible-pull` of the
// playbooks in each assignment's folder, at the commit that was fetched. It is woken by
// [Reconciler.Notify] and else looks again after an interval, first with --check: what that
// finds, somebody has changed on the host, and it is put back.
//
// An assignment whose playbooks fail keeps no other from being applied. One that has left
// git is removed by the playbooks that it had last, run in the reverse order with the
// variable kalypso_state as "absent".
type Reconciler struct {
	Host    Host
	Follows []Follows
	// Interval is between two looks.
	Interval time.Duration
	// Credentials are those for the forge, whose URL is Forge.
	Credentials func() (user, token string, err error)
	Forge       string
	Log         *slog.Logger

	wake chan struct{}

	mu     sync.Mutex
	report ansible.Report
	// unreachable is why nothing is known of the host now, "" for one that answers.
	unreachable string
	due         map[string]bool // subscriptions that a push was to
}

// NewReconciler makes r ready to be used, with what it knew before.
func NewReconciler(r *Reconciler) *Reconciler {
	r.wake, r.due = make(chan struct{}, 1), map[string]bool{}
	r.unreachable = stopped
	var known ansible.Report
	if b, err := os.ReadFile(r.file()); err == nil {
		_ = json.Unmarshal(b, &known) // a damaged one is made anew by the first look
	}
	r.report = ansible.Report{Host: r.Host.Name, LastSeen: known.LastSeen}
	for _, f := range r.Follows {
		s := &ansible.Subscription{Name: f.Name}
		if i := slices.IndexFunc(known.Subscriptions, func(k *ansible.Subscription) bool { return k.Name == f.Name }); i >= 0 {
			s = known.Subscriptions[i]
		}
		s.Repo, s.Branch, s.Path, s.Interval = f.URL, f.Branch, strings.Trim(f.Path, "/"), r.Interval
		r.report.Subscriptions = append(r.report.Subscriptions, s)
	}
	return r
}

// file is where the report is kept while the host does not run.
func (r *Reconciler) file() string { return r.Host.file("report.json") }

// Unit is the reconciler as a part of the sandbox. It is ready when it has looked at all that
// the host follows.
func (r *Reconciler) Unit(needs ...string) supervisor.Unit {
	name := "ansible-" + r.Host.Name
	return supervisor.Unit{
		Name: name, Title: "Ansible of host " + r.Host.Name, Needs: needs, Deadline: runLimit, Log: r.Host.Log(name),
		Component: &supervisor.Background{Run: r.run},
	}
}

// Report is what is known of the host now.
func (r *Reconciler) Report() ansible.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, _ := json.Marshal(r.report) // of plain values
	var all ansible.Report
	_ = json.Unmarshal(b, &all)
	all.Unreachable = r.unreachable
	return all
}

// Notify has the reconciler look now, if the host follows the branch of the repository
// OWNER/NAME, or what it has applied has brought does.
func (r *Reconciler) Notify(repository, branch string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.report.Subscriptions {
		is := func(url, of string) bool {
			return of == branch && fleet.SameRepository(url, strings.TrimSuffix(r.Forge, "/")+"/"+repository)
		}
		if is(s.Repo, s.Branch) || slices.ContainsFunc(s.Assignments, func(a *ansible.Assignment) bool {
			return a.Checkout != nil && is(a.Checkout.Repo, a.Checkout.Branch)
		}) {
			r.due[s.Name] = true
		}
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *Reconciler) run(ctx context.Context, say func(string), ready func()) error {
	say("waiting for the host")
	if err := r.Host.Wait(ctx, hostWait); err != nil {
		return err
	}
	err := r.onHost(func(own *os.Root) error {
		if err := own.MkdirAll("callback", 0o755); err != nil {
			return err
		}
		return own.WriteFile(path.Join("callback", ansible.CallbackFile), ansible.Callback, 0o644)
	})
	if err != nil {
		return err
	}
	r.change(func() { r.unreachable = "" })
	defer r.change(func() { r.unreachable = stopped })
	say("applying what is in git")
	timer := time.NewTimer(0)
	defer timer.Stop()
	for first := true; ; first = false {
		var asked map[string]bool
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.wake:
			r.change(func() { asked, r.due = r.due, map[string]bool{} })
			if len(asked) == 0 {
				continue
			}
		case <-timer.C:
		}
		for _, s := range r.report.Subscriptions { // the list itself stays
			if asked == nil || asked[s.Name] {
				r.look(ctx, s, asked != nil || first)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if first {
			ready()
		}
		if asked == nil {
			timer.Reset(r.Interval)
		}
	}
}

// change does something to the report, and keeps it.
func (r *Reconciler) change(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
	b, err := json.MarshalIndent(r.report, "", "  ")
	if err == nil {
		err = atomicfile.Write(r.file(), b, 0o600)
	}
	if err != nil {
		r.Log.Warn("what is known of a host is not kept", "host", r.Host.Name, "reason", err)
	}
}

// look brings the host to the head of what a subscription follows. Without apply what is
// applied already is checked first, to know what was changed on the host.
func (r *Reconciler) look(ctx context.Context, s *ansible.Subscription, apply bool) {
	commit, folders, err := r.fetch(ctx, s)
	if ctx.Err() != nil {
		return
	}
	now := time.Now()
	if err != nil {
		_, lost := r.Host.Output(ctx, nil, "true")
		r.change(func() {
			if lost != nil {
				r.unreachable = "the host does not answer: " + lost.Error()
				return
			}
			if s.Problem != err.Error() {
				s.At = now
			}
			s.Problem, r.report.LastSeen, r.unreachable = err.Error(), now, ""
		})
		return
	}
	r.change(func() {
		r.unreachable = ""
		if s.Problem != "" || s.Commit != commit {
			s.At = now
		}
		s.Problem, s.Commit, r.report.LastSeen = "", commit, now
		for _, name := range folders {
			s.Assignment(name).Leaving = false
		}
		for _, a := range s.Assignments {
			a.Leaving = !slices.Contains(folders, a.Name)
		}
	})
	for _, a := range slices.Clone(s.Assignments) {
		switch {
		case a.Leaving:
			r.remove(ctx, s, a)
		case apply || a.Applied != commit || a.Problem != "":
			r.apply(ctx, s, a, nil)
		default:
			r.check(ctx, s, a)
		}
		if ctx.Err() != nil {
			return
		}
	}
	r.change(func() { s.Settle(time.Now()) })
}

func (r *Reconciler) mirror(s *ansible.Subscription) string { return path.Join(work, s.Name, "mirror") }

// fetch brings the branch to the host, and returns its head and the folders with playbooks.
func (r *Reconciler) fetch(ctx context.Context, s *ansible.Subscription) (commit string, folders []string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchLimit, fmt.Errorf("%s is not fetched within %s", s.Repo, fetchLimit))
	defer cancel()
	env, err := r.environment()
	if err != nil {
		return "", nil, err
	}
	const script = `set -e
[ -d "$1" ] || git init --quiet --bare "$1"
git -C "$1" fetch --quiet --no-tags "$2" "+refs/heads/$3:refs/heads/followed"
git -C "$1" rev-parse refs/heads/followed
git -C "$1" ls-tree -r -z --name-only refs/heads/followed`
	out, err := r.Host.Output(ctx, env, "sh", "-c", script, "sh", r.mirror(s), s.Repo, s.Branch)
	if err != nil {
		return "", nil, fmt.Errorf("branch %s of %s: %w", s.Branch, s.Repo, err)
	}
	head, files, _ := strings.Cut(string(out), "\n")
	for file := range strings.SplitSeq(files, "\x00") {
		folder, name := path.Split(file)
		parent, assignment := path.Split(strings.TrimSuffix(folder, "/"))
		if strings.TrimSuffix(parent, "/") == s.Path && slices.Contains(ansible.Playbooks, name) && !slices.Contains(folders, assignment) {
			folders = append(folders, assignment)
		}
	}
	return head, folders, nil
}

// environment is that of git and Ansible on the host.
func (r *Reconciler) environment() ([]string, error) {
	user, token, err := r.Credentials()
	if err != nil {
		return nil, err
	}
	// in a file, since every user of the machine can read a command's arguments
	basic := base64.StdEncoding.EncodeToString([]byte(user + ":" + token))
	config := fmt.Sprintf("[http %q]\n\textraHeader = \"Authorization: Basic %s\"\n", strings.TrimSuffix(r.Forge, "/")+"/", basic)
	if err := r.onHost(func(own *os.Root) error { return own.WriteFile("gitconfig", []byte(config), 0o600) }); err != nil {
		return nil, err
	}
	return []string{
		"GIT_CONFIG_GLOBAL=" + path.Join(work, "gitconfig"), "GIT_TERMINAL_PROMPT=0",
		"ANSIBLE_NOCOLOR=1", "ANSIBLE_DEPRECATION_WARNINGS=0", "ANSIBLE_LOCALHOST_WARNING=0", "ANSIBLE_INVENTORY_UNPARSED_WARNING=0",
		"ANSIBLE_CALLBACK_PLUGINS=" + path.Join(work, "callback"), "ANSIBLE_HOME=" + path.Join(work, "ansible"),
	}, nil
}

// apply runs the playbooks of an assignment at the commit that was fetched. edited is what a
// check has found before.
func (r *Reconciler) apply(ctx context.Context, s *ansible.Subscription, a *ansible.Assignment, edited *ansible.Run) {
	run, problem := r.pull(ctx, s, a.Name, s.Commit, "present", false)
	if ctx.Err() != nil {
		return
	}
	if problem == "" && len(run.Failed) == 0 {
		if _, err := r.Host.Output(ctx, nil, "git", "-C", r.mirror(s), "update-ref", applied+a.Name, s.Commit); err != nil {
			problem = err.Error()
		}
	}
	r.change(func() {
		now := time.Now()
		before := a.Applied
		a.Ran(run, problem, s.Commit, now)
		if edited != nil && a.Problem == "" {
			a.Drifted(*edited, now)
		} else if before != a.Applied {
			a.Drifted(ansible.Run{}, now)
		}
		r.report.LastSeen = now
	})
	r.Log.Info("playbooks applied", "host", r.Host.Name, "assignment", a.Name, "commit", s.Commit, "ok", run.OK, "changed", len(run.Changed), "problem", a.Problem)
}

// check finds what was changed on the host since, and puts it back.
func (r *Reconciler) check(ctx context.Context, s *ansible.Subscription, a *ansible.Assignment) {
	found, problem := r.pull(ctx, s, a.Name, s.Commit, "present", true)
	if ctx.Err() != nil {
		return
	}
	// what cannot be checked, since a part of it is gone say, has to be applied
	if problem != "" || len(found.Changed)+len(found.Failed) > 0 {
		found.Changed = append(found.Changed, found.Failed...)
		r.apply(ctx, s, a, &found)
		return
	}
	r.change(func() {
		// it stays visible until the look after the next
		if now := time.Now(); now.Sub(a.EditedAt) > r.Interval {
			a.Drifted(ansible.Run{}, now)
		}
		r.report.LastSeen = time.Now()
	})
}

// remove runs the playbooks that an assignment had last, for it to go.
func (r *Reconciler) remove(ctx context.Context, s *ansible.Subscription, a *ansible.Assignment) {
	run, problem := ansible.Run{}, ""
	if a.Applied != "" {
		run, problem = r.pull(ctx, s, a.Name, a.Applied, "absent", false)
	}
	if ctx.Err() != nil {
		return
	}
	if problem == "" && len(run.Failed) == 0 {
		if _, err := r.Host.Output(ctx, nil, "git", "-C", r.mirror(s), "update-ref", "-d", applied+a.Name); err != nil {
			problem = err.Error()
		}
	}
	r.change(func() {
		was := *a
		a.Ran(run, problem, s.Commit, time.Now())
		a.Applied, a.Checkout = was.Applied, was.Checkout
		if a.Problem == "" {
			s.Assignments = slices.DeleteFunc(s.Assignments, func(o *ansible.Assignment) bool { return o == a })
		}
	})
	r.Log.Info("playbooks removed what they had brought", "host", r.Host.Name, "assignment", a.Name, "changed", len(run.Changed), "problem", a.Problem)
}

// pull runs the playbooks of an assignment at a commit. The problem is why they could not
// run to their end; what their tasks say is in the run.
func (r *Reconciler) pull(ctx context.Context, s *ansible.Subscription, name, commit, state string, check bool) (run ansible.Run, problem string) {
	ctx, cancel := context.WithTimeoutCause(ctx, runLimit, fmt.Errorf("the playbooks have not come to their end within %s", runLimit))
	defer cancel()
	env, err := r.environment()
	if err != nil {
		return run, err.Error()
	}
	checkout, lines := path.Join(work, s.Name, "checkout"), path.Join(s.Name, "run.jsonl")
	if err := r.onHost(func(own *os.Root) error { return own.Remove(lines) }); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return run, err.Error()
	}
	out, err := r.Host.Output(ctx, nil, "git", "-C", r.mirror(s), "ls-tree", "--name-only", commit, "--", path.Join(s.Path, name)+"/")
	if err != nil {
		return run, err.Error()
	}
	var playbooks []string
	for _, p := range ansible.Playbooks {
		if file := path.Join(s.Path, name, p); slices.Contains(strings.Split(string(out), "\n"), file) {
			playbooks = append(playbooks, file)
		}
	}
	if state == "absent" {
		slices.Reverse(playbooks)
	}
	argv := []string{
		"ansible-pull", "--url", r.mirror(s), "--checkout", commit, "--directory", checkout, "--full", "--clean",
		"--inventory", "localhost,", "--connection", "local",
		"--extra-vars", ansible.StateVariable + "=" + state,
	}
	if check {
		argv = append(argv, "--check")
	}
	env = append(env, ansible.ReportVariable+"="+path.Join(work, lines), "ANSIBLE_ROLES_PATH="+path.Join(checkout, "roles"))
	cmd := r.Host.Command(ctx, env, append(argv, playbooks...)...)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err = supervisor.RunCommand(cmd)
	if !check || err != nil {
		r.keepLog(printed.Bytes())
	}
	if ctx.Err() != nil {
		return run, context.Cause(ctx).Error()
	}
	var readErr error
	openErr := r.onHost(func(own *os.Root) error {
		// without waiting for a writer, should it be a pipe
		f, err := own.OpenFile(lines, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		run, readErr = ansible.ReadRun(io.LimitReader(f, maxReport), checkout)
		return nil
	})
	switch {
	case openErr != nil: // not even begun
		return run, cannotRun(printed.String(), checkout, err)
	case errors.Is(readErr, ansible.ErrCutOff) && len(run.Failed) == 0:
		return run, cannotRun(printed.String(), checkout, err)
	case readErr != nil && !errors.Is(readErr, ansible.ErrCutOff):
		return run, readErr.Error()
	case err != nil && len(run.Failed) == 0:
		return run, cannotRun(printed.String(), checkout, err)
	}
	return run, ""
}

// maxReport is more than the tasks of an assignment report.
const maxReport = 16 << 20

// onHost does something in the reconciler's folder on the host. The host can put links there,
// which do not lead out of the folder.
func (r *Reconciler) onHost(do func(own *os.Root) error) error {
	own, err := os.OpenRoot(r.Host.file("var"))
	if err != nil {
		return err
	}
	defer own.Close()
	folder, err := own.OpenRoot(strings.TrimPrefix(work, "/var/"))
	if err != nil {
		return err
	}
	defer folder.Close()
	return do(folder)
}

// cannotRun is why playbooks could not be run.
func cannotRun(printed, checkout string, err error) string {
	if why := ansible.Explain(printed, checkout); why != "" {
		return why
	}
	if err != nil {
		return "ansible-pull: " + err.Error()
	}
	return "ansible-pull has run no playbook"
}

// keepLog appends what a run has printed.
func (r *Reconciler) keepLog(printed []byte) {
	f, err := os.OpenFile(r.Host.Log("ansible-"+r.Host.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		r.Log.Warn("what Ansible has printed is not kept", "host", r.Host.Name, "reason", err)
		return
	}
	defer f.Close()
	_, _ = f.Write(printed)
}
